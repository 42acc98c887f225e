#pragma once

/// What a thread has set in the driver for the length of a scope.

#include <new>

#include "memory/cuda/cuda_driver.hpp"

namespace atl::memory::cuda {

/// For a scope, lets this thread make calls that might wait while the program captures a stream into a graph. The mode of captures that
/// most programs use forbids them to all threads, ends the capture and refuses the call.
class cuda_driver::beside_captures {
 public:
  explicit beside_captures(api const& cu) : cu_(cu) { cu_.exchange_capture_mode(&mode_); }
  ~beside_captures() { cu_.exchange_capture_mode(&mode_); }
  beside_captures(beside_captures const&) = delete;
  beside_captures& operator=(beside_captures const&) = delete;

 private:
  api const& cu_;
  capture_mode mode_ = capture_relaxed;
};

/// Makes a device's primary context current for a scope, unless it is.
class cuda_driver::use {
 public:
  use(cuda_driver& driver, int device)
      : driver_(driver), beside_(driver.cu_), pushed_(driver.enter(device)) {}
  /// For what ends things: a context that cannot be entered any more takes them with it.
  use(cuda_driver& driver, int device, std::nothrow_t) noexcept
      : driver_(driver), beside_(driver.cu_), pushed_(false) {
    context const wanted = driver.contexts_[static_cast<std::size_t>(device)];
    context current = nullptr;
    driver.cu_.context_current(&current);
    if (wanted != nullptr && current != wanted) pushed_ = driver.cu_.context_push(wanted) == success;
  }
  ~use() {
    if (pushed_) driver_.leave();
  }
  use(use const&) = delete;
  use& operator=(use const&) = delete;

 private:
  cuda_driver& driver_;
  beside_captures beside_;
  bool pushed_;
};

/// Takes the current context away for a scope. Another one may have lain below it.
class cuda_driver::no_context {
 public:
  explicit no_context(api const& cu) : cu_(cu) {
    cu_.context_current(&before_);
    if (before_ == nullptr) return;
    cu_.context_pop(&before_);
    cu_.context_current(&below_);
  }
  ~no_context() {
    if (before_ != nullptr) cu_.context_push(before_);
  }
  [[nodiscard]] bool is_so() const noexcept { return below_ == nullptr; }
  no_context(no_context const&) = delete;
  no_context& operator=(no_context const&) = delete;

 private:
  api const& cu_;
  context before_ = nullptr;
  context below_ = nullptr;
};

}  // namespace atl::memory::cuda
