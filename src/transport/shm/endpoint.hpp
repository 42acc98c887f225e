#pragma once

/// Messages between the ranks of a host through shared memory.
///
/// A message takes one of four ways, by size and by what has room:
///
/// - ring: up to eager_bytes. Written in place into the target's ring; the target copies it out at once, so
///   that a ring never waits for user code.
/// - arena: up to three quarters of the sender's arena. Written in place there, a descriptor goes through
///   the ring, the target uses it where it is and clears a flag.
/// - rendezvous: larger, or when the arena is full and may not be waited for. Stays in the sender's private
///   memory; the target reads it from there (process_vm_readv), where the system allows that.
/// - fragments: the same where it does not. Pieces travel through a quarter of the arena that is theirs;
///   receivers copy them out at once, so that this part always gets free again, whatever messages still use
///   the rest.
///
/// What arrives for private memory is admitted while it stays within the limit, and in any case when nothing
/// else that arrived is there: a message is never too large to be received, and two ranks that send each
/// other the most that fits do not wait for each other for ever.
///
/// Nothing here waits. Messages that were committed but found no room are parked per target
/// and sent by flush().

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/doorbell.hpp"
#include "memory/host/arena.hpp"
#include "transport/buffer_cache.hpp"
#include "transport/message_pool.hpp"
#include "transport/shm/layout.hpp"
#include "transport/shm/peer_memory.hpp"
#include "transport/shm/ring.hpp"
#include "transport/transport.hpp"

namespace atl::shm {

using memory::arena;
using memory::block_flag_bytes;
using transport::message;
using transport::message_kind;
using transport::outgoing;
using transport::spill;
using transport::status;
using transport::storage;

/// Everything an endpoint needs to know; equal on all ranks of the host but for `me`.
struct endpoint_config {
  std::byte* base = nullptr;  ///< region of local rank 0 in this process
  std::size_t stride = 0;
  std::uint32_t count = 1;
  std::uint32_t me = 0;
  std::int32_t first = 0;  ///< world rank of local rank 0
  region_layout layout{};
  doorbell* bells = nullptr;         ///< local rank 0's; the others' follow at the same stride
  memory::arena* transit = nullptr;  ///< this rank's transit memory, where the layout says
  bool read_peers = false;           ///< process_vm_readv works between all ranks
  std::vector<peer_process> peers;   ///< by local rank; needed if read_peers
  std::size_t private_limit = std::size_t{1} << 30;  ///< bytes that messages may take in private memory
  std::uint32_t period = 0;                          ///< of the library; a word in every arrived message
};

class endpoint final : public transport::endpoint {
 public:
  explicit endpoint(endpoint_config config);
  ~endpoint() override;

  std::string_view name() const override { return "shm"; }
  std::uint32_t capabilities() const override {
    return transport::in_place_payload | transport::direct_access | transport::orders_put_before_message;
  }
  std::size_t eager_bytes() const override { return max_cells * cell_bytes; }

  status begin(outgoing& out, std::size_t bytes, std::size_t alignment, spill allowed) override;
  void commit(outgoing& out, message_kind kind, std::uint64_t token, std::size_t bytes) override;
  void cancel(outgoing& out) noexcept override;
  message* receive(bool in_place) override {
    set_starved(false);
    ring_header header;
    cell const* const first = inbox_.front(header);
    if (first == nullptr) return nullptr;
    if (is_plain(header) && header.bytes <= cell_bytes) [[likely]] {
      message* const m = take_from_ring(first, header, in_place);
      if (m != nullptr) inbox_.pop(header);
      return m;
    }
    return receive_any(in_place);
  }
  void release(message* arrived) noexcept override {
    if (arrived->where != storage::ring || arrived->charged) [[unlikely]]
      return_room(arrived);
    transport::return_message(arrived);
  }
  bool flush() override;
  std::size_t unsent() const override { return unsent_.load(std::memory_order_relaxed); }

