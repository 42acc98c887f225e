#pragma once

/// The operations table over libucp. docs/design/ucx.md says what maps to what.
///
/// Everything below happens in calls of the engine, one at a time. libucp calls back in worker_progress() only, which
/// only poll() and the destructor call; messages go to the receiver from there, events are queued and told at the end of poll().

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "transport/common/module_network.hpp"
#include "transport/ucx/context.hpp"
#include "transport/ucx/peer.hpp"
#include "transport/ucx/pools.hpp"

namespace atl::transport {

struct registration {
  ucp_mem_h handle;
  std::byte* begin;
  std::size_t bytes;
  ucs_memory_type_t type;
};

struct remote_key {
  ucp_rkey_h handle;
  std::uint64_t begin;
  std::uint64_t bytes;
  std::int32_t rank;
  std::uint32_t generation;  ///< of the connection
};

namespace ucx {

class ucx_network final : public module_network<ucx_network, peer, record> {
 public:
  /// The context is open.
  ucx_network(std::unique_ptr<context> opened, network_config const& config);
  ~ucx_network() override;

  std::string description() const override { return context_->description(); }
  ability atomic_support(atomic_op op, atomic_type type) const override;

  std::span<std::byte const> address() const override {
    return std::span(introduction_).subspan(sizeof job_);
  }
  started connect(std::int32_t rank, std::span<std::byte const> peer_address) override;
  void give_up(std::int32_t rank) override;

  started send(std::int32_t rank, lane where, std::span<std::byte const> header, local_place payload,
               std::size_t bytes, operation* events) override;
  started fetch(arrival_handle what, local_place into, operation* events) override;
  void release(arrival_handle what) override;

  started atomic(std::int32_t rank, remote_place target, atomic_op op, atomic_type type, void const* operands,
                 local_place result, operation* events) override;

  registered register_memory(void* begin, std::size_t bytes, memory::kind_id kind,
                             std::int32_t device) override;
  void forget(registration* memory) override;
  std::size_t export_key(registration const* memory, std::span<std::byte> room) const override;
  imported import_key(std::int32_t rank, std::span<std::byte const> key) override;
  void drop_key(std::int32_t rank, remote_key* key) override;

  int descriptor() const override { return context_->descriptor(); }
  bool arm() override;

 private:
  static constexpr std::uint32_t address_mark = 0x31584355;  ///< "UCX1": what addresses begin with
  static constexpr std::size_t before_address = sizeof job_ + sizeof address_mark;

  friend module_connections;
  friend module_network;
  static constexpr bool refusal_is_heard = false;

  void advance();

  // Connections (connections.cpp).
  void begin_connection(peer& p);
  bool open_endpoint(peer& p, std::span<std::byte const> worker_address);
  void stands(peer& p, std::uint32_t theirs);
  void accept(peer& p);
  void tend(peer& p);
  void tend_closing(peer& p);
  void tend_lost(peer& p);
  bool release_endpoint(peer& p);
  void take_hello(wire const& w, std::span<std::byte const> introduction);

  // What is under way (operations.cpp).
  record* open(peer& p, operation* events, sort what);
  void drop(record* r);
  outcome outcome_of(record const& r);
  static ucp_request_param_t parameters(record* r);
  /// The same for a call that uses memory of this process.
  static ucp_request_param_t parameters(record* r, registration const* memory);
  [[nodiscard]] bool has_left(peer const& p) const noexcept;
  static void on_done(void* request, ucs_status_t status, void* of);
  static void on_received(void* request, ucs_status_t status, std::size_t bytes, void* of);
  void part_done(record* r, ucs_status_t status);
  /// Notes what a call of libucp has returned.
  static void started_part(record* r, ucs_status_ptr_t what);
  /// All calls are made: how the start ended. Drops the record if nothing is left of it.
  started seal(record* r);
  void here_done(record* r);
  void finish(record* r);
  void tell_when_left(record const& message);
  void want_flush(record* r);
  void flush_for_waiting(peer& p);
  void own_flush_done(record* r);
  void fail_waiting(peer& p);
  started flush_one(peer& p, operation* events, many_flushes* of);

  // Messages (messages.cpp).
  static constexpr std::size_t headers = block_pool::headers;
  block* take(peer& p, std::size_t payload);
  void give(peer& p, block* b) noexcept {
    if (block_pool::is_largest(*b)) --p.largest_out;
    blocks_.give(b);
  }
  void fill(peer const& p, std::byte* to, std::uint8_t what, std::span<std::byte const> header) const;
  void send_block(peer& p, block* b, lane where, std::span<std::byte const> header, std::size_t bytes);
  static void post_block(record* r, std::size_t bytes);
  started post_whole(record* r, std::size_t bytes);
  std::size_t write_word(record* r, wire::kind what, std::span<std::byte const> body);
  void say_word(peer& p, wire::kind what, std::span<std::byte const> body);
  static ucs_status_t on_whole(void* self, void const* header, std::size_t header_bytes, void* data,
                               std::size_t bytes, ucp_am_recv_param_t const* how);
  static ucs_status_t on_split(void* self, void const* header, std::size_t header_bytes, void* data,
                               std::size_t bytes, ucp_am_recv_param_t const* how);
  ucs_status_t take_message(wire const& w, arrival& what, void* data, std::uint64_t attributes);
  ucs_status_t take_word(wire const& w, std::span<std::byte const> body);
  peer* connected_by(wire const& w);
  void set_receivers();

  // Remote memory (memory.cpp).
  static bool on_host(local_place const& place) {
    return place.memory == nullptr || place.memory->type == UCS_MEMORY_TYPE_HOST;
  }
  started transfer(peer& p, std::span<remote_piece const> far, std::span<local_piece const> near,
                   std::size_t bytes, operation* events, sort what, std::uint64_t const* tag);
  static void move(record* r, std::span<remote_piece const> far, std::span<local_piece const> near);

  std::unique_ptr<context> context_;
  bool has_atomics_;
  /// What a hello says: the job, and the address() of this side.
  std::vector<std::byte> introduction_;
  block_pool blocks_;
  std::unordered_set<kept_message*> kept_;
};

}  // namespace ucx
}  // namespace atl::transport
