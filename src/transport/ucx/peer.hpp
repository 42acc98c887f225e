#pragma once

/// What a network of this folder knows of a peer, and what it has under way.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "transport/common/peer.hpp"
#include "transport/network.hpp"
#include "transport/ucx/ucp.hpp"

namespace atl::transport::ucx {

class ucx_network;
struct peer;

/// What travels in front of each message. All hosts have one byte order, as all ranks run one program.
struct wire {
  enum kind : std::uint8_t {
    request,  ///< a message in that lane
    control,
    hello,  ///< wants a connection; followed by the job and the address
    ack,    ///< it stands
    bye,    ///< nothing more comes; followed by the number of messages that were sent
    note,   ///< data of a notified put are in memory; followed by its tag
    gone,   ///< the sender has given this rank up
    mark,   ///< nothing: what was sent before it has left its sender
  };

  std::int32_t from;
  std::uint32_t to_number;    ///< the receiver's, of this connection
  std::uint32_t from_number;  ///< the sender's
  std::uint8_t header;        ///< bytes of the message's own header, which follows
  std::uint8_t what;
  std::uint16_t seen;  ///< messages and notes of the receiver's that have come here, modulo 65536
};
static_assert(sizeof(wire) == wire_bytes);
/// Of a message, that `wire::header` holds and whose payload is aligned behind it.
inline constexpr std::size_t longest_header = 240;

/// Memory for what leaves: in front the wire's header, then the message's own, then a payload.
struct block {
  block* next;
  std::size_t room;

  std::byte* begin() { return reinterpret_cast<std::byte*>(this + 1); }
};

/// Something that libucp has under way, in one request or several.
struct record {
  enum class sort : std::uint8_t {
    message,  ///< `source` when it has left
    put,      ///< then, where it is wanted, a flush
    get,
    fetch,
    atomic,     ///< with a value that comes back, or followed by a flush
    flush,      ///< one that was asked for
    own_flush,  ///< one for those that wait in `behind`
    word,       ///< hello and its like
    last_word,  ///< bye: it has to arrive before the connection ends, so a flush follows
  };

  ucx_network* owner;
  peer* whom;
  operation* events;
  record* next;      ///< free, or waiting for the same flush
  record* behind;    ///< of an own flush: those that are done with it
  block* memory;     ///< what is sent, if that is ours
  many_flushes* of;  ///< of a flush of all
  void* result;
  std::uint64_t operand;
  std::uint64_t reply;
  std::uint64_t tag;
  std::uint32_t parts;  ///< requests under way, and one while they are being started
  ucs_status_t status;
  sort what;
  std::uint8_t lane;
  std::uint8_t width;  ///< of an atomic's word
  bool flush_follows;  ///< before it is finished
  bool source_told;    ///< or nobody is to be told
  bool notifies;       ///< the peer hears of it
};

/// A message that the receiver has kept, or whose payload is still with its sender.
struct kept_message {
  void* data;  ///< libucp's
  std::size_t bytes;
  peer* whom;
  std::uint32_t generation;
  bool in_callback;  ///< its receiver is being told of it
  bool fetched;
  bool released;
};

struct peer : peer_state {
  ucx_network* owner = nullptr;
  std::uint64_t not_before_ns = 0;  ///< it is tried again
  std::uint64_t pause_ns = 0;       ///< before that; 0: it was not in vain
  bool given_up = false;
  bool flushing = false;  ///< an own flush is under way

  // The endpoint stays between connections: libucp 1.13 aborts now and then where they are closed and made again.
  ucp_ep_h endpoint = nullptr;
  void* closing_endpoint = nullptr;  ///< request
  bool endpoint_closes = false;

  std::uint32_t mine = 0;    ///< number of this connection here
  std::uint32_t theirs = 0;  ///< and there
  std::uint32_t last_theirs = 0;
  std::uint64_t got = 0;           ///< messages and notes
  std::uint64_t sent_by_peer = 0;  ///< as its bye says
  std::vector<std::byte> wish_address;

  std::size_t largest_out = 0;       ///< blocks of the largest size, of those that are out
  std::uint64_t memory_started = 0;  ///< puts, gets, atomics so far
  std::uint64_t memory_flushed = 0;  ///< of these
  record* want_flush = nullptr;
  record** last_want = &want_flush;

  /// Both sides have said that there is nothing more, and nothing is missing: what happens to the wire now is no loss.
  [[nodiscard]] bool agreed() const noexcept {
    return now == link::closing && said_bye && got_bye && got >= sent_by_peer;
  }
};

}  // namespace atl::transport::ucx