  /// begin() and commit() for messages that go through the ring. Any thread, without a lock. False if the
  /// message is too large or there is no room now.
  bool begin_in_ring(outgoing& out, std::size_t bytes, std::size_t alignment) {
    if (bytes > max_cells * cell_bytes || alignment > cell_bytes) return false;
    auto const cells = static_cast<std::uint8_t>((bytes + cell_bytes - 1) / cell_bytes);
    ring_producer& ring = outboxes_[local(out.target)];
    auto const position = ring.reserve(cells);
    if (!position) [[unlikely]]
      return false;
    out.where = storage::ring;
    out.cells = cells;
    out.alignment_log2 = static_cast<std::uint8_t>(std::countr_zero(alignment));
    out.position = *position;
    out.begin = reinterpret_cast<std::byte*>(ring.at(*position));
    out.capacity = cells * cell_bytes;
    return true;
  }
  void commit_in_ring(outgoing const& out, message_kind kind, std::uint64_t token, std::size_t bytes) {
    std::uint32_t const target = local(out.target);
    reinterpret_cast<cell*>(out.begin)->token = token;
    outboxes_[target].publish(out.position,
                              {static_cast<std::uint16_t>(bytes), static_cast<std::uint16_t>(config_.me),
                               static_cast<std::uint8_t>(kind), out.cells, out.alignment_log2});
    wake(target);
  }

  /// True if the last receive() left a message behind because private memory is used up.
  bool starved() const { return starved_.load(std::memory_order_relaxed); }
  /// Nothing has arrived (a hint: one look at one word).
  bool quiet() const { return inbox_.empty(); }
  /// A place behind all that has been sent to this rank so far.
  std::uint64_t sent_here() const { return inbox_.reserved(); }
  /// Has everything before that place been received?
  bool received_to(std::uint64_t place) const { return inbox_.read() >= place; }
  /// Are messages to that world rank parked?
  bool has_parked_for(std::int32_t world_rank) const { return !parked_[local(world_rank)].empty(); }
  std::uint32_t period() const { return config_.period; }
  /// Arrived messages that are used where their senders put them.
  std::size_t held_in_place() const { return held_in_place_.load(std::memory_order_relaxed); }
  std::size_t private_bytes() const { return private_used_.load(std::memory_order_relaxed); }
  std::size_t private_limit() const { return config_.private_limit; }
  endpoint_config const& config() const { return config_; }

 private:
  /// A committed message that found no room.
  struct parked {
    message_kind kind;
    std::uint64_t token;
    std::byte* buffer;  ///< private; null for a bare descriptor
    std::size_t bytes;  ///< header included
    std::uint8_t alignment_log2;
    bool by_fragments = false;
    std::uint64_t sent = 0;  ///< bytes sent by fragments
    std::uint64_t id = 0;
    std::byte descriptor[48];  ///< buffer == null: the ring payload
    std::uint8_t descriptor_bytes = 0;
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
  };
  struct rendezvous_descriptor {
    std::uint64_t address;  ///< in the sender's address space
    std::uint64_t bytes;
    std::uint64_t id;
    message_kind kind;
    std::uint8_t alignment_log2;
  };
  struct fragment_descriptor {
    std::uint64_t buffer;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint64_t total;
    std::uint64_t id;
    message_kind kind;
    std::uint8_t alignment_log2;
  };

  std::byte* at(std::uint32_t local_rank, std::uint64_t offset) const {
    return config_.base + local_rank * config_.stride + offset;
  }
  void wake(std::uint32_t local_rank) const {
    atl::wake(*reinterpret_cast<doorbell*>(reinterpret_cast<std::byte*>(config_.bells) +
                                           local_rank * config_.stride));
  }
  std::uint32_t local(std::int32_t world_rank) const {
    return static_cast<std::uint32_t>(world_rank - config_.first);
  }
  bool put_in_ring(std::uint32_t target, message_kind kind, std::uint64_t token, void const* payload,
                   std::size_t payload_bytes, std::uint8_t alignment_log2);
  void send_descriptor(std::uint32_t target, message_kind kind, std::uint64_t token, void const* payload,
                       std::size_t payload_bytes);
  void park(std::uint32_t target, parked item);
  bool send_parked(std::uint32_t target, parked& item);
  bool send_fragments(std::uint32_t target, parked& item);
  void forget(parked& item);

