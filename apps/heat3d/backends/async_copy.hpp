#pragma once

/// Copies into memory of a block of threads, beside which the thread that starts them goes on. They come in groups, which end in
/// the order in which they were started. Devices before architecture 8.0 do each at once; a thread of the host does them as late
/// as a device may, so that tests see where nobody waits for them.

#include <cstddef>
#include <deque>

#include "problem/cell.hpp"

namespace heat3d {

/// Those of a thread of the host.
class late_copies {
 public:
  static late_copies& of_this_thread() {
    thread_local late_copies copies;
    return copies;
  }
  void add(double* to, double const* from) {
    waiting_.push_back({to, from});
    ++present_;
  }
  void end_group() {
    groups_.push_back(present_);
    present_ = 0;
  }
  void finish_all_but(std::size_t n) {
    for (; groups_.size() > n; groups_.pop_front()) {
      for (auto left = groups_.front(); left > 0; --left) {
        *waiting_.front().to = *waiting_.front().from;
        waiting_.pop_front();
      }
    }
  }

 private:
  struct copy {
    double* to;
    double const* from;
  };
  std::deque<copy> waiting_;
  std::deque<std::size_t> groups_;  ///< copies in each
  std::size_t present_ = 0;         ///< in the one that has not ended
};

HEAT3D_CELL void copy_soon(double* to, double const* from) {
#ifndef __CUDA_ARCH__
  late_copies::of_this_thread().add(to, from);
#elif __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(__cvta_generic_to_global(from))
      : "memory");
#else
  *to = *from;
#endif
}

/// What this thread has started since the last call is a group.
HEAT3D_CELL void end_copy_group() {
#ifndef __CUDA_ARCH__
  late_copies::of_this_thread().end_group();
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// All groups of this thread are done, but the last `n`. Other threads see it after a barrier.
template <int n>
HEAT3D_CELL void await_copy_groups() {
#ifndef __CUDA_ARCH__
  late_copies::of_this_thread().finish_all_but(n);
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
#endif
}

}  // namespace heat3d
