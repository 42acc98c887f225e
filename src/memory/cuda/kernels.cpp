#include "memory/cuda/kernels.hpp"

namespace atl::memory::cuda {

char const kernels_ptx[] =
#include "memory/cuda/kernels.ptx.inc"
    ;

}  // namespace atl::memory::cuda
