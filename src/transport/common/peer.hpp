#pragma once

/// What the network of a module knows of a peer, whatever library is below (each adds to it), and how messages to it are laid out.

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/common/unseen_messages.hpp"
#include "transport/network_types.hpp"

namespace atl::transport {

inline std::size_t lane_of(lane where) { return static_cast<std::size_t>(where); }

/// What each network has in front of the header of a message.
inline constexpr std::size_t wire_bytes = 16;
/// Where payloads begin in what is sent: at a multiple of 8.
constexpr std::size_t payload_at(std::size_t header_size) { return wire_bytes + (header_size + 7) / 8 * 8; }

struct peer_state {
  enum class link : std::uint8_t { none, connecting, connected, closing };

  std::int32_t rank = -1;
  link now = link::none;
  bool listed = false;        ///< among those that the next poll looks at
  bool asked = false;         ///< this side has said connect()
  bool close_wanted = false;  ///< once it stands
  bool said_bye = false;
  bool got_bye = false;
  bool lost = false;
  bool lost_told = false;
  bool wishes = false;           ///< the peer wants to connect, and nobody has answered
  outcome silent = outcome::ok;  ///< worst of what was started without events

  std::uint32_t wish_number = 0;
  std::uint32_t generation = 0;  ///< of connections; keys and kept messages belong to one
  unseen_messages sent;          ///< of this connection

  std::size_t room[2]{};       ///< messages of each lane that may be started
  std::size_t out = 0;         ///< records, and buffers that are open
  std::size_t events = 0;      ///< that have not been told
  std::size_t memory_out = 0;  ///< puts, gets, atomics
  std::string why;             ///< it was lost
};

struct many_flushes {
  operation* events;
  std::size_t left;
  outcome worst = outcome::ok;
};

}  // namespace atl::transport
