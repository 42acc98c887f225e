#pragma once

/// The values that go in and out of a transport between hosts (network.hpp): how a start ends, what an
/// operation reports later, where memory lies, what arrives.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <atoll/transport/message.hpp>

namespace atl::memory {
enum class kind_id : std::uint8_t;
}  // namespace atl::memory

namespace atl::transport {

// Messages travel in the two lanes of <atoll/transport/message.hpp>. The transport keeps them apart: a lane that is
// full, or whose messages the receiver keeps, never holds up the other one.

/// How the start of an operation ended. A start never waits and never throws.
enum class [[nodiscard]] started : std::uint8_t{
    under_way,    ///< the events asked for will come from poll()
    source_free,  ///< as under_way, but the source is free already: no source event comes, the others will
    complete,     ///< all that was asked for has happened: no event comes
    no_room,  ///< nothing happened: try again after poll(). Also while a connection is being made or closed
    unreachable,  ///< nothing happened: the peer is not connected, and nobody is connecting; or it is gone
    unsupported,  ///< nothing happened, and never will: too long, too many pieces, no such ability, a bad key
};

/// Events will come, if any were asked for.
constexpr bool is_under_way(started s) noexcept { return s <= started::source_free; }
/// It happens, or has happened; else nothing has.
constexpr bool has_begun(started s) noexcept { return s <= started::complete; }

/// What an event of an operation says has happened.
enum class completion : std::uint8_t {
  source = 1,    ///< the caller's memory that the operation reads may be changed or freed
  finished = 2,  ///< put, atomic without result: done in the target's memory. Get, fetch, atomic with result:
                 ///< what was asked for is in local memory. Flush: all before it is done
  left = 4,      ///< message: its peer gets it by polling, whether or not this side polls again
};

/// How it went.
enum class outcome : std::uint8_t {
  ok,
  refused,  ///< the network cannot reach the caller's memory: not done, or not whole, and nothing was told of it at the target
  peer_lost,  ///< the connection broke or was closed: it may or may not have happened at the target
  bad_key,    ///< the target does not know the key (any more), or the range is not inside its memory
  failed,     ///< anything else; last_error() has words
};

/// One operation under way. The caller owns it, derives from it what belongs to it, and leaves it at its
/// address until its last event has come. Where no events are asked for, operations are started with null;
/// then flush() covers them.
///
/// Each event asked for comes exactly once, from poll(), `source` never after `finished`. If something fails
/// before the source event, both come with the same outcome. The callback may start operations (also with
/// this object, if it was the last event), and may free it.
struct operation {
  using callback = void (*)(operation& self, completion what, outcome how);

  callback on_event = nullptr;
  std::uint8_t asked = 0;              ///< sum of completion values
  std::uint64_t transport_words[8]{};  ///< the transport's, while under way

  operation() = default;
  operation(callback on, std::uint8_t which) : on_event(on), asked(which) {}
  bool asks(completion what) const { return (asked & static_cast<std::uint8_t>(what)) != 0; }
};

inline constexpr std::uint8_t ask_source = 1;
inline constexpr std::uint8_t ask_finished = 2;
inline constexpr std::uint8_t ask_both = 3;
inline constexpr std::uint8_t ask_left = 4;  ///< alone, of messages up to limits::inline_bytes

/// Memory of this process that the transport knows. The transport's own class.
struct registration;
/// A peer's key, ready for use. The transport's own class.
struct remote_key;

/// Local end of a transfer. `memory` may be null of host memory, which the transport then registers or copies by itself, at a
/// cost; of puts and gets only where abilities::needs_local_registration is false. What it names covers all of the local end.
struct local_place {
  void* address = nullptr;
  registration* memory = nullptr;
};

/// Remote end: bytes from the start of the memory that was registered.
struct remote_place {
  remote_key* key = nullptr;
  std::uint64_t offset = 0;
};

/// Pieces of vector forms. Both lists have the same sum of bytes; their cuts need not agree.
struct local_piece {
  local_place place;
  std::size_t bytes = 0;
};
struct remote_piece {
  remote_place place;
  std::size_t bytes = 0;
};

enum class atomic_op : std::uint8_t {
  load,              ///< no operand; needs a result
  store,             ///< operand 1
  exchange,          ///< operand 1; needs a result
  compare_exchange,  ///< operand 1 expected, operand 2 desired; compares bits; the old value is the result
  add,               ///< this and the following: operand 1; with a result, the value before
  multiply,
  minimum,
  maximum,
  bit_and,
  bit_or,
  bit_xor,
};
enum class atomic_type : std::uint8_t { int32, uint32, int64, uint64, float32, float64 };

constexpr std::size_t bytes_of(atomic_type type) {
  return type == atomic_type::int32 || type == atomic_type::uint32 || type == atomic_type::float32 ? 4 : 8;
}

/// How an operation is done.
enum class support : std::uint8_t {
  none,      ///< starts end with `unsupported`
  emulated,  ///< by other operations, or by the target's processor
  native,
};
struct ability {
  support how = support::none;
  bool needs_target = false;  ///< moves on only while the target polls

