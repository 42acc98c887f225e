#!/bin/bash
# Builds a Kokkos with the Serial and CUDA back ends from source that is here already. See --help.
set -eu
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:---help} in --help | -h)
  cat << 'END'
usage: scripts/kokkos_cuda.sh SOURCE PREFIX [options of cmake]

Builds Kokkos from the folder SOURCE with its Serial and CUDA back ends, as static libraries, and installs it into PREFIX;
then configure Atoll with -DKokkos_ROOT=PREFIX. Needs nvcc in PATH, or CUDACXX. Downloads nothing. JOBS compilers run
side by side (default 2); ARCH is Kokkos' name of the GPUs (default HOPPER90).

Kokkos 3.x with CUDA 13 is made to work, in a copy of the source:
- code is made for ARCH, also where that version does not know it (it then has the name AMPERE80): Kokkos runs only on GPUs of
  the generation that it was compiled for;
- half precision numbers are left out;
- memory is prefetched with the parameters that the call has since CUDA 13.
Other versions are built as they are (Kokkos 4.0 to 4.6 do not compile with CUDA 13).

example: pip download --no-deps pykokkos-base==0.0.7, whose archive holds Kokkos 3.4.01 in external/kokkos
END
  exit 0 ;;
esac
source=${1:?} prefix=$(realpath -m "${2:?which folder to install into? See --help}")
shift 2
[ -x "$source/bin/nvcc_wrapper" ] || die "$source: no source of Kokkos there"
source=$(realpath "$source")
nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || die "no nvcc: put it in PATH, or name it in CUDACXX"
PATH=$(dirname "$nvcc"):$PATH # nvcc_wrapper takes it from there
export PATH
cuda=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\).*/\1/p')
version=$(sed -n 's/^ *set *(Kokkos_VERSION_MAJOR *\([0-9]*\).*/\1/Ip' "$source/CMakeLists.txt" | head -n 1)
arch=${ARCH:-HOPPER90}
sm=sm_${arch//[A-Z_]/}
build=$prefix/build
mkdir -p "$build"

flags='' standard=17
[ "$version" -lt 5 ] || standard=20
if [ "$version" -lt 4 ] && [ "$cuda" -ge 13 ]; then
  rm -rf "$build/source"
  cp -r "$source" "$build/source"
  source=$build/source
  cd "$source"
  if ! grep -q "CHECK_CUDA_ARCH($arch " cmake/kokkos_arch.cmake; then
    arch=AMPERE80
    sed -i "s/CHECK_CUDA_ARCH(AMPERE80 .*/CHECK_CUDA_ARCH(AMPERE80 $sm)/" cmake/kokkos_arch.cmake
    sed -i "s/case 86: return 8;/case 86:\n      case ${sm#sm_}: return 8;/" core/src/Cuda/Kokkos_Cuda_BlockSize_Deduction.hpp
  fi
  sed -i '/include <Cuda\/Kokkos_Cuda_Half.hpp>/d' core/src/Kokkos_Half.hpp
  sed -i 's/cudaMemPrefetchAsync(ptr, bytes, space.cuda_device(),/cudaMemPrefetchAsync(ptr, bytes, cudaMemLocation{cudaMemLocationTypeDevice, space.cuda_device()}, 0,/' \
    core/src/Cuda/Kokkos_CudaSpace.cpp
  flags=-arch=$sm # before CMake knows: nvcc_wrapper's own choice is one that CUDA 13 has dropped
fi
say "Kokkos $version with CUDA $cuda for $sm: building in $build"
cmake -S "$source" -B "$build/cmake" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
  -DCMAKE_CXX_COMPILER="$source/bin/nvcc_wrapper" -DCMAKE_CXX_STANDARD=$standard -DCMAKE_CXX_EXTENSIONS=OFF \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DCUDAToolkit_ROOT="$(dirname "$(dirname "$nvcc")")" \
  -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_CUDA=ON -DKokkos_ENABLE_CUDA_LAMBDA=ON "-DKokkos_ARCH_$arch=ON" "$@" \
  > "$build/configure.log" 2>&1 || { tail -n 20 "$build/configure.log"; die "configuring failed; see $build/configure.log"; }
cmake --build "$build/cmake" -j "${JOBS:-2}" --target install > "$build/build.log" 2>&1 ||
  { tail -n 20 "$build/build.log"; die "the build failed; see $build/build.log"; }
say "Kokkos is in $prefix: configure with -DKokkos_ROOT=$prefix"
