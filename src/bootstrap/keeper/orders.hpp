#pragma once

/// What the first rank of a host tells the keeper that it starts, and what ranks tell it while they run.

#include <array>
#include <atomic>
#include <cstdint>

namespace atl::keeping {

/// Of the keeper's program, from its start.
enum descriptor : int { orders_descriptor = 3, board_descriptor = 4, first_listener = 5 };

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
  host_words ranks;  ///< "4 to 7"
};

struct orders {
  std::uint32_t version;
  std::uint32_t host;
  std::uint32_t hosts;
  std::uint32_t local_ranks;
  std::uint32_t listeners;
  std::uint32_t patience_ms;  ///< in which survivors have to be gone
  std::array<std::uint8_t, secret_bytes> secret;
  card mine;
  card previous;  ///< of the previous host, in the ring of all
  card next;
};
inline constexpr std::uint32_t orders_version = 1;

/// How a rank stands, for its keeper; written by the rank alone.
enum class standing : std::uint32_t {
  absent,
  runs,
  may_end,   ///< from finalize() to the next init(), and in an orderly exit
  ends_job,  ///< has said why, and asks the launcher to end all
};

/// A place for each rank of the host, in shared memory.
struct alignas(64) place {
  std::atomic<standing> how;
  std::atomic<std::int32_t> pid;
  std::atomic<std::int32_t> rank;            ///< in the job
  std::atomic<std::uint64_t> pid_namespace;  ///< what pid means anything in
};
static_assert(std::atomic<standing>::is_always_lock_free && sizeof(place) == 64);

}  // namespace atl::keeping
