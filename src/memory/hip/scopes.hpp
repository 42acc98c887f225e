#pragma once

/// What a thread has set in the runtime for the length of a scope, and addresses as both name them.

#include "memory/hip/hip_driver.hpp"

namespace atl::memory::hip {

inline pointer place(gpu::address at) noexcept { return reinterpret_cast<pointer>(at); }
inline gpu::address number(pointer at) noexcept { return reinterpret_cast<gpu::address>(at); }

/// Makes a device the thread's current one for a scope, unless it is.
class hip_driver::use {
 public:
  use(hip_driver const& driver, int device) noexcept : hip_(driver.hip_) {
    if (!driver.good(hip_.device_get(&before_)) || before_ == device) return;
    changed_ = driver.good(hip_.device_set(device));
  }
  ~use() {
    if (changed_) hip_.device_set(before_);
  }
  use(use const&) = delete;
  use& operator=(use const&) = delete;

 private:
  api const& hip_;
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace atl::memory::hip
