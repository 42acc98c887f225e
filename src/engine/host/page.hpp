#pragma once

/// What every rank's region begins with: the words through which the ranks of a host know each other, beside
/// their messages. Zero-filled memory is a valid initial state.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/doorbell.hpp"
#include "memory/kind.hpp"

namespace atl::engine {

inline constexpr unsigned flat_channels = 16;    ///< world, local_team, and some for created teams
inline constexpr unsigned flat_lines = 8;        ///< so many publications may be unread (a power of two)
inline constexpr std::size_t flat_payload = 48;  ///< bytes that travel with a flat collective's arrival

/// A rank's contribution to one step of a flat collective.
/// `stamp` is written last (release) and read first (acquire).
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

/// The list of ranks that a rank gave to team::create last; the words mean something only if `check` fits.
inline constexpr std::uint32_t shown_ranks = 10;
struct given_list {
  std::atomic<std::uint64_t> check;
  std::atomic<std::uint64_t> parent;
  std::atomic<std::uint32_t> number;  ///< of the call, among the parent's
  std::atomic<std::uint32_t> count;
  std::atomic<std::int32_t> ranks[shown_ranks];  ///< the first ones
};

/// Why waits of kernels end: somebody has waited too long for them; or a rank of the host fails, and with it the job.
inline constexpr std::uint64_t kernels_end_alone = 1;
inline constexpr std::uint64_t kernels_end_with_job = 2;

inline constexpr std::size_t call_site_bytes = 376;
/// Where in the program a rank is, written when a peer that has found a mistake asks for it.
struct call_site_text {
  std::atomic<std::uint32_t> asked;
  std::atomic<std::uint32_t> ready;
  char text[call_site_bytes];
};

/// Names of the modules that a rank has loaded, for peers' error messages.
struct module_names {
  struct entry {
    std::uint32_t hash;
    char name[60];  ///< end of the path
  };
  std::atomic<std::uint32_t> count;
  entry entries[63];
};

struct rank_page {
  doorbell bell;  ///< what this rank sleeps on
  // Only in local rank 0's page, for all ranks of the host.
  alignas(64) sleeper_count sleepers;
  std::atomic<std::uint32_t> failed;  ///< 1 + the rank that says why it ends the job; 0: none does
  /// Non-zero once all of this rank's heap has memory: devices may pin it.
  std::atomic<std::uint32_t> heap_complete;
  /// Not 0: nobody comes any more for what this rank's kernels wait for. Theirs, too: it lies where devices look from time to time.
  alignas(64) std::uint64_t kernels_end;
  /// One of a device of this rank, while its host changes it: where devices reach.
  std::uint64_t moved_word;
  flat_channel flat[flat_channels];
  alignas(64) started_collective started[remembered_collectives];  ///< the last ones, used in turn
  given_list list;
  call_site_text site;
  std::uint64_t own_address;  ///< of this page in its owner's process; written before the ranks first meet
  module_names modules;
  /// Words that devices write to announce copies of this rank.
  memory::announcement_line announcements[64];
};
static_assert(sizeof(rank_page) <= 20 * std::size_t{1024}, "every rank of a host pays for it");

}  // namespace atl::engine