  explicit operator bool() const { return how != support::none; }
};

/// What comes of an operation whose key its owner has forgotten.
enum class stale_key : std::uint8_t {
  misses,      ///< bad_key
  breaks,      ///< the connection is lost
  undetected,  ///< it reads or writes whatever is there now
};

/// Does a transport notice that a peer has gone? At least so much.
enum class loss_notice : std::uint8_t {
  none,        ///< no: whoever knows it says give_up()
  by_traffic,  ///< while something is under way to it
  of_ends,     ///< when its process ends; not if the wire between them falls silent
  always,
};

/// What a transport can do, the same for all peers and for the life of the object.
struct abilities {
  ability put, get;
  ability put_pieces, get_pieces;
  ability put_notified;
  ability late_payload;  ///< messages longer than message_sizes::eager

  /// A message that starts after a put to the same peer is delivered after that put has landed. Where this is
  /// false, wait for `finished`, or flush, first.
  bool put_before_message = false;
  /// Messages of one lane to one peer arrive in the order of their starts.
  bool ordered_messages = false;
  /// Atomics of the network are atomic with each other, whichever ranks start them; this says that they are so with those of
  /// the processors of the target's host, too.
  bool atomics_with_processor = false;
  /// The own rank may be a peer, too. What is aimed at it or at another rank of the own host goes the way that it goes from
  /// other hosts: an adapter's atomics are done by the adapter.
  bool loopback = false;
  /// Leads to processes of this running system and network namespace alone, by the loop-back device.
  bool inside_only = false;
  bool needs_local_registration =
      false;  ///< local ends of puts and gets without a registration are unsupported
  stale_key stale_keys = stale_key::misses;
  loss_notice losses = loss_notice::always;
  /// What is under way to a peer that is lost or given up ends by itself. Else what uses the caller's memory may need that
  /// peer's polls, or never end; then `closed` does not come either, before the object is destroyed.
  bool ends_what_is_lost = true;
  std::uint32_t memory_kinds = 0;  ///< bit (1 << kind_id): memory that register_memory() may accept
  /// Device memory goes through host memory all the same, piece by piece in calls of poll(): who can do that with the device's
  /// own streams is quicker.
  bool stages_devices = false;

