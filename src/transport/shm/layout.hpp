#pragma once

/// Where the transport's memory lies in a rank's region. Zero-filled memory is a valid initial state.

#include <cstddef>
#include <cstdint>

#include <atoll/base/round_up.hpp>

#include "transport/shm/ring.hpp"

namespace atl::shm {

/// Offsets and sizes, equal on all ranks of a host. What lies before and behind is not the transport's.
struct region_layout {
  std::size_t counters_offset;  ///< ring_counters
  std::uint64_t ring_cells;     ///< power of two
  std::size_t ring_offset;
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
    layout.ring_offset = round_up(layout.counters_offset + sizeof(ring_counters), page);
    layout.arena_offset = layout.ring_offset + layout.ring_cells * cell_bytes;
    layout.arena_bytes = round_up(arena, page);
    layout.end = layout.arena_offset + layout.arena_bytes;
    return layout;
  }
};

}  // namespace atl::shm
