#pragma once

/// Messages between the ranks of a host through shared memory.
///
/// Every rank has two lanes of incoming messages, a ring each: requests, which wait in their ring while the rank
/// has no memory for them, and control (answers, messages of the engine), which is always taken in.
///
/// A message takes one of four ways, by size and by what has room:
///
/// - ring: up to eager_bytes. Written in place into the target's ring; the target copies it out at once, so
///   that a ring never waits for user code.
/// - arena: up to three quarters of the sender's arena. Written in place there, a descriptor goes through
///   the ring, the target uses it where it is and clears a flag.
/// - rendezvous: larger, or when the arena is full and may not be waited for. Stays in the sender's private
///   memory; the target reads it from there (process_vm_readv), where the system allows that, and clears a flag.
/// - fragments: the same where it does not. Pieces travel through parts of the arena that are theirs;
///   receivers copy them out at once, so that these parts always get free again, whatever messages still use
///   the rest.
///
/// Which memory a message may take is message_memory's. Nothing here waits. Messages that were committed but
/// found no room are parked per target and lane, and sent by flush().

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/doorbell.hpp"
#include "bootstrap/placement.hpp"
#include "memory/host/arena.hpp"
#include "transport/message_memory.hpp"
#include "transport/message_pool.hpp"
#include "transport/shm/copy_to_reader.hpp"
#include "transport/shm/layout.hpp"
#include "transport/shm/parked.hpp"
#include "transport/shm/peer_memory.hpp"
#include "transport/shm/ring.hpp"

namespace atl::shm {

using memory::arena;
using memory::block_flag_bytes;
using transport::lane;
using transport::message;
using transport::message_kind;
using transport::outgoing;
using transport::spill;
using transport::status;
using transport::storage;
using transport::taking;

/// Everything an endpoint needs to know; equal on all ranks of the host but for `me`.
struct endpoint_config {
  std::byte* base = nullptr;  ///< region of local rank 0 in this process
  std::size_t stride = 0;
  std::uint32_t count = 1;
  std::uint32_t me = 0;
  bootstrap::host_ranks ranks;  ///< of this host
  region_layout layout{};
  doorbell* bells = nullptr;                    ///< local rank 0's; the others' follow at the stride
  memory::arena* transit = nullptr;             ///< this rank's transit memory, where the layout says
  bool read_peers = false;                      ///< process_vm_readv works between all ranks
  std::vector<peer_process> peers;              ///< by local rank; needed if read_peers
  transport::message_memory* memory = nullptr;  ///< of this rank's messages
  std::uint32_t period = 0;                     ///< of the library; a word in every arrived message
};

class endpoint final {
 public:
  explicit endpoint(endpoint_config config);
  ~endpoint();
  endpoint(endpoint const&) = delete;
  endpoint& operator=(endpoint const&) = delete;

  /// Is that rank of this host?
  bool reaches(std::int32_t world_rank) const { return config_.ranks.has(world_rank); }

  /// Largest message (header included) that travels in one piece without a descriptor.
  static constexpr std::size_t eager_bytes() { return max_cells * cell_bytes; }

  /// Negotiates a buffer for a message of at most `bytes` (header included) to `out.target` on lane `out.way`.
  status begin(outgoing& out, std::size_t bytes, std::size_t alignment, spill allowed);
  /// Sends `bytes` of the buffer. Always succeeds: what finds no room is parked, and sent by flush(). `kept_back` is one more as long
  /// as a buffer in private memory is parked.
  void commit(outgoing& out, message_kind kind, std::uint64_t token, std::size_t bytes,
              std::uint32_t* kept_back = nullptr);
  /// The same of a buffer of which only `written` bytes are: copy_tail() must follow. False, and nothing is sent,
  /// where the target could not see it now.
  bool commit_growing(outgoing const& out, message_kind kind, std::uint64_t token, std::size_t bytes,
                      std::size_t written);
  /// Copies the bytes of a buffer in the arena from position `written` on, in pieces, and counts them for a target
  /// that may have been shown it. Any thread, without a lock.
  void copy_tail(outgoing const& out, std::size_t written, std::span<std::byte const> tail) noexcept;
  /// Copies into memory that this world rank of the host reads next. Any thread, without a lock.
  void copy_for(std::int32_t world_rank, std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    if (arena_.rests(bytes)) {
      copies_[local(world_rank)](to, from, bytes);
    } else if (bytes != 0) {
      std::memcpy(to, from, bytes);
    }
  }
  /// Gives the buffer back unsent.
  void cancel(outgoing& out) noexcept;

