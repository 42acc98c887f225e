#!/usr/bin/env bash
# Makes src/memory/cuda/kernels.ptx.inc of kernels.cu, for which it needs CUDA's compiler. See --help.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat << 'EOF'
usage: scripts/kernels.sh [--check]

Compiles the library's kernels to PTX, which the library holds as text, so that building it needs no toolkit. What the compiler says of itself
is left out, and its hints to newer assemblers, and the PTX is marked as good for compute capability 7.0 and drivers from CUDA 10.1 on. That it
uses nothing newer is what the assembler says: text that it refuses is neither written nor passes --check.

  ATOLL_PTXAS in the environment: an assembler of CUDA 12 (PyPI: nvidia-cuda-nvcc-cu12), which knows compute capability 7.0 still, is asked, too.

  --check   writes nothing; fails if the file is not what would be written. Compilers of other versions write other text: with one that is
            not that of the file's first line, status 77
EOF
}

check=no
case ${1:-} in
  --help | -h) usage && exit ;;
  --check) check=yes ;;
  '') ;;
  *) usage >&2 && exit 2 ;;
esac
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "kernels.sh: no nvcc, of CUDA's toolkit, in PATH or /usr/local/cuda/bin" >&2 && exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
version=$("$nvcc" --version | sed -n 's/.*release [^,]*, V//p')
file=src/memory/cuda/kernels.ptx.inc
if [ $check = yes ] && ! head -1 $file | grep -qF "nvcc $version,"; then
  echo "kernels.sh: $file is of another nvcc than $version: $(head -1 $file)" >&2
  exit 77
fi
"$nvcc" -O3 -std=c++20 -Isrc -Iinclude -arch=compute_75 -ptx src/memory/cuda/kernels.cu -o "$folder/kernels.ptx"
{
  echo '.version 6.4'
  echo '.target sm_70'
  sed -n '/^\.address_size/,$p' "$folder/kernels.ptx" | sed '/^[[:space:]]*\.pragma/d; s/[[:space:]]*$//' | cat -s
} > "$folder/new.ptx"
assemble() {
  "$1" -arch=sm_"$2" "$folder/new.ptx" -o "$folder/new.cubin" ||
    { echo "kernels.sh: the assembler $1 refuses, for compute capability $2, what would be written" >&2 && exit 1; }
}
for architecture in 75 90; do assemble "$(dirname "$nvcc")/ptxas" $architecture; done
if [ -n "${ATOLL_PTXAS:-}" ]; then assemble "$ATOLL_PTXAS" 70; fi
{
  echo "// Written by scripts/kernels.sh with nvcc $version, for compute capability 7.0."
  printf 'R"ptx('
  cat "$folder/new.ptx"
  echo ')ptx"'
} > "$folder/new"
if [ $check = yes ]; then
  diff -u $file "$folder/new" || { echo "kernels.sh: $file is not what kernels.cu makes: run scripts/kernels.sh" >&2 && exit 1; }
else
  cp "$folder/new" $file
fi
