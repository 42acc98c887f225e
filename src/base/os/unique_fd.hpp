#pragma once

/// Owner of one file descriptor.

#include <unistd.h>

#include <utility>

namespace atl::os {

/// Closes its descriptor when it goes; -1 means empty.
class unique_fd {
 public:
  unique_fd() noexcept = default;
  explicit unique_fd(int descriptor) noexcept : descriptor_(descriptor) {}
  unique_fd(unique_fd&& other) noexcept : descriptor_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~unique_fd() { reset(); }

  int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  int release() noexcept { return std::exchange(descriptor_, -1); }
  void reset(int descriptor = -1) noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = descriptor;
  }

 private:
  int descriptor_ = -1;
};

}  // namespace atl::os
