#pragma once

/// A bad network between ranks of one machine, as bad as its options say: see docs/design/simulated-network.md.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bell_events.hpp"
#include "memory/kind.hpp"
#include "transport/network.hpp"
#include "transport/sim/layout.hpp"
#include "transport/sim/lockstep.hpp"
#include "transport/sim/options.hpp"
#include "transport/sim/packets.hpp"
#include "transport/sim/transfers.hpp"
#include "transport/sim/wire.hpp"

namespace atl::transport::sim {

/// An address is this, and the rank.
inline constexpr std::uint64_t address_magic = 0x41746f6c00000000U;

struct config {
  std::byte* base = nullptr;  ///< zero-filled memory that all ranks share, region_bytes() of it
  std::int32_t ranks = 1;     ///< of the job, all on this machine
  std::int32_t me = 0;
  options how;
  /// Number of this rank's event descriptor (base/bell_events.hpp), by which others wake it; -1: there is none.
  std::int32_t event = -1;
  bool remote_fences = false;  ///< of all ranks (base/doorbell.hpp)
  /// Where this process can read and write memory of a device, or null. Null: host memory only.
  std::byte* (*reach)(memory::kind_id kind, void* begin, std::size_t bytes) = nullptr;
  bool tell = false;  ///< say in the end what came in lockstep, so that runs can be compared
};

/// What is kept about a peer from its first use on.
struct peer_record {
  enum class link : std::uint8_t {
    none,
    connecting,
    connected,
    closing,
    lost,  ///< and operations wait for their events
  };

  peer_record(layout const& map, std::byte* base, std::int32_t rank, std::uint64_t cells)
      : way(map, base, rank, cells) {}

  route way;
  link now = link::none;
  std::uint8_t their_connection = 0;  ///< number of theirs whose packets count
  bool close_wanted = false, close_sent = false, close_seen = false;
  unsigned letting_go = 0;                     ///< polls until a lost connection is closed
  std::uint32_t connections = 0;               ///< made so far: keys of earlier ones are invalid
  std::uint32_t operations = 0;                ///< open ones of this side
  std::uint32_t late[2]{};                     ///< of those messages that have not been fetched, by lane
  std::uint32_t jobs = 0;                      ///< of this side that move data to the peer
  std::uint32_t buffers = 0;                   ///< begun, and neither committed nor cancelled
  std::uint64_t sent[2]{}, seen[2]{};          ///< messages, by lane
  std::uint64_t puts_sent = 0, puts_seen = 0;  ///< packets that put or change memory
  std::uint64_t puts_flushed = 0;
  outcome worst = outcome::ok;        ///< of their operations here that nobody waits for
  unsigned refusals = 0, misses = 0;  ///< by chance, so far

  bool up() const { return now == link::connected || now == link::closing; }
};

class sim_network final : public network {
 public:
  explicit sim_network(config const& how);
  ~sim_network() override;

  std::string_view name() const override { return "sim"; }
  std::string description() const override;
  transport::abilities const& abilities() const override { return abilities_; }
  transport::limits const& limits() const override { return limits_; }
  message_sizes sizes(std::int32_t peer, lane where) const override;
  ability atomic_support(atomic_op op, atomic_type type) const override;
  std::string last_error() const override { return last_error_; }

  std::span<std::byte const> address() const override { return std::as_bytes(std::span(&address_, 1)); }
  started connect(std::int32_t peer, std::span<std::byte const> peer_address) override;
  void close(std::int32_t peer) override;
  void give_up(std::int32_t peer) override;

  started send(std::int32_t peer, lane where, std::span<std::byte const> header, local_place payload,
               std::size_t bytes, operation* events) override;
  started begin(std::int32_t peer, lane where, std::size_t header_bytes, std::size_t least, std::size_t most,
                network_buffer& buffer) override;
  void commit(network_buffer& buffer, std::span<std::byte const> header, std::size_t bytes) override;
  void cancel(network_buffer& buffer) override;
  started fetch(arrival_handle what, local_place into, operation* events) override;
  void release(arrival_handle what) override;

  started put(std::int32_t peer, remote_place to, local_place from, std::size_t bytes,
              operation* events) override;
  started get(std::int32_t peer, local_place to, remote_place from, std::size_t bytes,
              operation* events) override;
  started put_pieces(std::int32_t peer, std::span<remote_piece const> to, std::span<local_piece const> from,
                     operation* events) override;
  started get_pieces(std::int32_t peer, std::span<local_piece const> to, std::span<remote_piece const> from,
                     operation* events) override;
  started put_notified(std::int32_t peer, remote_place to, local_place from, std::size_t bytes,
                       std::uint64_t tag, operation* events) override;
  started flush(std::int32_t peer, operation* events) override;
  started flush_all(operation* events) override;
  started atomic(std::int32_t peer, remote_place target, atomic_op op, atomic_type type, void const* operands,
                 local_place result, operation* events) override;

