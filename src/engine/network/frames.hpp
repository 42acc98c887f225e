#pragma once

/// What travels between hosts in front of messages. All hosts have one byte order, as all ranks run one program.

#include <cstddef>
#include <cstdint>

#include "engine/network/network_messages.hpp"

namespace atl::engine {

enum class network_messages::form : std::uint8_t {
  whole,      ///< frame, and the rest of the message
  announced,  ///< announcement: the message goes when it is asked for
  wanted,     ///< announcement: asks for the one with this number
  piece,      ///< piece, and some bytes of the message
  credit,     ///< announcement: nothing but the credit
};

/// The first bytes of a message, those that belong to the transport.
struct network_messages::frame {
  std::uint64_t token;
  transport::message_kind kind;
  std::uint8_t alignment_log2;
  form what;
  std::uint8_t unused;
  std::uint32_t credit;  ///< given back to the receiver of this
};

struct network_messages::announcement {
  std::uint64_t token;
  transport::message_kind kind;
  std::uint8_t alignment_log2;
  form what;
  std::uint8_t unused;
  std::uint32_t credit;
  std::uint64_t bytes;
  std::uint64_t number;
};

struct network_messages::piece {
  std::uint64_t number;
  std::uint64_t offset;
  form what;
};

/// What a request of so many bytes takes of the credit at its target.
constexpr std::size_t cost_of(std::size_t bytes) noexcept {
  constexpr std::size_t most = 8192;  // of a larger one only the announcement is there before it is wanted
  return bytes < most ? bytes : most;
}

}  // namespace atl::engine
