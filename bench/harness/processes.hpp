#pragma once

/// Processes of one program, of which the first starts the others: for what needs no launcher.

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <vector>

#include "harness/group.hpp"

namespace atl::bench {

/// What `atoll bench` tells such a program.
struct process_options {
  group_config config;  ///< ranks: how many processes
  std::vector<std::size_t> device_sizes;
};

process_options process_options_of(int argc, char** argv);

/// Zero-filled, and shared with processes that are started from here on. Ends the program if there is none.
void* map_shared(std::size_t bytes);

/// Where processes wait for each other that are not two.
class round_table {
 public:
  void meet(int ranks);
  /// Rank 0's value to all.
  void share(int rank, int ranks, std::uint64_t& value);

 private:
  alignas(64) std::atomic<std::uint64_t> arrived_ = 0;  ///< since the start
  alignas(64) std::atomic<std::uint64_t> value_ = 0;
};

/// What they measure by: two by lines.
struct common_place {
  shared_lines lines{};
  round_table table;
};

/// Where all find each other. `Id`: by which the library that is measured knows them.
template <class Id>
class meeting : public common_place {
 public:
  static meeting& make() { return *new (map_shared(sizeof(meeting))) meeting; }

  /// What `make_id` returns in rank 0, in all.
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

 private:
  Id id_{};
  std::atomic<int> written_ = 0;
};

/// Runs `run` as rank 0 here and as the other ranks of `config` in processes of their own. If one fails, the others end, too,
/// since they would wait for ever; its exit status becomes the program's. Returns that of a program that has not failed, in
/// all.
int run_processes(group_config const& config, common_place& place,
                  std::function<void(group_config)> const& run);

}  // namespace atl::bench