  registered register_memory(void* begin, std::size_t bytes, memory::kind_id kind,
                             std::int32_t device) override;
  void forget(registration* memory) override;
  std::size_t export_key(registration const* memory, std::span<std::byte> room) const override;
  imported import_key(std::int32_t peer, std::span<std::byte const> key) override;
  void drop_key(std::int32_t peer, remote_key* key) override;

  unsigned poll(receiver& target) override;
  std::size_t under_way() const override;
  int descriptor() const override { return event_ < 0 ? -1 : bell_event(static_cast<std::uint32_t>(event_)); }
  bool arm() override;

  /// For tests: as if the connection had broken. Both sides hear it.
  void break_connection(std::int32_t peer);

 private:
  // Polling (poll.cpp).
  bool drain(unsigned which, unsigned most);
  bool overtakes(packet const& p, std::size_t before) const;
  bool handle(packet const& p);
  void drop(packet const& p);
  void hold(packet const& p, std::uint64_t due, unsigned polls);
  bool visit_held();
  void drop_held(std::int32_t source);
  bool advance_jobs();
  bool visit_late_events();
  bool visit_peers();
  /// Does anything wait for polls of this side? As the last poll has left it, or whoever has begun something since.
  bool busy() const { return stirred_ || wire_.parked() != 0; }
  bool anything_waits() const {
    return !held_.empty() || !jobs_.empty() || !late_events_.empty() || !atomics_.empty() || changing_ != 0 ||
           !breaks_.empty();
  }

  // Connections (connections.cpp).
  peer_record& peer_of(std::int32_t rank) {
    peer_record* const record = peers_[static_cast<std::size_t>(rank)].get();
    return record != nullptr ? *record : make_peer(rank);
  }
  peer_record& make_peer(std::int32_t rank);
  /// Whether an operation to that peer may start: complete, or why not.
  started ready(std::int32_t rank, peer_record*& out) {
    if (static_cast<std::uint32_t>(rank) >= static_cast<std::uint32_t>(ranks_)) return started::unreachable;
    out = peers_[static_cast<std::size_t>(rank)].get();
    if (out != nullptr && out->now == peer_record::link::connected && out->operations < how_.window &&
        how_.refuse == 0) [[likely]]
      return started::complete;
    if (out == nullptr || out->now == peer_record::link::none || out->now == peer_record::link::lost)
      return started::unreachable;
    if (out->now != peer_record::link::connected) return started::no_room;
    // A lane that is full of what nobody fetches does not hold up the other one.
    if (out->operations - out->late[0] - out->late[1] >= how_.window || refuses()) return started::no_room;
    return started::complete;
  }
  void set_link(peer_record& of, peer_record::link now);
  void begin_connection(peer_record& with);
  bool take_connection(peer_record& from, packet const& p);
  bool take_connect(peer_record& from, packet const& p);
  bool take_close(peer_record& from, packet const& p);
  void become_connected(peer_record& with, std::uint8_t theirs);
  void lose_connection(peer_record& with, char const* words);
  void end_connection(peer_record& with, char const* words);
  void break_off(peer_record& with, bool tell_peer);
  void advance_link(peer_record& with);
  bool notices_end_of(peer_record const& with) const;
  void tell(peer_record& about, connection_change what, char const* words);
  void send_plain(peer_record& to, kind what, std::uint64_t token);

  // Operations of this side (operations.cpp).
  std::uint32_t open(std::int32_t rank, operation* events, std::uint64_t left);
  open_operation* find(peer_record const& from, std::uint32_t index);
  void left_less(std::uint32_t index, std::uint64_t by, outcome how);
  void source_free(std::uint32_t index);
  void deliver(std::uint32_t index, bool source_only);
  void close_record(std::uint32_t index);
  started start_job(job&& what, peer_record& to, operation* events);
  bool push(job& what);
  /// Data in a packet that is being written.
  struct data_slot {
    slot at;
    std::size_t beside = 0;  ///< bytes that are not in the queue's cells
  };
  bool write_data(data_slot& d, job& what, peer_record& to, std::size_t bytes, std::uint64_t place);
  bool push_put(job& what, peer_record& to);
  bool push_data(job& what, peer_record& to);
  bool push_parts(job& what, peer_record& to);
  void lose_operations(std::int32_t rank);
  bool may_park(peer_record const& to) const { return !how_.passive && to.way.parked_packets() < 64; }

