// Opening the runtime's library.

#include "memory/hip/api.hpp"

#include <dlfcn.h>

namespace atl::memory::hip {

char const* api::load(char const* library) noexcept {
  // Stays open for ever: the runtime does not survive being unloaded.
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return dlerror();
#define FIND(name, symbol) this->name = reinterpret_cast<decltype(this->name)>(dlsym(handle, symbol))
#define X(name, symbol, parameters) \
  FIND(name, symbol);               \
  if (this->name == nullptr) return "it lacks " symbol "; HIP 5.2 or newer is needed";
  ATOLL_HIP_FUNCTIONS(X)
#undef X
  FIND(error_name, "hipGetErrorName");
  FIND(error_string, "hipGetErrorString");
  if (error_name == nullptr || error_string == nullptr)
    return "it lacks hipGetErrorName or hipGetErrorString";
  has_memory_objects = true;
#define X(name, symbol, parameters) \
  FIND(name, symbol);               \
  has_memory_objects = has_memory_objects && this->name != nullptr;
  ATOLL_HIP_OPTIONAL_FUNCTIONS(X)
#undef X
  lacks_for_streams = nullptr;
#define X(name, symbol, parameters) \
  FIND(name, symbol);               \
  if (this->name == nullptr) lacks_for_streams = symbol;
  ATOLL_HIP_STREAM_FUNCTIONS(X)
#undef X
#undef FIND
  return nullptr;
}

}  // namespace atl::memory::hip
