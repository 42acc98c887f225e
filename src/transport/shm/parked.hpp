#pragma once

/// Messages that were committed and found no room, in the order in which they leave.

#include <cstddef>
#include <cstdint>

#include <atoll/transport/message.hpp>

#include "transport/fifo.hpp"

namespace atl::shm {

/// A committed message that lies in private memory, or a descriptor of one that lies elsewhere.
struct parked_message {
  parked_message* next = nullptr;
  transport::message_kind kind{};  ///< of the descriptor, where there is no buffer
  transport::lane way{};
  std::uint8_t alignment_log2 = 6;
  std::uint8_t descriptor_bytes = 0;
  bool by_fragments = false;
  std::uint32_t target = 0;  ///< local rank
  std::uint64_t token = 0;
  std::byte* buffer = nullptr;  ///< private; null for a bare descriptor
  std::size_t bytes = 0;        ///< header included
  std::uint64_t sent = 0;       ///< bytes sent by fragments
  std::uint64_t id = 0;
  std::uint32_t* kept_back = nullptr;  ///< one less when it has left; null: nobody counts
  std::byte descriptor[40];            ///< buffer == null: the ring payload
};

/// What is parked for one rank on one lane.
struct parked_queue : transport::fifo<parked_message> {
  std::size_t private_bytes = 0;  ///< of all that is for this rank, until it has been read
};

}  // namespace atl::shm
