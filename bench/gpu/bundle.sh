#!/usr/bin/env bash
# Packs Headrace for a GPU host that has another Python and not Debian's libraries, for the benchmarks.
#
#   bench/gpu/bundle.sh INCLUDE TAG OUT.tgz     INCLUDE: headers of that Python; TAG: 312 for 3.12
#
# Needs build/release with the Python package (`./dev build`) and patchelf. On the host:
#
#   tar -C /tmp -xzf OUT.tgz
#   export PATH=/tmp/headrace/bin:$PATH PYTHONPATH=/tmp/headrace/lib/pythonX.Y/site-packages
set -euo pipefail
cd "$(dirname "$0")/../.."
include=$1 tag=$2 out=$3
build=build/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The release tree's own commands for the two modules, with other headers and other names.
own_include=$(ninja -C $build -t commands headrace_python | grep -o '/[^ ]*/include/python3[^ ]*' | head -n 1)
own_tag=$(ninja -C $build -t commands headrace_python | grep -o 'cpython-3[0-9]*' | head -n 1)
(
  cd $build
  ninja -t commands headrace_python headrace_images |
    grep -E '(headrace_python|headrace_images|nanobind-static)\.dir|libnanobind-static\.a' |
    grep -E '^(/[^ ]*ccache|/[^ ]*g\+\+|/[^ ]*clang\+\+|: &&)' |
    sed -e "s#$own_include#$include#g; s#\(headrace_python\|headrace_images\)\.dir#\1$tag.dir#g" \
      -e "s#nanobind-static#nanobind-static$tag#g; s#$own_tag#cpython-$tag#g" >"$work/commands"
  grep -o ' -o [^ ]*' "$work/commands" | awk '{print $2}' | xargs -n 1 dirname | sort -u | xargs mkdir -p
  grep -v '^: &&' "$work/commands" | tr '\n' '\0' | xargs -0 -P "$(nproc)" -n 1 bash -c
  grep '^: &&' "$work/commands" | while read -r command; do bash -c "$command"; done
)

site=$work/headrace/lib/python3.${tag#3}/site-packages
mkdir -p "$work/headrace/bin" "$site"
cp .venv/bin/headrace "$work/headrace/bin/"
cp -r trainer_client/python/headrace "$site/"
cp -r dataworker/stage/python/headrace/stage "$site/headrace/"
cp $build/trainer_client/python/bindings/_client.cpython-"$tag"-*.so $build/dataworker/stage/images/_images.cpython-"$tag"-*.so "$site/headrace/"
find "$site" -name __pycache__ -prune -exec rm -rf {} +
# What is linked, less what every host has in a version at least as new.
ldd "$work/headrace/bin/headrace" "$site"/headrace/*.so | awk '/=> \//{print $3}' | sort -u |
  grep -vE '/lib(c|m|stdc\+\+|gcc_s|pthread|resolv|dl|rt)\.so' | xargs -I{} cp -L {} "$work/headrace/lib/"
# RPATH and not RUNPATH: the libraries find each other through it, too.
patchelf --force-rpath --set-rpath '$ORIGIN/../lib' "$work/headrace/bin/headrace"
for module in "$site"/headrace/*.so; do patchelf --force-rpath --set-rpath '$ORIGIN/../../..' "$module"; done
tar -C "$work" -czf "$out" headrace
ls -l "$out"
