#pragma once

/// The suites of `atoll bench`. Each runs on all ranks and prints its rows from rank 0.

#include <cstddef>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "harness/group.hpp"

namespace atl::bench {

struct suite_options {
  std::vector<std::size_t> sizes;         ///< bytes
  std::vector<std::size_t> device_sizes;  ///< the same where memory of devices is copied
  bool quick = false;
};

/// Do all ranks address each other's memory?
inline bool on_one_host() { return upcxx::local_team().rank_n() == upcxx::rank_n(); }

/// What a processor does itself stands beside an operation where it can: null for memory of another host.
template <class T>
T* address_if_local(upcxx::global_ptr<T> p) {
  return p.is_local() ? p.local() : nullptr;
}

/// What is measured on memory, with the processor's own figure beside it if this process addresses that memory.
template <class T>
void served_on(group& g, row r, T* memory, group::body const& operate, group::body const& processor) {
  if (memory == nullptr) r.limit = "line";
  g.served(r, operate, memory == nullptr ? group::body{} : processor);
}

/// With more than two ranks, arrays up to this size are measured: larger ones say nothing new and take long.
inline constexpr std::size_t most_bytes_of_many = std::size_t{64} << 10;

void run_put(group& g, suite_options const& options);
void run_get(group& g, suite_options const& options);
void run_rpc(group& g, suite_options const& options);
void run_atomics(group& g, suite_options const& options);
void run_strided(group& g, suite_options const& options);
void run_serialization(group& g, suite_options const& options);
void run_futures(group& g, suite_options const& options);
void run_memory(group& g, suite_options const& options);
void run_barrier(group& g, suite_options const& options);
void run_allreduce(group& g, suite_options const& options);
void run_broadcast(group& g, suite_options const& options);
void run_neighbors(group& g, suite_options const& options);
void run_gpu(group& g, suite_options const& options);
void run_alltoall(group& g, suite_options const& options);

}  // namespace atl::bench
