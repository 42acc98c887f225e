#pragma once

/// The operations table of a transport between hosts: messages in two lanes, put, get and atomics of
/// registered memory, connections at first use, and a wait that can be armed. One object a process.
///
/// *Who is who.* Peers are world ranks. Nothing is kept for a peer before its first use. A transport may be
/// asked to reach ranks of the own host, and the own rank where abilities().loopback.
///
/// *Calls.* The engine serialises them under its lock; they come from any thread. No call waits, throws, or
/// calls back, but for poll(), which alone calls the receiver and the events of operations. From there all
/// but poll() and arm() may be called.
///
/// *Room.* What cannot be started now says no_room, and nothing has happened. The caller keeps it and tries
/// again after a poll. What was started never needs the caller again, other than by polling.
///
/// *Failure.* A start that cannot succeed says so; what fails later says so in its event. After a loss the
/// receiver hears `lost`, then each operation to that peer gets its events (peer_lost), then comes `closed`.
///
/// *Memory.* Sources stay the caller's, unchanged, until `source`; destinations of gets, fetches and results
/// until `finished`, also after a loss. Headers and operands of atomics are copied before the call returns.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "transport/network_types.hpp"

namespace atl::transport {

class network {
 public:
  network() = default;
  network(network const&) = delete;
  network& operator=(network const&) = delete;
  /// Connections that are open break (`lost` at the peers): close them before. Calls nobody back.
  virtual ~network() = default;

  // --- What it is -----------------------------------------------------------------------------------------

  virtual std::string_view name() const = 0;
  /// For the start-up report: device, protocol, whatever tells two configurations apart.
  virtual std::string description() const = 0;
  virtual transport::abilities const& abilities() const = 0;
  virtual transport::limits const& limits() const = 0;
  /// Known before the connection stands only as far as all connections agree (never too large).
  virtual message_sizes sizes(std::int32_t peer, lane where) const = 0;
  virtual ability atomic_support(atomic_op op, atomic_type type) const = 0;
  /// Words about the last failure of any call or event, for messages to people.
  virtual std::string last_error() const = 0;

  // --- Connections ----------------------------------------------------------------------------------------

  /// How peers reach this process: limits().address_bytes at most. Valid for the life of the object.
  virtual std::span<std::byte const> address() const = 0;

  /// Begins to connect: `connected` or `refused` follows. Both sides may connect at the same time, which makes
  /// one connection. under_way; complete if it stands; no_room until an earlier one is closed; unsupported for
  /// an address that is none. The peer hears `connected` without doing anything but polling; or `wanted`, where it cannot make
  /// its end, and then begins itself, so that this side does not wait for ever.
  virtual started connect(std::int32_t peer, std::span<std::byte const> peer_address) = 0;

  /// Starts to that peer say no_room from here on. What was started comes to its end, here and at the peer
  /// (which hears `closing`); then both hear `closed`, and starts are unreachable until the next connect().
  /// Keys of the peer are invalid from then on, here and there, and must be dropped. Kept messages stay usable.
  /// What ends is the agreement: the wire below may stay, and serve the next connection. While connecting: it is closed as
  /// soon as it stands (both sides hear `connected`, then `closed`), or `refused` follows. `closed` waits for
  /// buffers that are open, and commit() still sends them.
  virtual void close(std::int32_t peer) = 0;

  /// The peer is gone, as somebody knows who watches it. `refused` follows if this side was connecting, else `lost` and
  /// then `closed`, if there was anything. Waits for nothing of the peer's (but see abilities::ends_what_is_lost); one that
  /// lives hears `lost` sooner or later.
  virtual void give_up(std::int32_t peer) = 0;

  // --- Messages -------------------------------------------------------------------------------------------

  /// Sends a header (copied at once) and a payload of host memory (the caller's until `source`; without that event,
  /// payloads above limits().inline_bytes are unsupported). Payloads longer than sizes().eager go late, shorter ones
  /// may: the receiver is told, and fetches; `source` comes when it has, or has given the payload up.
  /// The other event that a message may have, `left`, waits for nothing but the peer's polls until the message arrives there: who
  /// waits for it waits in vain neither for a peer that has it and polls no more, nor for anything that was started before.
  virtual started send(std::int32_t peer, lane where, std::span<std::byte const> header, local_place payload,
                       std::size_t bytes, operation* events) = 0;

