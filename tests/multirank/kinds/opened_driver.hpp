#pragma once

#include <cstdlib>

#include "memory/cuda/api.hpp"

/// The CUDA driver that the library has opened, too, real or fake. `init` is null if there is none.
inline atl::memory::cuda::api& opened_driver() {
  static auto* const opened = [] {
    auto* const made = new atl::memory::cuda::api;
    char const* const library = std::getenv("ATOLL_CUDA_DRIVER");
    if (made->load(library == nullptr ? "libcuda.so.1" : library) != nullptr) made->init = nullptr;
    return made;
  }();
  return *opened;
}