  std::byte* take_private(std::size_t bytes, std::size_t alignment);
  std::byte* take_unlimited(std::size_t bytes, std::size_t alignment);
  std::byte* take_for_arrival(std::size_t bytes, std::size_t alignment);
  /// May `bytes` more that arrive be put into private memory?
  bool admits(std::size_t bytes) const {
    std::size_t const used = private_used_.load(std::memory_order_relaxed);
    return used + bytes <= config_.private_limit || used <= spilled_;
  }
  void set_starved(bool value) { starved_.store(value, std::memory_order_relaxed); }
  void give_private(std::byte* buffer, std::size_t bytes) noexcept;

  /// Does the message travel in the ring itself?
  static bool is_plain(ring_header const& header) {
    auto const kind = static_cast<message_kind>(header.kind);
    return kind == message_kind::active || kind == message_kind::request || kind == message_kind::announced ||
           kind == message_kind::reply;
  }
  message* take_from_ring(cell const* first, ring_header const& header, bool in_place) {
    // Active messages are for the engine, which takes them at once, whatever the program holds.
    bool const charged = !in_place && static_cast<message_kind>(header.kind) != message_kind::active;
    if (charged && !admits(header.bytes)) {
      set_starved(true);
      return nullptr;
    }
    message* const m = transport::take_message(header.bytes);
    if (charged) private_used_.fetch_add(header.bytes, std::memory_order_relaxed);
    if (header.bytes <= cell_bytes) [[likely]] {
      std::memcpy(m->base, first, cell_bytes);
    } else {
      std::memcpy(m->base, first, header.bytes);
    }
    m->bytes = header.bytes;
    m->token = first->token;
    m->source = config_.first + header.source;
    m->kind = static_cast<message_kind>(header.kind);
    m->where = storage::ring;
    m->charged = charged;
    m->period = config_.period;
    return m;
  }
  /// A message whose payload does not lie in its record.
  struct arrival {
    std::byte* base;
    std::size_t bytes;
    std::uint64_t token;
    std::uint32_t source;  ///< local rank
    message_kind kind;
    storage where;
  };
  message* record_of(arrival const& a) const;
  message* receive_any(bool in_place);
  /// Gives back what an arrived message occupies beside its record.
  void return_room(message* arrived) noexcept;
  message* take_from_arena(cell const* first, ring_header const& header, bool in_place);
  message* pull(cell const* first, ring_header const& header);
  message* take_fragment(cell const* first, ring_header const& header);
  message* pull_from_self(rendezvous_descriptor const& descriptor, std::uint64_t token);
  void finish_rendezvous(std::uint64_t id);

  // Looked at in every call of progress(): kept together.
  ring_consumer inbox_;
  // Atomic only because other threads look at them without the engine's lock.
  std::atomic<std::size_t> unsent_{0};  ///< messages parked, or waiting to be pulled
  std::atomic<bool> starved_{false};

  endpoint_config config_;
  transport::buffer_cache buffers_;
  arena& arena_;
  std::uint64_t fragments_begin_ = 0;  ///< offset in the arena of the part for fragments
  std::size_t fragments_bytes_ = 0;
  std::optional<arena> fragments_;  ///< if peers cannot read our memory
  std::size_t arena_largest_;
  std::vector<ring_producer> outboxes_;
  std::vector<std::deque<parked>> parked_;                   ///< by local rank
  std::unordered_map<std::uint64_t, parked> awaiting_pull_;  ///< by id
  std::unordered_map<std::uint64_t, assembly> assemblies_;   ///< by sender and id
  std::atomic<std::size_t> private_used_{0};
  std::atomic<std::size_t> held_in_place_{0};
  std::size_t parked_count_ = 0;
  std::size_t spilled_ = 0;  ///< bytes of outgoing messages in private memory
  std::uint64_t next_id_ = 1;
};

}  // namespace atl::shm
