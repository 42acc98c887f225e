#pragma once

/// What the first rank of a host tells the keeper that it starts, and what ranks tell it while they run.

#include <array>
#include <atomic>
#include <cstdint>

#include "base/diagnostics.hpp"

namespace atl::keeping {

/// Of the keeper's program, from its start.
enum descriptor : int { orders_descriptor = 3, board_descriptor = 4, first_listener = 5 };

inline constexpr char const* program_name = "atoll-keeper";

/// Names the job that a keeper belongs to, in its environment; by `atoll run`.
inline constexpr char const* job_variable = "ATOLL_CLUSTER_JOB";

inline constexpr std::size_t most_addresses = 4;
inline constexpr std::size_t secret_bytes = 32;

/// Where a keeper listens: IPv4 or IPv6, in network order.
struct address {
  std::uint16_t family;  ///< 4, 6; 0: none
  std::uint16_t port;    ///< in host order
  std::uint32_t scope;   ///< of IPv6
  std::array<std::uint8_t, 16> bytes;
};

/// Of a host, in words for people.
using host_words = std::array<char, 96>;

/// What a keeper's host leaves for the keeper of the host before it.
struct card {
  std::array<address, most_addresses> addresses;
  host_words name;   ///< of the host
  host_words ranks;  ///< "ranks 4 to 7"
};

struct orders {
  std::uint32_t version;
  std::uint32_t host;
  std::uint32_t hosts;
  std::uint32_t local_ranks;
  std::uint32_t listeners;
  std::uint32_t patience_ms;  ///< in which survivors have to be gone
  std::uint32_t
      picture_ms;  ///< after which keepers say what ranks do, as somebody is about to end the job; 0: never
  std::uint32_t launchers_turn_ms;  ///< after a rank has fallen: most launchers end the job then
  std::array<std::uint8_t, secret_bytes> secret;
  card mine;
  card previous;  ///< of the previous host, in the ring of all
  card next;
};
inline constexpr std::uint32_t orders_version = 5;

/// How a rank stands, for its keeper; written by the rank alone.
enum class standing : std::uint32_t {
  absent,
  runs,
  may_end,   ///< from finalize() to the next init(), and in an orderly exit
  ends_job,  ///< has said why, and asks the launcher to end all
};

/// Of a host's keeper with the others, for its ranks.
enum class meeting : std::uint32_t {
  awaited,
  held,    ///< it hears of other hosts
  failed,  ///< it never will, in all likelihood
  nobody,  ///< there is no keeper
};

/// How long keepers may take to meet, however patient they are with hosts that they have met.
constexpr std::int64_t meeting_ms(std::int64_t patience_ms) noexcept {
  return patience_ms < 10'000 ? patience_ms : 10'000;
}

/// A place for each rank of the host, in shared memory.
struct alignas(64) place {
  std::atomic<standing> how;
  std::atomic<std::int32_t> pid;
  std::atomic<std::int32_t> rank;      ///< in the job
  std::atomic<std::int32_t> lifeline;  ///< reading end of a pipe that ends with that process; negative: none
  std::atomic<std::uint64_t> pid_namespace;  ///< what pid means anything in
  std::atomic<std::uint32_t> explained;      ///< by the keeper: a rank of another host says why the job ends
  std::atomic<meeting> met;                  ///< by the keeper
  std::atomic<std::uint32_t>
      crash_told;  ///< of the host's first place: 1 while a rank tells of its crash, 2 when it has
  rank_diagnostics record;
};
static_assert(std::atomic<standing>::is_always_lock_free && sizeof(place) == 64 + sizeof(rank_diagnostics));

/// Longest time, when keepers have met, in which a rank that ends the job hears, by `explained`, that others have said so: keepers look at their boards that often, and
/// tell all hosts. Those of the first host need not ask: where all make the same mistake they are the ones that tell.
inline constexpr std::int32_t explanation_travels_ms = 1000;

/// Longest time for the launcher to end a rank after one of another host that its keeper does not hear of: a launcher learns of the end
/// itself, and has to be run on several hosts, which may be busy.
inline constexpr std::int32_t launcher_travels_ms = 3000;

}  // namespace atl::keeping