  /// Next arrived message, or null. Inline wherever it is asked for: who waits looks here over and over.
  [[gnu::always_inline]] message* receive(taking how) {
    ring_header header;
    lane_state& control = of(lane::control);
    // One lane must not keep the other waiting for ever.
    if (!requests_next_ || !how.requests || of(lane::request).inbox.empty()) [[likely]] {
      if (cell const* const first = control.inbox.front(header)) {
        requests_next_ = true;
        if (is_plain(header) && header.bytes <= cell_bytes) [[likely]] {
          message* const m = take_from_ring(first, header, lane::control, how);
          control.inbox.pop(header);
          return m;
        }
        if (message* const m = receive_any(lane::control, how)) return m;
      }
      if (busy() != 0 && !deferred_.empty()) [[unlikely]] {
        if (message* const m = receive_deferred(how)) return m;
      }
    }
    requests_next_ = false;
    if (!how.requests) return nullptr;
    set_starved(false);
    lane_state& requests = of(lane::request);
    cell const* const first = requests.inbox.front(header);
    if (first == nullptr) return nullptr;
    if (is_plain(header) && header.bytes <= cell_bytes) [[likely]] {
      message* const m = take_from_ring(first, header, lane::request, how);
      if (m != nullptr) requests.inbox.pop(header);
      return m;
    }
    return receive_any(lane::request, how);
  }
  void release(message* arrived) noexcept {
    if (arrived->where != storage::ring || arrived->charged) [[unlikely]]
      return_room(arrived);
    transport::return_message(arrived);
  }
  /// Counts a message that was taken in place and is kept for later. False: there is no memory for more.
  bool charge(message* arrived) noexcept;

  /// Sends what was parked, and notices what has been read; true if anything moved.
  bool flush();
  /// Messages that have not left: they need this rank's progress.
  std::size_t unsent() const { return unsent_.load(std::memory_order_relaxed); }
  /// The same, and those that have left but are still read from this rank's private memory, and answers that were
  /// left for later: there is work although nothing arrives.
  std::size_t busy() const { return busy_.load(std::memory_order_relaxed); }
  /// Bytes of private memory that messages of a lane to that world rank take until it has read them.
  std::size_t private_bytes_for(std::int32_t world_rank, lane way) const {
    return of(way).parked[local(world_rank)].private_bytes;
  }
  /// The same for all ranks together.
  std::size_t private_bytes_on(lane way) const { return of(way).private_bytes; }

  /// begin() and commit() for messages that go through the ring. Any thread, without a lock. False if the
  /// message is too large, the target is on another host, or there is no room now.
  bool begin_in_ring(outgoing& out, std::size_t bytes, std::size_t alignment) {
    std::uint32_t const target = local(out.target);
    if (target == bootstrap::host_ranks::none) [[unlikely]]
      return false;
    if (bytes > max_cells * cell_bytes || alignment > cell_bytes) return false;
    auto const cells = static_cast<std::uint8_t>((bytes + cell_bytes - 1) / cell_bytes);
    ring_producer& ring = of(out.way).outboxes[target];
    std::uint64_t const position = ring.reserve(cells);
    if (position == ring_producer::no_room) [[unlikely]]
      return false;
    out.where = storage::ring;
    out.cells = cells;
    out.alignment_log2 = static_cast<std::uint8_t>(__builtin_ctzll(alignment));
    out.position = position;
    out.begin = reinterpret_cast<std::byte*>(ring.at(position));
    out.capacity = cells * cell_bytes;
    return true;
  }
  void commit_in_ring(outgoing const& out, message_kind kind, std::uint64_t token, std::size_t bytes) {
    std::uint32_t const target = local(out.target);
    auto* const first = reinterpret_cast<cell*>(out.begin);
    first->token = token;
    of(out.way).outboxes[target].publish(
        first, out.position,
        {static_cast<std::uint16_t>(bytes), static_cast<std::uint16_t>(config_.me),
         static_cast<std::uint8_t>(kind), out.cells, out.alignment_log2});
    wake(target);
  }

  /// Both at once, for a payload of a few words. False as of begin_in_ring(), and for what would need more
  /// instructions: other payloads, ranks that are not consecutive.
  [[gnu::always_inline]] bool send_in_cell(std::int32_t world_rank, lane way, message_kind kind,
                                           std::uint64_t token, void const* data, std::size_t bytes) {
    std::uint32_t const target = config_.ranks.local_rank_nearby(world_rank);
    if (bytes > sizeof(cell::data) || bytes % sizeof(std::uint64_t) != 0 ||
        target == bootstrap::host_ranks::none)
      return false;
    ring_producer& ring = of(way).outboxes[target];
    std::uint64_t const position = ring.reserve(1);
    if (position == ring_producer::no_room) [[unlikely]]
      return false;
    cell* const first = ring.at(position);
    copy_words(first->data, static_cast<std::byte const*>(data), bytes / sizeof(std::uint64_t));
    first->token = token;
    ring.publish(first, position,
                 {static_cast<std::uint16_t>(transport::header_bytes + bytes),
                  static_cast<std::uint16_t>(config_.me), static_cast<std::uint8_t>(kind), 1, 6});
    wake(target);
    return true;
  }

