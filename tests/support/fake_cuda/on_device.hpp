#pragma once

/// Calls of the fake CUDA driver for a device, for the fakes of other vendors, which play the same devices.

#include "support/fake_cuda/state.hpp"

namespace fake_cuda {

/// Makes a device's context current for a scope.
class on_device {
 public:
  explicit on_device(int device) : device_(device) {
    context made = nullptr;
    entered_ = primary_retain(&made, device) == success && context_push(made) == success;
  }
  ~on_device() {
    context gone = nullptr;
    if (!entered_) return;
    context_pop(&gone);
    primary_release(device_);
  }
  on_device(on_device const&) = delete;
  on_device& operator=(on_device const&) = delete;

 private:
  int device_;
  bool entered_ = false;
};

}  // namespace fake_cuda
