#pragma once

/// The operations table over libfabric. docs/design/ofi.md says what maps to what.
///
/// Everything below happens in calls of the engine, one at a time. libfabric calls nobody back: poll() reads its two queues;
/// messages go to the receiver from there, events are queued and told at the end of poll().

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/common/module_network.hpp"
#include "transport/ofi/buffers.hpp"
#include "transport/ofi/context.hpp"
#include "transport/ofi/peer.hpp"

namespace atl::transport {

struct registration {
  fid_mr* handle;
  std::byte* begin;
  std::size_t bytes;
  bool on_host;
  std::array<fid_mr*, ofi::most_further> further;  ///< the same on further devices; may be null
};

struct remote_key {
  std::uint64_t begin;  ///< as its owner's libfabric knows it
  std::uint64_t bytes;
  std::uint64_t key;
  std::int32_t rank;
  std::uint32_t generation;  ///< of the connection
  /// On its owner's further devices; FI_KEY_NOTAVAIL: there is none.
  std::array<std::uint64_t, ofi::most_further> further;
};

namespace ofi {

class ofi_network final : public module_network<ofi_network, peer, record> {
 public:
  /// The context is open; `alike`: devices that are used beside its own.
  ofi_network(std::unique_ptr<context> opened, std::vector<info_ptr> alike, network_config const& config);
  ~ofi_network() override;

  /// False: no memory for what peers send could be had at the beginning.
  [[nodiscard]] bool can_receive() const noexcept {
    return context_->shared_receives() == nullptr || posted_ != 0;
  }
  /// The same for what this rank sends.
  [[nodiscard]] bool can_send() const noexcept { return can_send_; }

  std::string description() const override;
  ability atomic_support(atomic_op, atomic_type) const override { return {}; }

  std::span<std::byte const> address() const override { return context_->address(); }
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
  friend module_connections;
  friend module_network;
  static constexpr bool refusal_is_heard = true;

  void advance();
  bool events_are_due();

  // How connections begin (connections.cpp).
  started ready(std::int32_t rank, peer*& out);
  void begin_connection(peer& p);
  void own_endpoint(peer& p, fid_ep* made);
  unsigned read_events();
  unsigned read_events(context const& of, std::size_t rail);
  void take_event(std::uint32_t what, fi_eq_cm_entry const& entry, std::size_t bytes);
  void take_failure(context const& of, std::size_t rail);
  void take_request(peer& p, std::uint32_t number, info_ptr request);
  void drop_wish(peer& p);
  void accept(peer& p);
  void stands(peer& p, introduction const* answer);

  // How they end (closing.cpp).
  void tend(peer& p);
  void tend_closing(peer& p);
  void tend_lost(peer& p);
  void end_connection(peer& p);
  void release_endpoint(peer& p);

  // The same over one endpoint for all peers (connectionless.cpp).
  void say_hello(peer& p, std::span<std::byte const> to);
  void say_aside(peer& p, wire::kind what, std::uint32_t number);
  bool say_again(record* r);
  void take_agreement(wire const& w, std::span<std::byte const> body);
  void leave(peer& p);
  void let_go(peer& p);
  void disown(record* r);

  // Further devices (rails.cpp).
  struct rail_request;
  void open_rails(std::vector<info_ptr> devices, network_config const& config);
  void close_rails();
  bool poll_rails();
  void ask_rails(peer& p);
  void tell_rails(peer& p);
  void connect_rails(peer& p, std::span<std::byte const> list);
  void connect_rail(peer& p, std::size_t which, std::uint8_t theirs, std::span<std::byte const> to);
  void own_rail(peer& p, std::size_t which, bool mine, fid_ep* made);
  void drop_rail(peer& p, std::size_t which, bool mine);
  void release_rails(peer& p);
  void fall_back(peer const& p, std::size_t which, std::string_view why);
  void take_rail_request(std::size_t which, info_ptr asked, std::span<std::byte const> said);
  void take_rail_event(std::uint32_t what, fid* of);
  void take_rail_failure(fid* of, int error);
  std::size_t ways_to(peer const& p, remote_key const& key, std::array<std::uint8_t, most_rails>& ways) const;