  /// True if the last receive() left a request behind because private memory is used up.
  bool starved() const { return starved_.load(std::memory_order_relaxed); }
  /// The same, or an answer.
  bool lacks_memory() const { return starved() || !deferred_.empty(); }
  /// Nothing has arrived (a hint: one look at a word of each lane).
  bool quiet() const { return of(lane::control).inbox.empty() && of(lane::request).inbox.empty(); }
  /// No request has arrived (a hint).
  bool no_requests() const { return of(lane::request).inbox.empty(); }
  /// A place behind all requests that have been sent to this rank so far.
  std::uint64_t sent_here() const { return of(lane::request).inbox.reserved(); }
  /// Has everything before that place been received?
  bool received_to(std::uint64_t place) const { return of(lane::request).inbox.read() >= place; }
  /// Grows with what has been taken out of the rings.
  std::uint64_t taken() const { return of(lane::control).inbox.read() + of(lane::request).inbox.read(); }
  /// Are requests to that world rank parked?
  bool has_parked_for(std::int32_t world_rank) const {
    return !of(lane::request).parked[local(world_rank)].empty();
  }
  std::uint32_t period() const { return config_.period; }
  /// Arrived messages that are used where their senders put them.
  std::size_t held_in_place() const { return held_in_place_.load(std::memory_order_relaxed); }
  transport::message_memory const& memory() const { return memory_; }
  endpoint_config const& config() const { return config_; }

 private:
  struct lane_state {
    ring_consumer inbox;
    std::vector<ring_producer> outboxes;  ///< by local rank, like the next
    std::vector<parked_queue> parked;
    std::size_t private_bytes = 0;      ///< sum of the queues'
    std::uint64_t fragments_begin = 0;  ///< offset in the arena of this lane's part for fragments
    std::unique_ptr<arena> fragments;   ///< if peers cannot read our memory

    lane_state(endpoint_config const& config, lane way);
  };
  struct assembly {
    std::byte* buffer;
    std::size_t arrived;
  };
  // Payloads of the descriptors. All offsets are in the sender's arena.
  struct arena_descriptor {
    std::uint64_t buffer;
    std::uint64_t bytes;
    message_kind kind;
    std::uint8_t alignment_log2;
    bool growing;
  };
  struct rendezvous_descriptor {
    std::uint64_t address;  ///< in the sender's address space
    std::uint64_t bytes;
    std::uint32_t slot;  ///< of the sender's rendezvous_flags
    message_kind kind;
    std::uint8_t alignment_log2;
  };
  struct fragment_descriptor {
    std::uint64_t buffer;
    std::uint64_t offset;
    std::uint32_t bytes;
    message_kind kind;
    std::uint8_t alignment_log2;
    std::uint64_t total;
    std::uint64_t id;
  };
  static_assert(sizeof(fragment_descriptor) <= sizeof(parked_message::descriptor));
  /// A descriptor of an answer for which there was no memory: taken out of the ring, not yet a message.
  struct deferred_descriptor {
    ring_header header;
    alignas(cell_bytes) std::byte first[cell_bytes];
  };

  lane_state& of(lane way) { return lanes_[index_of(way)]; }
  lane_state const& of(lane way) const { return lanes_[index_of(way)]; }
  std::byte* at(std::uint32_t local_rank, std::uint64_t offset) const {
    return config_.base + local_rank * config_.stride + offset;
  }
  rendezvous_flags& flags_of(std::uint32_t local_rank) const {
    return *reinterpret_cast<rendezvous_flags*>(at(local_rank, config_.layout.flags_offset()));
  }
  void wake(std::uint32_t local_rank) const {
    atl::wake(*reinterpret_cast<doorbell*>(reinterpret_cast<std::byte*>(config_.bells) +
                                           local_rank * config_.stride));
  }
  std::uint32_t local(std::int32_t world_rank) const { return config_.ranks.local_rank(world_rank); }

