#pragma once

/// What the parts of the suite `gpu` have in common.

#include <algorithm>
#include <cstddef>
#include <string>
#include <upcxx/upcxx.hpp>
#include <utility>
#include <vector>

#include "harness/group.hpp"
#include "harness/raw_copies.hpp"
#include "suites.hpp"

namespace atl::bench {

using place = upcxx::global_ptr<char, upcxx::memory_kind::any>;

/// What the rows have in common.
struct setting {
  group& g;
  suite_options const& options;
  raw_copies* raw;     ///< the driver's copies and graphs; null: there are none
  std::string prefix;  ///< of the keys
  bool is_simulated;
  bool has_each_its_own;  ///< GPU, each of the ranks: kernels need not take turns

  /// With more than two ranks, no copies stand beside.
  [[nodiscard]] bool has_limit() const { return raw != nullptr && g.config().ranks == 2; }

  [[nodiscard]] row make_row(std::string const& key, std::string const& name, std::size_t bytes) const {
    row r{.suite = "gpu", .key = prefix + key, .name = name, .bytes = bytes};
    r.limit = has_limit() ? "driver" : "none";
    return r;
  }
  /// The driver's copies beside ours; nothing where there are none.
  [[nodiscard]] group::body limit(group::body body) const {
    return has_limit() ? std::move(body) : group::body{};
  }
};

/// Little ones by number, others by volume.
inline char const* unit_of(std::size_t bytes) { return bytes < 1024 ? "rate" : "bandwidth"; }

/// Memories that copies go between. Rank 0 starts them all.
struct memories {
  place own_gpu;
  place peer_gpu;
  place own_host;
  place peer_host;
  std::vector<char> own_private;
};

struct raw_memories {
  raw_copies::pointer own_gpu = 0;
  raw_copies::pointer peer_gpu = 0;
  raw_copies::pointer own_host = 0;
  raw_copies::pointer peer_host = 0;
  raw_copies::pointer own_private = 0;
};

/// Private memory, pinned and not.
void run_private(setting const& s, memories& m, raw_memories const& raw_at);

/// In the order of streams. Both ranks; `gpu` has room for signals.
void run_streams(setting const& s, upcxx::device_allocator<upcxx::gpu_default_device>& gpu,
                 memories const& m);
/// By kernels; the same.
void run_kernels(setting const& s, upcxx::device_allocator<upcxx::gpu_default_device>& gpu,
                 memories const& m);
/// Of boxes; both ranks.
void run_ghosts(setting const& s);
/// All ranks, however many; `data`: `room` bytes of the own GPU, which has as many again.
void run_collectives(setting const& s, upcxx::device_allocator<upcxx::gpu_default_device>& gpu,
                     upcxx::global_ptr<char, upcxx::gpu_default_device::kind> data, std::size_t room);

/// Was this compiled for CUDA, and does CUDA's run time know memory of the own GPU?
bool can_launch_on(void const* own_memory);

}  // namespace atl::bench