  // Messages (messages.cpp).
  [[gnu::noinline]] started send_otherwise(peer_record& with, lane where, std::span<std::byte const> header,
                                           local_place const& payload, std::size_t bytes, operation* events);
  [[gnu::noinline]] started send_where_room_is(peer_record& to, lane where, std::span<std::byte const> header,
                                               std::byte* source, std::size_t bytes, operation* events);
  [[gnu::noinline]] started begin_in_packet(peer_record& to, unsigned which, network_buffer& buffer);
  [[gnu::noinline]] void commit_otherwise(peer_record& to, network_buffer& buffer,
                                          std::span<std::byte const> header, std::size_t bytes);
  started leaves(peer_record& to, unsigned which, operation* events);
  void show(peer_record& from, std::int32_t source, unsigned which, std::uint64_t token, std::byte* body);
  bool take_message(peer_record& from, packet const& p);
  void take_packet(packet const& p);
  void take_part(packet const& p);
  void take_late(peer_record& from, packet const& p);
  void take_fetch(peer_record& from, packet const& p);

  // Remote memory, this side (memory.cpp).
  started start_put(std::int32_t rank, std::span<remote_piece const> to, std::span<local_piece const> from,
                    std::uint64_t const* tag, operation* events);
  started start_get(std::int32_t rank, std::span<local_piece const> to, std::span<remote_piece const> from,
                    operation* events);
  bool start_flush(peer_record& to, operation* events, std::uint32_t whole);
  void push_flush(peer_record& to, std::uint32_t index);
  bool covered(std::span<local_piece const> list) const;
  bool usable(peer_record const& to, remote_place const& place, std::uint64_t bytes) const;
  void take_data(peer_record& from, packet const& p);
  void take_answer(peer_record& from, packet const& p);

  // Remote memory, the target's side (target.cpp).
  bool take_remote(peer_record& from, packet const& p);
  std::byte* memory_of(peer_record const& user, std::uint32_t key, std::uint64_t offset, std::uint64_t bytes);
  bool refuses_memory(peer_record& with, operation* events);
  bool misses(peer_record& with);
  bool misses(peer_record& from, std::uint32_t operation);
  void take_put(peer_record& from, packet const& p);
  void take_get(peer_record& from, packet const& p);
  bool take_atomic(peer_record& from, packet const& p);
  bool visit_atomics();
  bool changes_words_for(std::int32_t rank) const;
  bool fails_untold(std::uint32_t operation);
  void finish_atomic(peer_record& from, std::uint32_t operation, bool done, std::uint64_t before);
  void answer(peer_record& to, std::uint32_t operation, outcome how, std::uint64_t value);
  void serve(peer_record& to, std::uint32_t theirs, std::byte* from, std::uint64_t bytes, std::uint64_t place,
             std::uint32_t own);

  bool refuses() { return choices_.chance(how_.refuse); }
  unsigned some_polls() { return 1 + static_cast<unsigned>(choices_.below(how_.delay)); }

  options how_;
  std::int32_t me_, ranks_, event_;
  bool remote_fences_;
  bool tell_;
  std::byte* (*reach_)(memory::kind_id, void*, std::size_t);
  wire wire_;
  choices choices_;
  std::unique_ptr<lockstep> in_step_;
  transport::abilities abilities_;
  transport::limits limits_;
  std::uint64_t address_;
  std::string last_error_;

  std::vector<std::unique_ptr<peer_record>> peers_;
  std::vector<std::int32_t> used_peers_;
  std::array<std::optional<shm::ring_consumer>, queues> rings_;  ///< once constructed always there
  bool stirred_ = false;                                         ///< see busy()
  bool checked_;  ///< packets may have to wait, for time, chance or order

  receiver* receiver_ = nullptr;  ///< during a poll
  unsigned calls_ = 0;            ///< made in this poll
  std::uint64_t polls_ = 0;

  std::vector<std::unique_ptr<held_packet>> held_;
  std::size_t held_in_[queues]{};
  std::deque<job> jobs_;
  std::vector<late_event> late_events_;
  std::vector<slow_atomic> atomics_;
  /// A connection that is to break.
  struct wanted_break {
    std::int32_t peer;
    bool tell_peer;
  };
  std::vector<wanted_break> breaks_;
  std::size_t changing_ = 0;  ///< peers that connect, close, or were lost

  std::vector<open_operation> operations_;
  std::uint32_t free_operations_ = no_operation;
  std::size_t open_operations_ = 0;
  std::uint32_t serial_ = 0;

  std::vector<registration*> registrations_;
  std::vector<std::uint32_t> free_registrations_;
  std::vector<std::unique_ptr<remote_key>> keys_;  ///< of peers
  std::uint32_t registration_serial_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<arrived_parts>> parts_;
  std::uint32_t parts_sent_ = 0;
};

}  // namespace atl::transport::sim
