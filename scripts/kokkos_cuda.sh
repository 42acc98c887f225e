#!/bin/bash
# Builds a Kokkos with the Serial and CUDA back ends from source that is here already. See --help.
set -eu
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:---help} in --help | -h)
  cat << 'END'
usage: scripts/kokkos_cuda.sh SOURCE PREFIX [options of cmake]

Builds Kokkos from the folder SOURCE with its Serial and CUDA back ends, as static libraries, and installs it into PREFIX;
then configure Atoll with -DKokkos_ROOT=PREFIX. Needs nvcc in PATH, or CUDACXX. Downloads nothing. JOBS compilers run
side by side (default 2); ARCH is Kokkos' name of the GPU (default AMPERE80, whose code every newer GPU runs, too).

Kokkos 3.x with CUDA 13 is made to work:
- the architecture is named to nvcc first, since nvcc_wrapper's default is one that CUDA 13 has dropped;
- half precision numbers are left out, here and in the programs that use the installation;
- cudaMemPrefetchAsync gets back the parameters that it had before CUDA 13.
Other versions are built as they are (Kokkos 4.0 to 4.6 do not compile with CUDA 13).

example: pip download --no-deps pykokkos-base==0.0.7, whose archive holds Kokkos 3.4.01 in external/kokkos
END
  exit 0 ;;
esac
source=${1:?} prefix=$(realpath -m "${2:?which folder to install into? See --help}")
shift 2
[ -f "$source/CMakeLists.txt" ] && [ -x "$source/bin/nvcc_wrapper" ] || die "$source: no source of Kokkos there"
source=$(realpath "$source")
nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || die "no nvcc: put it in PATH, or name it in CUDACXX"
PATH=$(dirname "$nvcc"):$PATH # nvcc_wrapper takes it from there
export PATH
cuda=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\).*/\1/p')
version=$(sed -n 's/^ *set *(Kokkos_VERSION_MAJOR *\([0-9]*\).*/\1/Ip' "$source/CMakeLists.txt" | head -n 1)
arch=${ARCH:-AMPERE80}
build=$prefix/build
mkdir -p "$build"

flags='' standard=17 old=no
[ "$version" -lt 5 ] || standard=20
if [ "$version" -lt 4 ] && [ "$cuda" -ge 13 ]; then
  old=yes
  cat > "$build/prefetch.hpp" << 'END'
#pragma once
#include <cuda_runtime_api.h>
inline cudaError_t cudaMemPrefetchAsync(void const* memory, size_t bytes, int device, cudaStream_t stream) {
  cudaMemLocation const location{cudaMemLocationTypeDevice, device};
  return cudaMemPrefetchAsync(memory, bytes, location, 0, stream);
}
END
  flags="-arch=sm_${arch//[A-Z_]/} -DKOKKOS_CUDA_HALF_HPP_ -include $build/prefetch.hpp"
fi
say "Kokkos $version with CUDA $cuda, $arch: building in $build"
cmake -S "$source" -B "$build/cmake" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
  -DCMAKE_CXX_COMPILER="$source/bin/nvcc_wrapper" -DCMAKE_CXX_STANDARD=$standard -DCMAKE_CXX_EXTENSIONS=OFF \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DCUDAToolkit_ROOT="$(dirname "$(dirname "$nvcc")")" \
  -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_CUDA=ON -DKokkos_ENABLE_CUDA_LAMBDA=ON "-DKokkos_ARCH_$arch=ON" "$@" \
  > "$build/configure.log" 2>&1 || { tail -n 20 "$build/configure.log"; die "configuring failed; see $build/configure.log"; }
cmake --build "$build/cmake" -j "${JOBS:-2}" --target install > "$build/build.log" 2>&1 ||
  { tail -n 20 "$build/build.log"; die "the build failed; see $build/build.log"; }
# Users of the installation must leave out the same header.
if [ $old = yes ]; then
  echo '#define KOKKOS_CUDA_HALF_HPP_  // does not compile with CUDA 13' >> "$prefix/include/KokkosCore_config.h"
fi
say "Kokkos is in $prefix: configure with -DKokkos_ROOT=$prefix"
