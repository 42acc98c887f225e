// Opening the driver's library.

#include "memory/cuda/api.hpp"

#include <dlfcn.h>

namespace atl::memory::cuda {

char const* api::load(char const* library) noexcept {
  // Stays open for ever: the driver does not survive being unloaded.
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return dlerror();
#define X(name, symbol, parameters)                                     \
  this->name = reinterpret_cast<decltype(name)>(dlsym(handle, symbol)); \
  if (this->name == nullptr) return "it lacks " symbol "; a driver of CUDA 12 or newer is needed";
  ATOLL_CUDA_FUNCTIONS(X)
#undef X
  return nullptr;
}

void api::load_newer() noexcept {
  void* found = nullptr;
  int ignored = 0;
  if (function_of_version("cuMemcpyBatchAsync", &found, version_of_copy_batch, 0, &ignored) == success) {
    copy_batch = reinterpret_cast<copy_batch_function*>(found);
  }
}

}  // namespace atl::memory::cuda
