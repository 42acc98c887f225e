#pragma once

/// Two processes of one program, of which the first starts the second: for what needs no launcher.

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <new>
#include <vector>

#include "harness/group.hpp"

namespace atl::bench {

/// What `atoll bench` tells such a program.
struct pair_options {
  group_config config;
  std::vector<std::size_t> device_sizes;
};

pair_options pair_options_of(int argc, char** argv);

/// Zero-filled, and shared with processes that are started from here on. Ends the program if there is none.
void* map_shared(std::size_t bytes);

/// Where both find each other, and what they measure. `Id`: by which the library that is measured knows the two.
template <class Id>
class meeting {
 public:
  static meeting& make() { return *new (map_shared(sizeof(meeting))) meeting; }

  /// What `make_id` returns in rank 0, in both.
  template <class Make>
  Id agree(int rank, Make const& make_id) {
    if (rank == 0) {
      id_ = make_id();
      written_.store(1, std::memory_order_release);  // pairs with the loads below
    } else {
      while (written_.load(std::memory_order_acquire) == 0) sched_yield();
    }
    return id_;
  }

  shared_lines lines{};

 private:
  Id id_{};
  std::atomic<int> written_ = 0;
};

/// Runs `run` as rank 0 here and as rank 1 in a process of its own. If either fails, the other one ends, too, since it would
/// wait for ever; rank 1's exit status becomes the program's. Returns that of a program that has not failed, in both.
int run_pair(group_config const& config, shared_lines& lines, std::function<void(group_config)> const& run);

}  // namespace atl::bench
