#pragma once

/// The suites of `atoll bench`. Each runs on all ranks and prints its rows from rank 0.

#include <cstddef>
#include <vector>

#include "harness/group.hpp"

namespace atl::bench {

struct suite_options {
  std::vector<std::size_t> sizes;  ///< bytes
  bool quick = false;
};

void run_put(group& g, suite_options const& options);
void run_get(group& g, suite_options const& options);
void run_rpc(group& g, suite_options const& options);
void run_atomics(group& g, suite_options const& options);
void run_strided(group& g, suite_options const& options);
void run_memory(group& g, suite_options const& options);
void run_barrier(group& g, suite_options const& options);
void run_allreduce(group& g, suite_options const& options);

}  // namespace atl::bench
