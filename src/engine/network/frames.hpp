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
  bundle,     ///< frame, and as many messages as its token says, each behind an entry
  by_host,  ///< the same for all ranks of the receiver's host; the token's upper half: bytes that were passed on
  passed,  ///< announcement: its number is bytes that were passed on
};

/// The header of a message that travels whole, in place of the first bytes of its buffer, which stay behind. Two words:
/// what is stored in smaller parts could not be loaded as a whole before these have left for the cache, which they do in
/// order, behind stores into memory of others.
struct network_messages::frame {
  std::uint64_t token;
  std::uint64_t rest;

  frame() = default;
  /// `credit`: given back to the receiver of this.
  frame(std::uint64_t function, transport::message_kind kind, std::uint8_t alignment_log2, form what,
        std::uint32_t credit) noexcept
      : token(function),
        rest(std::uint64_t{static_cast<std::uint8_t>(kind)} | std::uint64_t{alignment_log2} << 8 |
             std::uint64_t{static_cast<std::uint8_t>(what)} << 16 | std::uint64_t{credit} << 32) {}

  transport::message_kind kind() const noexcept { return static_cast<transport::message_kind>(rest & 0xff); }
  std::uint8_t alignment_log2() const noexcept { return static_cast<std::uint8_t>(rest >> 8); }
  form what() const noexcept { return static_cast<form>(rest >> 16 & 0xff); }
  std::uint32_t credit() const noexcept { return static_cast<std::uint32_t>(rest >> 32); }
};

/// In front of each message of a bundle.
struct network_messages::entry {
  frame head;
  std::uint16_t bytes;  ///< of the message behind its header; `given_up`
  std::uint16_t room;   ///< to the next entry
  std::int32_t target;  ///< world rank

  static constexpr std::uint16_t given_up = 0xffff;
};

struct network_messages::announcement {
  frame head;
  std::uint64_t bytes;
  std::uint64_t number;
};

struct network_messages::piece {
  std::uint64_t number;
  std::uint64_t offset;
  form what;
};

/// The count that a message which waits to be sent is part of until it has left; null: nobody counts.
std::uint32_t* kept_back_of(transport::message const& m);

/// What a request of so many bytes takes of the credit at its target.
constexpr std::size_t cost_of(std::size_t bytes) noexcept {
  constexpr std::size_t most = 8192;  // of a larger one only the announcement is there before it is wanted
  return bytes < most ? bytes : most;
}

/// `header` says what credit is owed, which goes with it.
inline transport::started network_messages::send_with_credit(network_peer& p, transport::lane way,
                                                             std::span<std::byte const> header,
                                                             transport::local_place payload,
                                                             std::size_t bytes,
                                                             transport::operation* events) {
  transport::started const s = network_->send(p.rank, way, header, payload, bytes, events);
  if (transport::has_begun(s)) p.owed = 0;
  return s;
}

}  // namespace atl::engine
