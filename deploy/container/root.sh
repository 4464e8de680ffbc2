#!/bin/bash
# Makes the context of the worker pool's image, with mmdebstrap and no container engine:
#   deploy/container/root.sh [--python REQUIREMENT...] WHEEL FOLDER
#   podman build -t headrace FOLDER
# WHEEL is a portable one (deploy/wheels/build.py). With --python the image has Python and the requirements
# (torch, say), for pipelines that run as Python stages. FOLDER gets root.tar and a Containerfile.
# HEADRACE_IMAGE_SUITE: the Debian release (bookworm). The mirror is the one that apt uses here.
set -euo pipefail

usage() { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }

requirements=()
with_python=
if [ "${1:-}" = --python ]; then
  with_python=yes
  shift
  while [ $# -gt 2 ]; do
    requirements+=("$1")
    shift
  done
fi
[ $# -eq 2 ] && [ -f "$1" ] || usage
wheel=$(realpath "$1")
into=$2
here=$(dirname "$(realpath "$0")")
suite=${HEADRACE_IMAGE_SUITE:-bookworm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$into"

# What the hook below puts into the root, which is its first argument. Modes come from the wheel.
cat > "$work/install.py" <<'PY'
import sys
import zipfile
from pathlib import Path

wheel, root, folder, only = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
target = root / folder
with zipfile.ZipFile(wheel) as archive:
    for member in archive.infolist():
        first = member.filename.split("/")
        if only and not member.filename.startswith(tuple(only)) and not first[0].endswith(".dist-info"):
            continue
        path = Path(archive.extract(member, target))
        path.chmod(0o755 if member.external_attr >> 16 & 0o111 else 0o644)
program = Path("/", folder, "headrace", "bin", "headrace")
(root / "usr/local/bin/headrace").symlink_to(program)
PY

# What no worker runs, of the packages that are often there: headers and archives (there is no compiler),
# tests and their programs, stubs for editors, and symbols for debuggers.
cat > "$work/slim" <<'SLIM'
set -eu
cd "$1"
rm -rf torch/include torch/share torch/test
[ ! -d torch/bin ] || find torch/bin -mindepth 1 ! -name torch_shm_manager -delete
for package in torch numpy sympy networkx mpmath; do
  [ -d $package ] || continue
  find $package \( -name '*.a' -o -name '*.pyi' -o -name '*.h' \) -delete
  find $package -type d -name tests -prune -exec rm -rf {} +
done
# Only torch's: other wheels' libraries were changed by patchelf, which strip may break.
[ ! -d torch/lib ] || find torch/lib -name '*.so' -exec strip --strip-unneeded {} +
SLIM

packages=libstdc++6,libgcc-s1,ca-certificates
folder=opt/headrace
parts=(headrace/bin/ headrace/lib/ headrace.libs/)
if [ "$with_python" ]; then
  packages+=,python3
  parts=()
fi
cat > "$work/hook" <<HOOK
set -eu
root=\$1
folder=$folder
if [ "$with_python" ]; then
  version=\$(cd "\$root/usr/lib" && echo python3.[0-9]*)
  folder=usr/local/lib/\$version/dist-packages
  platforms="--platform any --platform manylinux2014_x86_64 --platform linux_x86_64"
  for minor in \$(seq 17 36); do platforms="\$platforms --platform manylinux_2_\${minor}_x86_64"; done
  ${PYTHON:-python3} -m pip install -q --no-compile --only-binary=:all: --target "\$root/\$folder" \
    --python-version "\${version#python}" \$platforms cloudpickle numpy ${requirements[*]@Q}
  bash "$work/slim" "\$root/\$folder"
fi
python3 "$work/install.py" "$wheel" "\$root" "\$folder" ${parts[*]@Q}
install -m 755 "$here/healthy" "\$root/usr/local/bin/headrace-healthy"
echo 'headrace:x:1000:1000::/tmp:/usr/sbin/nologin' >> "\$root/etc/passwd"
echo 'headrace:x:1000:' >> "\$root/etc/group"
chmod -R a+rX "\$root/\$folder"
HOOK

# The sources of apt here, for the wanted release: security updates come from there, too.
# shellcheck disable=SC2016
sources=$(apt-get indextargets --format 'deb $(SITE) $(CODENAME) $(COMPONENT)' 'Identifier: Packages' 'Origin: Debian' |
  sed "s/ $(. /etc/os-release && echo "$VERSION_CODENAME")/ $suite/")
[ -n "$sources" ] || { echo "apt knows no source of Debian's: sudo apt-get update" >&2; exit 1; }
mmdebstrap --quiet --mode="${HEADRACE_IMAGE_MODE:-auto}" --variant=essential --include="$packages" \
  --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --customize-hook="bash '$work/hook' \"\$1\"" \
  "$suite" "$into/root.tar" - <<< "$sources"
cp "$here/Containerfile" "$into/"
