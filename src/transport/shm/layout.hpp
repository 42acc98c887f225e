#pragma once

/// What a rank's region begins with, before its shared heap. Zero-filled memory is a valid initial state.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/doorbell.hpp"
#include "transport/shm/ring.hpp"

namespace atl::shm {

inline constexpr unsigned flat_channels = 16;    ///< world, local_team, and some for created teams
inline constexpr std::size_t flat_payload = 48;  ///< bytes that travel with a flat collective's arrival

inline constexpr unsigned flat_lines = 8;  ///< so many publications may be unread (a power of two)

/// A rank's contribution to one step of a flat collective. `stamp` is written last (release) and read first
/// (acquire).
struct alignas(64) flat_line {
  std::atomic<std::uint64_t> stamp;  ///< number of the step, and a hash of all that was called so far
  std::uint64_t signature;           ///< what was called; must be equal on all ranks
  std::byte payload[flat_payload];
};
static_assert(sizeof(flat_line) == 64);

/// One rank's part of a channel.
struct flat_channel {
  flat_line lines[flat_lines];                  ///< [number of the step modulo flat_lines]
  alignas(64) std::atomic<std::uint64_t> left;  ///< this rank has read all that it wanted up to this step
};

/// A collective that a rank has started, for peers that have waited long. The words are written one by one:
/// they mean something only if `check` fits.
struct started_collective {
  std::atomic<std::uint64_t> team;
  std::atomic<std::uint64_t> signature;
  std::atomic<std::uint64_t> check;
  std::atomic<std::uint32_t> number;
  std::atomic<std::uint32_t> history;  ///< hash of all that was called on the team up to this one
};
inline constexpr unsigned remembered_collectives = 16;  // a power of two

/// Where in the program a rank is, written when a peer that has found a mistake asks for it.
struct call_site_text {
  std::atomic<std::uint32_t> asked;
  std::atomic<std::uint32_t> ready;
  char text[376];
};

/// First lines of every region.
struct rank_control {
  doorbell bell;  ///< what this rank sleeps on
  // Only in local rank 0's region: how many threads of the host's ranks sleep or are about to.
  alignas(64) sleeper_count sleepers;
  std::atomic<std::uint32_t>
      failed;  ///< non-zero once a rank of the host says why it ends the job; also there
  // Read by a peer to find out whether process memory may be read directly.
  alignas(64) std::uint64_t probe;
  ring_counters ring;
  flat_channel flat[flat_channels];
  alignas(64) started_collective started[remembered_collectives];  ///< the last ones, used in turn
  call_site_text site;
};

inline constexpr std::size_t control_bytes = 3 * 4096;
static_assert(sizeof(rank_control) <= control_bytes);

/// Names of the modules that a rank has loaded, for peers' error messages. Follows the control lines.
struct module_names {
  struct entry {
    std::uint32_t hash;
    char name[60];  ///< end of the path
  };
  std::atomic<std::uint32_t> count;
  entry entries[63];
};
inline constexpr std::size_t module_names_offset = control_bytes;
inline constexpr std::size_t module_names_bytes = 4096;
static_assert(sizeof(module_names) <= module_names_bytes);

/// Words that devices write to announce copies of this rank; a line each. Follows the module names.
inline constexpr std::size_t announcements_offset = module_names_offset + module_names_bytes;
inline constexpr std::size_t announcements_bytes = 4096;

/// Sizes that are equal on all ranks of a host.
struct region_layout {
  std::uint64_t ring_cells;  ///< power of two
  std::size_t ring_offset;
  std::size_t arena_offset;
  std::size_t arena_bytes;
  std::size_t heap_offset;
  std::size_t heap_bytes;
  std::size_t total;

  static region_layout compute(std::size_t ranks, std::size_t arena, std::size_t heap) {
    region_layout layout{};
    // Room for a few small messages from every peer, within bounds.
    layout.ring_cells = 1024;
    while (layout.ring_cells < ranks * 32 && layout.ring_cells < 16384) layout.ring_cells *= 2;
    layout.ring_offset = announcements_offset + announcements_bytes;
    layout.arena_offset = layout.ring_offset + layout.ring_cells * cell_bytes;
    layout.arena_bytes = (arena + 4095) / 4096 * 4096;
    layout.heap_offset = layout.arena_offset + layout.arena_bytes;
    layout.heap_bytes = (heap + 4095) / 4096 * 4096;
    layout.total = layout.heap_offset + layout.heap_bytes;
    return layout;
  }
};

}  // namespace atl::shm
