// Opening the loader's library.

#include "memory/ze/api.hpp"

#include <dlfcn.h>

namespace atl::memory::ze {

char const* api::load(char const* library) noexcept {
  // Stays open for ever: drivers do not survive being unloaded.
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return dlerror();
#define X(name, symbol, parameters)                                           \
  this->name = reinterpret_cast<decltype(this->name)>(dlsym(handle, symbol)); \
  if (this->name == nullptr) return "it lacks " symbol "; Level Zero 1.1 or newer is needed";
  ATOLL_ZE_FUNCTIONS(X)
#undef X
  return nullptr;
}

}  // namespace atl::memory::ze
