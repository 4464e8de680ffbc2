# What ./dev needs from Debian and PyPI. Sourced.

PYTHON=.venv/bin/python
JOBS=${HEADRACE_JOBS:-$(nproc)}

# The Debian packages (bookworm) of each part; nothing else is installed on the system.
debian_packages() {
  case $1 in
    build)
      echo ca-certificates cmake ninja-build g++ pkg-config ccache binutils
      echo libzmq3-dev cppzmq-dev libflatbuffers-dev flatbuffers-compiler
      echo libjpeg62-turbo-dev libpng-dev libdeflate-dev zlib1g-dev libtbb-dev libxxhash-dev libsodium-dev libseccomp-dev libsqlite3-dev
      echo libcurl4-openssl-dev libmicrohttpd-dev
      echo libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev
      echo libgtest-dev libgmock-dev libopencv-core-dev libopencv-imgproc-dev
      echo python3 python3-dev python3-venv patchelf
      ;;
    # prometheus has promtool. Slurm's daemons run in tests alone (tests/support/servers/slurm.py). openssl
    # also makes the certificate of the double of Kubernetes, for a C++ test too.
    test)
      echo iproute2 nginx openssl prometheus zsh fish curl
      echo munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins
      echo mmdebstrap bubblewrap podman runc openssh-server openssh-client
      ;;
    # Stores that speak S3, and a clock that is wrong (tests/support/servers).
    servers)
      echo radosgw ceph-mon ceph-osd ceph-common faketime
      echo swift-proxy swift-object swift-container swift-account
      ;;
    # Headless, for the page (tests/web): large, so of the full extent alone.
    browser) echo chromium ;;
    bench) echo libbenchmark-dev libopencv-imgcodecs-dev ;;
    format) echo clang-format ;;
    docs) echo doxygen ;;
    lint) echo clang-tidy-16 ;; # clang 14 stumbles over the ranges of libstdc++ 12
    sanitize | fuzz) echo clang-16 libclang-rt-16-dev ;;
  esac
}

apt_update_once() {
  [ -n "${APT_UPDATED:-}" ] && return
  run_logged apt-update apt-get update -q
  APT_UPDATED=1
}

# need_debian GROUP...: installs the packages of these groups that are missing.
need_debian() {
  local group missing=() package
  for group in "$@"; do
    for package in $(debian_packages "$group"); do
      dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
    done
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "      installing Debian packages: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    die "not root. Please run: sudo apt-get install --no-install-recommends ${missing[*]}"
  fi
  apt_update_once
  # RUNLEVEL: servers that tests start are no services of this host.
  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 run_logged apt-install \
    apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# python_packages NAME: one package list of pyproject.toml: an extra, "build" or "dependencies".
python_packages() {
  /usr/bin/python3 - "$1" <<'PY'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    pyproject = tomllib.load(file)
name = sys.argv[1]
lists = pyproject["project"]["optional-dependencies"] | {
    "build": pyproject["build-system"]["requires"],
    "dependencies": pyproject["project"]["dependencies"],
}
print("\n".join(lists[name]))
PY
}

pip_install() { "$PYTHON" -m pip install --disable-pip-version-check --progress-bar off "$@"; }

# A project-local Python with what pyproject.toml names; quick when the lists have not changed.
need_python() {
  local digest torch torchvision rest name
  mapfile -t torch < <(python_packages torch)
  mapfile -t torchvision < <(python_packages torchvision)
  mapfile -t rest < <(for name in build dependencies demo test lint; do python_packages $name; done)
  digest=$(echo "${torch[*]} ${torchvision[*]} ${rest[*]}" | sha256sum)
  stamped .venv/headrace-packages "$digest" && return
  [ -x "$PYTHON" ] || run_logged venv /usr/bin/python3 -m venv .venv
  echo "      fetching Python packages from PyPI (torch is the large one)"
  run_logged pip pip_install "${torch[@]}" "${rest[@]}"
  run_logged pip-torchvision pip_install --no-deps "${torchvision[@]}"
  if ! "$PYTHON" -c 'import torchvision.io' 2>/dev/null; then
    run_logged torchvision-cpu deploy/dev/torchvision_cpu.sh .venv
    "$PYTHON" -c 'import torchvision.io' || die "torchvision does not import; see the error above"
  fi
  stamp .venv/headrace-packages "$digest"
}

# An older Pillow beside the one in .venv, for the tests that compare both (HEADRACE_TEST_PILLOW_OLD).
need_old_pillow() {
  local old
  old=$(python_packages test-pillow-old)
  stamped build/pillow-old/headrace-packages "$old" && return
  rm -rf build/pillow-old
  run_logged pip-pillow-old pip_install --target build/pillow-old "$old"
  stamp build/pillow-old/headrace-packages "$old"
}

# An environment of Ray's own, for the tests that start a cluster (HEADRACE_TEST_RAY).
need_ray() {
  local ray
  ray=$(python_packages test-ray)
  stamped build/ray/headrace-packages "$ray" && return
  rm -rf build/ray
  run_logged venv-ray /usr/bin/python3 -m venv build/ray
  run_logged pip-ray build/ray/bin/python -m pip install --disable-pip-version-check --progress-bar off "$ray"
  stamp build/ray/headrace-packages "$ray"
}

# What the programs of tests/frameworks and tests/programs use, and library_functions.py, beside what is in .venv.
need_frameworks() {
  local digest list
  mapfile -t list < <(python_packages test-frameworks)
  digest=$(echo "${list[*]}" | sha256sum)
  stamped .venv/headrace-frameworks "$digest" && return
  run_logged pip-frameworks pip_install "${list[@]}"
  stamp .venv/headrace-frameworks "$digest"
}

cmd_clean() {
  case ${1:-} in
    "") rm -rf build && echo "removed build/" ;;
    --all) rm -rf build .venv && echo "removed build/ and .venv/" ;;
    *) die "clean knows only --all" ;;
  esac
}