  bool takes(memory::kind_id kind) const { return (memory_kinds >> static_cast<unsigned>(kind) & 1U) != 0; }
};

/// Numbers of the whole transport. Those that depend on the peer are in message_sizes.
struct limits {
  std::size_t put_bytes = 0;  ///< largest put or get in one call; vector forms: the sum
  std::size_t get_bytes = 0;
  std::size_t pieces = 1;             ///< most pieces on either side of a vector form
  std::size_t inline_bytes = 0;       ///< puts and messages up to this long leave their source free at return
  std::size_t address_bytes = 0;      ///< longest address()
  std::size_t key_bytes = 0;          ///< longest exported key
  std::size_t payload_alignment = 8;  ///< at least, of payloads handed to the receiver
  unsigned notification_bits = 0;     ///< of the tag of a notified put that arrive
  std::size_t connections = 0;        ///< at once, that are no burden; 0: any number
  std::uint64_t longest_pause_ns = 0;  ///< without polls, before peers take this one for lost; 0: any
  std::uint64_t idle_poll_ns = 0;      ///< what a fruitless poll costs, about; below 50: 0
  std::uint64_t message_ns = 0;        ///< what sending a message costs this rank however short it is, about
};

/// Sizes for one peer and lane, in bytes. They may shrink or grow with each connection, not in between.
struct message_sizes {
  std::size_t header = 0;    ///< longest header: at least 64
  std::size_t eager = 0;     ///< longest payload of send() that arrives with its message
  std::size_t in_place = 0;  ///< longest payload of begin(); 0: use send()
  std::size_t late = 0;      ///< longest payload of send() at all; eager, if there are no late payloads
};

/// So many late payloads to one peer, which it does not fetch, take no room of others in their lane.
inline constexpr std::uint32_t least_late = 16;

/// Names an arrived message that was kept, or a late payload, until release() or fetch().
struct arrival_handle {
  void* record = nullptr;
  std::uint64_t number = 0;
};

/// An arrived message, as the receiver sees it.
struct arrival {
  std::int32_t peer = -1;
  transport::lane lane = lane::request;
  bool late = false;                  ///< the payload is still with the sender: see receiver::arrived
  bool may_keep = false;              ///< the transport's buffer may be kept
  std::span<std::byte const> header;  ///< valid during the call
  std::byte* payload = nullptr;       ///< may be changed; null if late
  std::size_t bytes = 0;              ///< of payload
  arrival_handle handle;
};

enum class [[nodiscard]] taken : std::uint8_t{
    consumed,  ///< nothing of the message is used any more. A late payload is given up: its sender is told
    kept,      ///< the payload is used until release(handle); a late one until its fetch() finishes
};

enum class connection_change : std::uint8_t {
  connected,  ///< both ways; also where the peer began
  refused,    ///< connect() did not succeed: may be tried again
  wanted,  ///< the peer has begun, and waits, but this side could not make its end: connect() tries that again
  closing,  ///< the peer wants to close: starts say no_room from here on; `closed` follows
  lost,  ///< the connection broke, or was given up: starts are unreachable from here on. Events of operations follow
         ///< as the network lets go of their memory, and then `closed`
  closed,  ///< after close(), the peer's close(), or a loss: all events of operations have come before this
};

struct connection_event {
  std::int32_t peer = -1;
  connection_change what = connection_change::connected;
  std::string_view words;  ///< for refused, wanted and lost: what the network said; valid during the call
};

/// What a transport calls, from poll() only. Its functions may call all of network but poll() and arm().
class receiver {
 public:
  /// A message. If `arrival.late`, the payload is fetched by network::fetch(handle, …), from here or later
  /// (then return `kept`), or given up (`consumed`, or release() later).
  virtual taken arrived(arrival const& what) = 0;
  /// The data of a notified put are in memory.
  virtual void notified(std::int32_t peer, std::uint64_t tag) = 0;
  virtual void connection(connection_event const& event) = 0;

 protected:
  ~receiver() = default;
};

/// Results of calls that hand something out.
struct registered {
  registration* memory = nullptr;  ///< null: not registered
  std::string why_not;
};
struct imported {
  started status = started::unsupported;  ///< complete: `key` is usable
  remote_key* key = nullptr;
};

/// A buffer between begin() and commit() or cancel().
struct network_buffer {
  std::byte* payload = nullptr;  ///< aligned to limits::payload_alignment
  std::size_t capacity = 0;
  std::int32_t peer = -1;
  transport::lane lane = lane::request;
  std::uint64_t transport_words[4]{};
};

}  // namespace atl::transport
