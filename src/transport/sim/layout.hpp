#pragma once

/// Shared memory of the simulated network: for each rank a page of counters, three queues, and packets for data
/// that are too large for a queue. Zero-filled memory is a valid beginning.
///
/// Queues and packets belong to the rank that they lead to, as a network card's buffers do. So a rank that does
/// not look, or keeps what has arrived, is in the way of those who send to it, and of nobody else.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <atoll/base/round_up.hpp>

#include "base/doorbell.hpp"
#include "transport/shm/ring.hpp"
#include "transport/sim/options.hpp"

namespace atl::transport::sim {

/// The first two are the lanes of messages; the third carries remote memory operations, their answers and
/// connections, and is always emptied.
enum queue : std::uint8_t { request_queue, control_queue, remote_queue };
inline constexpr unsigned queues = 3;

/// Headers lie before the data of a packet, which begin at a line.
inline constexpr std::size_t longest_header = 128;
/// Bytes of a packet in a queue's cells, behind the two words of the first.
inline constexpr std::size_t cells_room = shm::max_cells * shm::cell_bytes - 16;

enum life : std::uint32_t { not_yet, lives, gone };

/// Which packets of a queue are taken: bit set (by a sender, acquire) until its reader clears it (release).
struct alignas(64) packet_map {
  std::atomic<std::uint64_t> taken;
};

struct rank_page {
  doorbell bell;                                 ///< rung after something was sent to the rank
  alignas(64) std::atomic<std::uint32_t> state;  ///< life
  packet_map packets[queues];
  alignas(64) std::atomic<std::uint64_t> turn;  ///< in the first rank's page: see lockstep.hpp
  shm::ring_counters rings[queues];
};

class layout {
  static constexpr std::size_t unit = 4096;

 public:
  explicit layout(options const& how)
      : cells_(how.ring),
        packet_room_(longest_header + round_up(how.packet, shm::cell_bytes)),
        cells_at_(round_up(sizeof(rank_page), unit)),
        packets_at_(round_up(cells_at_ + queues * cells_ * shm::cell_bytes, unit)),
        queue_packets_(how.packets),
        stride_(round_up(packets_at_ + queues * queue_packets_ * packet_room_, unit)) {}

  std::size_t stride() const { return stride_; }
  std::uint64_t cells() const { return cells_; }
  rank_page* page_of(std::byte* base, std::int32_t rank) const {
    return reinterpret_cast<rank_page*>(at(base, rank));
  }
  shm::cell* ring(std::byte* base, std::int32_t rank, unsigned which) const {
    return reinterpret_cast<shm::cell*>(at(base, rank) + cells_at_ + which * cells_ * shm::cell_bytes);
  }
  std::byte* packet(std::byte* base, std::int32_t rank, unsigned which, unsigned index) const {
    return at(base, rank) + packets_at_ + (which * queue_packets_ + index) * packet_room_;
  }

 private:
  std::byte* at(std::byte* base, std::int32_t rank) const {
    return base + static_cast<std::size_t>(rank) * stride_;
  }

  std::uint64_t cells_;
  std::size_t packet_room_, cells_at_, packets_at_, queue_packets_, stride_;
};

/// Bytes of shared memory for that many ranks.
inline std::size_t region_bytes(std::int32_t ranks, options const& how) {
  return layout(how).stride() * static_cast<std::size_t>(ranks);
}

}  // namespace atl::transport::sim
