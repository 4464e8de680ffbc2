#!/usr/bin/env bash
# Makes the PyPI build of torchvision importable next to a CPU build of torch, in one virtual
# environment. Usage: deploy/dev/torchvision_cpu.sh VENV
#
# PyPI's torchvision is linked against CUDA. Beside a CUDA torch that is right and this script is
# not needed (./dev calls it only when `import torchvision` fails). Beside a CPU torch, its
# extensions miss three libraries, so their CPU operators do not load either. This puts what is
# missing next to them: libcudart from torchvision's own wheel, and two small libraries whose
# CUDA functions abort when called; a CPU torch never calls them. No torchvision code is changed,
# and its Python stays as installed.
set -euo pipefail

venv=${1:?usage: torchvision_cpu.sh VENV}
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
tv=$site/torchvision
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Undefined symbols of the extensions that live in torch's CUDA libraries. The allocator is data.
nm -D --undefined-only "$tv/_C.so" "$tv/image.so" | awk '{print $2}' | sed 's/@.*//' |
  grep -E '^_ZN?K?(3c10|2at)4cuda' | sort -u >"$work/symbols"
{
  echo '#include <stdlib.h>'
  n=0
  while read -r symbol; do
    n=$((n + 1))
    case $symbol in
      *CachingAllocator9allocatorE) echo "void* d$n[64] __asm__(\"$symbol\"); void* d$n[64] = {0};" ;;
      *) echo "void f$n(void) __asm__(\"$symbol\"); void f$n(void) { abort(); }" ;;
    esac
  done <"$work/symbols"
} >"$work/stubs.c"
echo 'typedef int headrace_empty;' >"$work/empty.c"
cc -shared -fPIC -Wl,-soname,libc10_cuda.so -o "$tv/libc10_cuda.so" "$work/stubs.c"
cc -shared -fPIC -Wl,-soname,libtorch_cuda.so -o "$tv/libtorch_cuda.so" "$work/empty.c"

cudart=$(find "$site/torchvision.libs" -name 'libcudart*.so*' | head -n 1)
soname=$(readelf -d "$tv/_C.so" | sed -n 's/.*NEEDED.*\[\(libcudart[^]]*\)\].*/\1/p')
[ -n "$soname" ] && [ -n "$cudart" ] && ln -sf "../torchvision.libs/$(basename "$cudart")" "$tv/$soname"
# The wheel's _C.so looks for its neighbours in a folder of the machine that built it.
patchelf --set-rpath '$ORIGIN' --output "$tv/_C.so.new" "$tv/_C.so"
mv "$tv/_C.so.new" "$tv/_C.so"