  // What is under way (operations.cpp).
  record* open(peer& p, operation* events, sort what);
  void drop(record* r);
  /// Gives it to libfabric, or lets it wait.
  void start(record* r);
  ssize_t post(record* r);
  void go_on(peer& p);
  /// What libfabric had under way of it is done.
  void part_done(record* r, outcome how);
  /// All parts are started: how the start ended. Drops the record if nothing is left of it.
  started seal(record* r);
  void finish(record* r);
  void conclude(record* r);
  static void link(record* r, peer& p);
  static void unlink(record* r);
  void put_over(peer& p, std::uint32_t epoch);
  void flush_over(peer& p, flush_point const& point);
  started flush_one(peer& p, operation* events, many_flushes* of);

  // Messages (messages.cpp).
  static constexpr std::size_t headers = block_pool::headers;
  block* take(peer& p, std::size_t payload);
  void give(peer& p, block* b) noexcept;
  void give(block* b) noexcept;
  void fill(peer& p, std::byte* to, std::uint8_t what, std::span<std::byte const> header);
  bool inject(peer& p, std::uint8_t what, std::span<std::byte const> header, void const* payload,
              std::size_t bytes);
  void say_word(peer& p, wire::kind what, std::span<std::byte const> body);
  [[nodiscard]] bool leaves_at_once(peer const& p) const noexcept;
  void send_block(peer& p, block* b, lane where, std::span<std::byte const> header, std::size_t bytes,
                  operation* events = nullptr, bool late = false);
  started send_late(peer& p, lane where, std::span<std::byte const> header, local_place payload,
                    std::size_t bytes, operation* events);

  // What arrives (receiving.cpp).
  void post_receives(peer* p);
  bool read_completions(context const& of);
  void read_failure(context const& of);
  void take_block(block* b, std::size_t bytes);
  bool take_message(block* b, wire const& w);
  block* aside(block* b, wire const& w);
  bool show(peer& p, block* b, wire const& w);
  void take_word(peer& p, wire const& w, std::span<std::byte const> body);
  void forget_the_dead();

  // Remote memory (memory.cpp).
  static bool on_host(local_place const& place) { return place.memory == nullptr || place.memory->on_host; }
  started transfer(peer& p, std::span<remote_piece const> far, std::span<local_piece const> near,
                   std::size_t bytes, operation* events, sort what, std::uint64_t const* tag);
  void move(record* r, std::span<remote_piece const> far, std::span<local_piece const> near);
  void move_run(record* r, bool first, remote_place const& far, local_place const& near, std::size_t bytes,
                std::byte* copy);
  bool enter(context& on, void const* begin, std::size_t bytes, std::uint64_t access, fid_mr*& memory);
  void enter_local(record* r, registration const* memory);
  context& device_of(record const* r) { return r->rail == 0 ? *context_ : *rails_[r->rail - 1U].opened; }
  static void close_memory(registration& memory);

  std::unique_ptr<context> context_;
  std::vector<rail> rails_;  ///< mostly none
  std::unordered_map<fid*, rail_owner> rail_owners_;
  std::size_t inject_;  ///< longest message that libfabric copies at once, and says no more of
  std::unordered_map<fid*, peer*> endpoints_;
  peer nobody_;  ///< of what libfabric has of lost peers, where it cannot be made to let go

  block_pool small_;
  block_pool large_;
  block_pool long_;
  block_pool& receives_;  ///< that of blocks into which messages arrive
  bool can_send_ = true;
  std::unordered_map<std::uint64_t, record*> lates_;
  std::uint64_t last_late_ = 0;
  std::size_t kept_bytes_ = 0;  ///< of receives with messages that are kept

  std::size_t posted_ = 0;     ///< shared receives
  fifo<record> dead_records_;  ///< libfabric may name them until its queue has been read to the end
  fifo<block> dead_blocks_;
  std::byte confirmed_[8]{};  ///< where bytes go that are read for their order only
  fid_mr* confirmed_entered_ = nullptr;

  unsigned since_events_ = 0;         ///< polls since connections were looked at
  std::uint64_t next_events_ns_ = 0;  ///< they are looked at then at the latest
  bool drained_ = false;              ///< by this poll
  bool said_fall_back_ = false;
  bool armed_ = false;   ///< since the last one
  bool ending_ = false;  ///< the endpoint of what is dropped has just been closed
};

}  // namespace ofi
}  // namespace atl::transport