  /// Takes a buffer of the transport's for a payload of at least `least` bytes, `most` where that costs
  /// nothing; `header_bytes` as commit() will bring. complete, no_room, unreachable, unsupported. Buffers are
  /// few and are in the way of others while they are open.
  virtual started begin(std::int32_t peer, lane where, std::size_t header_bytes, std::size_t least,
                        std::size_t most, network_buffer& buffer) = 0;
  /// Sends `bytes` of it. Always accepted; if the connection broke in between, the message is lost with it.
  virtual void commit(network_buffer& buffer, std::span<std::byte const> header, std::size_t bytes) = 0;
  /// Gives it back unsent.
  virtual void cancel(network_buffer& buffer) = 0;

  /// Fetches a late payload into `into` (room for all of it; memory of any kind that the transport takes).
  /// Event: finished. Allowed while the connection is being closed, too. Where this is under_way or complete, the
  /// handle is gone; else it stands (after unreachable: release it).
  virtual started fetch(arrival_handle what, local_place into, operation* events) = 0;
  /// Gives back a kept message, also after its peer is gone; or gives up a late payload.
  virtual void release(arrival_handle what) = 0;

  // --- Remote memory --------------------------------------------------------------------------------------

  /// Copies `bytes` into the peer's memory. Events: source, finished.
  virtual started put(std::int32_t peer, remote_place to, local_place from, std::size_t bytes,
                      operation* events) = 0;
  /// Copies `bytes` from the peer's memory. Event: finished.
  virtual started get(std::int32_t peer, local_place to, remote_place from, std::size_t bytes,
                      operation* events) = 0;
  /// The same for lists of at most limits().pieces pieces a side; the lists are copied before the call returns.
  virtual started put_pieces(std::int32_t peer, std::span<remote_piece const> to,
                             std::span<local_piece const> from, operation* events) = 0;
  virtual started get_pieces(std::int32_t peer, std::span<local_piece const> to,
                             std::span<remote_piece const> from, operation* events) = 0;
  /// As put(); the peer's receiver hears `tag` once the data are in memory, visible to whoever it tells.
  virtual started put_notified(std::int32_t peer, remote_place to, local_place from, std::size_t bytes,
                               std::uint64_t tag, operation* events) = 0;
  /// Puts, notified ones, and atomics without result to that peer that were started before are done in its
  /// memory when this is finished. The outcome is the worst of those started without events.
  virtual started flush(std::int32_t peer, operation* events) = 0;
  /// The same for all peers.
  virtual started flush_all(operation* events) = 0;

  /// One atomic operation on an aligned word. `operands`: 0, 1 or 2 values of the type, as atomic_op says,
  /// copied at once. `result`: host memory for the value before, or null. Event: finished.
  virtual started atomic(std::int32_t peer, remote_place target, atomic_op op, atomic_type type,
                         void const* operands, local_place result, operation* events) = 0;

  // --- Registered memory ----------------------------------------------------------------------------------

  /// Makes memory known: as a local end, and for keys. It must stay where it is until forget(); its pages need
  /// not be backed where the network allows that. `device`: number of the device in this process; of host memory -1. Failure
  /// is a value with words: too much is pinned, or the transport does not take this kind.
  virtual registered register_memory(void* begin, std::size_t bytes, memory::kind_id kind,
                                     std::int32_t device) = 0;
  /// Nothing that uses it may be under way. What peers do with its keys from here on: abilities().stale_keys; unless
  /// they miss, have the keys dropped before.
  virtual void forget(registration* memory) = 0;
  /// Writes the key of all of it into `room` (limits().key_bytes) and returns its length; 0: there is none, see
  /// last_error(). Good for any peer.
  virtual std::size_t export_key(registration const* memory, std::span<std::byte> room) const = 0;
  /// Makes a key of this peer's usable. complete; no_room or unreachable as for other starts; unsupported if
  /// the bytes are no key.
  virtual imported import_key(std::int32_t peer, std::span<std::byte const> key) = 0;
  /// Nothing that uses it may be under way. Also for keys that a close has made invalid.
  virtual void drop_key(std::int32_t peer, remote_key* key) = 0;

  // --- Progress -------------------------------------------------------------------------------------------

  /// Moves everything on, calls the receiver and events; a bounded amount of work. Returns how many calls it
  /// made, plus one if anything else moved: zero if it was fruitless.
  virtual unsigned poll(receiver& target) = 0;
  /// Operations and connections of this side that need polls to come to an end.
  virtual std::size_t under_way() const = 0;

  /// Becomes readable when poll() may have something to do, after arm(); -1: there is none, so sleep briefly
  /// at most. Belongs to the transport; valid for the life of the object.
  virtual int descriptor() const = 0;
  /// Arms the descriptor for one wake-up. False: poll again, do not sleep. Where something has arrived since the last
  /// poll it may be true as well, if the descriptor is readable then. Spurious wake-ups are allowed, lost ones are not.
  virtual bool arm() = 0;
};

}  // namespace atl::transport
