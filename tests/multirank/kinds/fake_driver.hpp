#pragma once

#include <dlfcn.h>

#include <cstdlib>

#include "support/fake_cuda/control.hpp"

/// What may be asked of the fake CUDA driver; null over another one, and over none.
inline fake_cuda::control* fake_driver() {
  char const* const library = std::getenv("ATOLL_CUDA_DRIVER");
  void* const opened = library == nullptr ? nullptr : dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* const found = opened == nullptr ? nullptr : dlsym(opened, "fake_cuda");
  return found == nullptr ? nullptr : reinterpret_cast<fake_cuda::get_control*>(found)();
}
