#pragma once

/// Where the transport's memory lies in a rank's region. Zero-filled memory is a valid initial state.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <atoll/base/round_up.hpp>
#include <atoll/transport/message.hpp>

#include "transport/shm/ring.hpp"

namespace atl::shm {

using transport::index_of;
using transport::lanes;

/// What a rank's private memory is read for: readers clear the word of what they have read. Each lane has slots of
/// its own: answers must find one although requests that nobody reads yet take all of theirs.
inline constexpr std::size_t slots_of_lane = 64;
inline constexpr std::size_t most_rendezvous = lanes * slots_of_lane;
struct rendezvous_flags {
  alignas(64) std::atomic<std::uint32_t> unread[most_rendezvous];
};

/// Offsets and sizes, equal on all ranks of a host. What lies before and behind is not the transport's.
struct region_layout {
  std::size_t counters_offset;  ///< ring_counters of each lane, then rendezvous_flags
  std::uint64_t ring_cells;     ///< of each lane; a power of two
  std::size_t ring_offset;      ///< of the first lane; the others follow
  std::size_t arena_offset;
  std::size_t arena_bytes;
  std::size_t end;  ///< first byte behind

  /// `reserved`: bytes at the start of the region that are others'.
  static region_layout compute(std::size_t reserved, std::size_t ranks, std::size_t arena) {
    constexpr std::size_t page = 4096;
    region_layout layout{};
    layout.counters_offset = round_up(reserved, alignof(ring_counters));
    // Room for a few small messages from every peer, within bounds.
    layout.ring_cells = 1024;
    while (layout.ring_cells < ranks * 32 && layout.ring_cells < 16384) layout.ring_cells *= 2;
    layout.place_rings();
    layout.arena_bytes = round_up(arena, page);
    layout.end = layout.arena_offset + layout.arena_bytes;
    return layout;
  }

  /// Sets what follows from counters_offset and ring_cells.
  void place_rings() {
    ring_offset = round_up(flags_offset() + sizeof(rendezvous_flags), std::size_t{4096});
    arena_offset = ring_offset + lanes * ring_cells * cell_bytes;
  }
  [[nodiscard]] std::size_t counters_of(transport::lane way) const {
    return counters_offset + index_of(way) * sizeof(ring_counters);
  }
  [[nodiscard]] std::size_t ring_of(transport::lane way) const {
    return ring_offset + index_of(way) * ring_cells * cell_bytes;
  }
  [[nodiscard]] std::size_t flags_offset() const { return counters_offset + lanes * sizeof(ring_counters); }
};

}  // namespace atl::shm
