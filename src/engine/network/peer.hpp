#pragma once

/// What a rank knows of one with which it has to do over the network.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <atoll/transport/message.hpp>

#include "engine/network/acknowledgement_habit.hpp"
#include "transport/fifo.hpp"
#include "transport/network_types.hpp"

namespace atl::engine {

enum class link_state : std::uint8_t {
  none,        ///< nobody has asked for a connection yet
  connecting,  ///< what is sent waits
  open,
  closing,  ///< no more is sent until it is closed
};

/// Messages that wait for room, for credit or for the connection, in order.
struct waiting_messages : transport::fifo<transport::message> {
  std::size_t private_bytes = 0;  ///< of all that is for this peer, until the network has read it
};

/// A message that leaves in pieces.
struct outgoing_pieces {
  transport::message* whole = nullptr;
  std::uint64_t number = 0;
  std::size_t sent = 0;  ///< bytes
};

/// Small messages that leave together, in a buffer of the network's.
struct message_bundle {
  transport::network_buffer buffer;
  bool begun = false;
  bool in_burst = false;       ///< a message of this lane has left since the last advance()
  bool waits = false;          ///< only acknowledgements are in it, which leave with what comes next
  std::size_t used = 0;        ///< bytes of the buffer
  std::size_t last = 0;        ///< where in it the last message begins
  std::uint32_t messages = 0;  ///< that are written
  std::uint32_t open = 0;      ///< that are being written
};

/// What this rank has acknowledged to a peer lately.
enum class last_acknowledged : std::uint8_t {
  nothing,
  in_this_call,  ///< of progress
  before,  ///< in one that is over; nothing has been sent to that peer since, nor has there been another
};

/// A rank of another host.
struct network_peer {
  std::int32_t rank = -1;
  link_state link = link_state::none;
  bool listed = false;  ///< among those that flush() visits
  bool wanted = false;  ///< by the peer, which waits for this side's attempt; counts as a message that waits
  std::uint32_t refusals = 0;                        ///< in a row
  std::uint64_t first_refusal_ns = 0;                ///< of these
  std::uint64_t try_again_ns = 0;                    ///< not before then
  std::uint64_t connecting_since_ns = 0;             ///< 0: this side has not begun
  std::uint64_t last_use = 0;                        ///< of the connection, by the count of all uses
  transport::message_sizes sizes[transport::lanes];  ///< of the connection
  waiting_messages waiting[transport::lanes];
  std::vector<outgoing_pieces> pieces;     ///< of messages that the peer has asked for
  std::uint32_t late[transport::lanes]{};  ///< late payloads of ours that the peer has not fetched
  std::uint32_t unfetched = 0;             ///< and of the peer's, for which there has been no memory
  message_bundle bundles[transport::lanes];
  bool bundling = false;  ///< among those that advance() visits for their bundles
  last_acknowledged lately = last_acknowledged::nothing;  ///< if it is anything, `bundling` is true
  acknowledgement_habit habit;
  // Bundles by host (network_by_host.cpp).
  network_peer* counterpart =
      nullptr;  ///< on the host of this one; null: nothing to this one goes by way of another
  std::uint32_t counterpart_of = 0;  ///< so many others
  message_bundle by_host;            ///< as the counterpart: messages to ranks of its host
  std::size_t passing = 0;           ///< bytes of ours that it has not passed on, as far as this rank knows
  std::size_t passed = 0;            ///< of its own that this rank has passed on, and not said so
  // Credit for requests, in bytes.
  std::size_t in_use = 0;  ///< of ours at the peer, that it has not given back
  std::size_t owed = 0;    ///< of the peer's here, to be given back
};

}  // namespace atl::engine