  // Sending.
  /// A few words, without a call, which would have registers saved.
  static void copy_words(std::byte* to, std::byte const* from, std::size_t count) noexcept {
    auto const copy = [&](std::size_t i) { std::memcpy(to + 8 * i, from + 8 * i, 8); };
    if (count == 1) [[likely]]
      return copy(0);
    if (count == 0) return;
    copy(0);
    copy(1);
    if (count == 2) return;
    copy(2);
    if (count == 3) return;
    copy(3);
    if (count == 4) return;
    copy(4);
    if (count == 6) copy(5);
  }
  std::byte* take_for_sending(std::size_t bytes, std::size_t alignment, spill allowed);
  bool put_in_ring(std::uint32_t target, lane way, message_kind kind, std::uint64_t token,
                   void const* payload, std::size_t payload_bytes, std::uint8_t alignment_log2);
  void charge_queue(parked_message const& item, std::ptrdiff_t more);
  void park(parked_message* item);
  bool flush(lane_state& from);
  bool send_parked(parked_message& item, bool& kept);
  bool send_by_arena(parked_message& item);
  bool send_by_rendezvous(parked_message& item, bool& kept);
  bool send_fragments(parked_message& item);
  void forget(parked_message& item);
  bool notice_read();

  // Receiving.
  void set_starved(bool value) { starved_.store(value, std::memory_order_relaxed); }
  /// Does the message travel in the ring itself?
  static bool is_plain(ring_header const& header) {
    auto const kind = static_cast<message_kind>(header.kind);
    return kind == message_kind::active || kind == message_kind::request || kind == message_kind::announced ||
           kind == message_kind::reply;
  }
  /// Null only on the lane of requests, if there is no memory.
  message* take_from_ring(cell const* first, ring_header const& header, lane way, taking how) {
    // Active messages are for the engine, which takes them at once, whatever the program holds.
    bool const charged = !how.in_place(way) && static_cast<message_kind>(header.kind) != message_kind::active;
    if (charged && way == lane::request && !how.whatever_the_limit && !memory_.admits_arrival(header.bytes)) {
      set_starved(true);
      return nullptr;
    }
    int const size_class = transport::pool::class_of(header.bytes);
    void* const block = transport::take_block(size_class);
    std::byte* const room = transport::room_in(block);
    if (charged) memory_.charge_arrival(header.bytes);
    // Each member once, and of the cell not more than needed: the answer's reservation waits for all stores.
    if (header.bytes <= cell_bytes / 2) [[likely]] {
      std::memcpy(room, first, cell_bytes / 2);
    } else if (header.bytes <= cell_bytes) {
      std::memcpy(room, first, cell_bytes);
    } else {
      std::memcpy(room, first, header.bytes);
    }
    return ::new (block) message{{},
                                 room,
                                 header.bytes,
                                 first->token,
                                 config_.ranks.world_rank(header.source),
                                 static_cast<message_kind>(header.kind),
                                 storage::ring,
                                 static_cast<std::uint8_t>(size_class),
                                 charged,
                                 false,
                                 false,
                                 false,
                                 config_.period};
  }
  /// A message whose payload does not lie in its record.
  struct arrival {
    std::byte* base;
    std::size_t bytes;
    std::uint64_t token;
    std::uint32_t source;  ///< local rank
    message_kind kind;
    storage where;
    bool growing = false;
  };
  /// What became of what stands next in a ring.
  struct outcome {
    message* arrived = nullptr;
    bool no_memory = false;
  };
  [[noreturn]] ATOLL_COLD void no_memory_at_all(std::uint64_t bytes, std::uint32_t source) const;
  message* record_of(arrival const& a) const;
  message* receive_any(lane way, taking how);
  message* receive_deferred(taking how);
  outcome take_described(cell const* first, ring_header const& header, lane way, taking how);
  outcome take_from_arena(cell const* first, ring_header const& header, lane way, taking how);
  outcome pull(cell const* first, ring_header const& header, lane way, taking how);
  outcome take_fragment(cell const* first, ring_header const& header, lane way, taking how);
  message* pull_from_self(rendezvous_descriptor const& descriptor, std::uint64_t token);
  /// Gives back what an arrived message occupies beside its record.
  void return_room(message* arrived) noexcept;

  // Looked at in every call of progress(): kept together.
  lane_state lanes_[lanes];
  // Atomic only because other threads look at them without the engine's lock.
  std::atomic<std::size_t> unsent_{0};
  std::atomic<std::size_t> busy_{0};
  std::atomic<bool> starved_{false};
  bool requests_next_ = false;  ///< the last message was of the other lane

  endpoint_config config_;
  transport::message_memory& memory_;
  arena& arena_;
  std::size_t fragments_bytes_ = 0;  ///< of each lane
  std::size_t arena_largest_;
  std::vector<copy_to_reader> copies_;  ///< by local rank
  std::deque<deferred_descriptor> deferred_;
  parked_message* being_read_[most_rendezvous] = {};  ///< by slot of our rendezvous_flags
  std::size_t being_read_count_ = 0;
  std::unordered_map<std::uint64_t, assembly> assemblies_;  ///< by sender and id
  std::size_t request_assemblies_ = 0;
  std::atomic<std::size_t> held_in_place_{0};
  std::uint64_t next_id_ = 1;
};

}  // namespace atl::shm
