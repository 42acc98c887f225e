#pragma once

/// Messages between hosts, over whatever transport the job has (transport/network.hpp).
///
/// A small message is written into a buffer of the transport's, if it may leave at once. Else it is written into private memory.
/// Its first 16 bytes say what it is (frame). It travels whole where the transport takes it so. A longer one is
/// announced; when the target has memory for it, the target fetches it, or where the transport cannot do that asks
/// for it, and it comes in pieces. What finds no room, no credit or no connection waits for its peer, per lane.
///
/// *Bundles.* Where a message costs much however short it is, the first small one to a peer leaves at once, and those that follow
/// before this rank makes progress again leave together (network_bundles.cpp); those to all ranks of a host, if that is wanted
/// (network_by_host.cpp).
///
/// *Credit.* A rank may have so many bytes of requests at each peer, an announced one counting little; the peer gives
/// that back when its program has the request, or at once while it has memory for more. Answers need no credit: they
/// are what the peer has asked for, and held_back_calls bounds them.
///
/// *Connections* are made at first use, from either side or both; what is sent meanwhile waits. When there are more than
/// the transport bears well, the one that was not used for longest is closed, by agreement; it comes back when it is wanted.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <atoll/transport/message.hpp>

#include "base/single.hpp"
#include "engine/network/card.hpp"
#include "engine/network/looks.hpp"
#include "engine/network/peer.hpp"
#include "transport/message_memory.hpp"
#include "transport/message_pool.hpp"
#include "transport/network.hpp"

namespace atl::shm {
class endpoint;
}  // namespace atl::shm

namespace atl::engine {

/// Ends the job: unchecked programs come here with a wrong rank, or with a global pointer that was never set.
[[noreturn]] void no_such_rank(std::int32_t rank, std::int32_t ranks);

/// Under the engine's lock, but for unsent().
class network_messages final : public single<network_messages>, public transport::receiver {
 public:
  struct shape {
    std::function<card(std::int32_t)> card_of;                      ///< how to reach a rank of the job
    std::int32_t ranks = std::numeric_limits<std::int32_t>::max();  ///< of the job
    std::uint32_t period = 0;
    std::size_t credit = std::size_t{256} << 10;  ///< bytes of requests at one peer
    shm::endpoint const* neighbours = nullptr;    ///< that may send meanwhile; null: none

    // For bundles by host (network_by_host.cpp).
    std::int32_t rank = -1;  ///< of this process
    /// By which rank of its host messages to a rank may go; negative: by none. Empty: there are no bundles by host.
    std::function<std::int32_t(std::int32_t)> counterpart_of;
    /// Brings bytes to take_passed() of a rank of this host. `kept_back` is one more until they need nothing of this rank any more.
    std::function<void(std::int32_t, std::span<std::byte const>, std::uint32_t& kept_back)> pass_on;
  };

  /// Smallest that works: several of the largest costs.
  static constexpr std::size_t least_credit = std::size_t{64} << 10;
  /// Given back when so much is owed: ranks may have more credit than the least, each as its own limit of memory allows.
  static constexpr std::size_t credit_to_return = least_credit / 4;

  network_messages(std::unique_ptr<transport::network> network, shape what,
                   transport::message_memory& memory);
  ~network_messages();

  /// The transport itself, for put and get: ask for it each time when something is to be started.
  [[nodiscard]] transport::network& transport() noexcept {
    stirred_ = true;
    return *network_;
  }

  // As the same functions of shm::endpoint.
  transport::status begin(transport::outgoing& out, std::size_t bytes, std::size_t alignment,
                          transport::spill allowed);
  void commit(transport::outgoing& out, transport::message_kind kind, std::uint64_t token, std::size_t bytes);
  void cancel(transport::outgoing& out) noexcept;

  // The same in a buffer of the transport's.

  /// Longest that may be of any kind, header included.
  static constexpr std::size_t most_in_place = transport::pooled_room[2];
  /// Longest that leaves with others.
  static constexpr std::size_t most_bundled = 512;
  /// False: it may not leave at once, or is longer than `most`, or the transport has no room. Then there is begin().
  bool begin_in_place(transport::outgoing& out, std::size_t bytes, std::size_t alignment,
                      std::size_t most = most_in_place);
  void commit_in_place(transport::outgoing& out, transport::message_kind kind, std::uint64_t token,
                       std::size_t bytes);
  void cancel_in_place(transport::outgoing& out) noexcept;
  /// May a message of the engine's of so many bytes leave at once, and whole? begin_in_place() may find no room all the same.
  [[nodiscard]] bool leaves_whole(std::int32_t target, std::size_t bytes) {
    return may_leave(peer(target), transport::lane::control, bytes, bytes);
  }
  /// A small message of the engine's in one call. False: it may not leave at once, or would leave with others, or the
  /// transport has no room. Then there is begin_in_place().
  bool send_at_once(std::int32_t target, std::uint64_t token, std::span<std::byte const> payload);
  /// The same of what nobody at this rank waits for. It may leave later, and does so with the next message to that peer or in this
  /// rank's next progress at any level (network_acknowledgements.cpp). Until then it counts as unsent.
  bool acknowledge(std::int32_t target, std::uint64_t token, std::span<std::byte const> payload);

  // A message of the engine's that grows where it lies with others that wait to leave, so that what many of a burst have in common
  // travels once. It has a multiple of 8 bytes, and is complete again when the lock is given up.

  /// Would a message of so many bytes, header included, lie with others now?
  [[nodiscard]] bool would_wait(std::int32_t target, std::size_t bytes);
  /// Does a message cost much, however short it is?
  [[nodiscard]] bool bundles() const noexcept { return bundles_; }
  /// Its payload's place. Null: there is no room.
  std::byte* write_bundled(std::int32_t target, std::uint64_t token, std::size_t payload);
  /// The payload of the last message that waits to leave for that rank, if it is one with that token; else null.
  std::byte* last_bundled(std::int32_t target, std::uint64_t token);
  /// Place for so many bytes more at its end. Null: there is no room.
  std::byte* lengthen_last(std::int32_t target, std::size_t bytes);

  /// begin_in_place(), on the control lane and of any length, of a message that needs no place in the order of that: it may go by way of
  /// another rank.
  bool begin_unordered(transport::outgoing& out, std::size_t bytes, std::size_t alignment);
  /// Is there this? Else send_by_host() need not be tried.
  [[nodiscard]] bool bundles_by_host() const noexcept { return by_host_; }
  /// A whole message of that kind, of the engine's. False: it has to go otherwise.
  bool send_by_host(std::int32_t target, std::uint64_t token, std::span<std::byte const> payload);
  /// What a neighbour has passed on.
  void take_passed(std::span<std::byte> part);

  /// The same, and counts it in `kept_back` until its target gets it without this rank's progress.
  void send_counted(std::int32_t target, std::uint64_t token, std::span<std::byte const> payload,
                    std::uint32_t& kept_back);

  /// Next arrived message, or null: engine messages and answers first. Lets the transport work where none is there, which
  /// sets `moved` if anything has. What is used in place may have been announced although there is no credit.
  transport::message* receive(transport::taking how, bool& moved) {
    bool const there = !arrived_[transport::index_of(transport::lane::control)].empty() ||
                       (how.requests && !arrived_[transport::index_of(transport::lane::request)].empty());
    bool const found = std::exchange(found_, false);
    if (!there) [[likely]] {
      looked_ = true;
      if (found || look()) {
        moved = true;
        // Of puts and gets nothing is left.
        if (arrived_[0].empty() && arrived_[1].empty() && announced_.empty()) return nullptr;
      } else if (announced_.empty()) {
        return nullptr;
      }
    }
    return take(how);
  }
  /// Goes on with what waits, and lets the transport work unless receive() has since the last time; true if anything moved.
  bool advance();
  /// Would both be fruitless, since nothing waits here, and it is too early for the transport to be asked again, or it costs nothing and has
  /// just been asked? False while only asking can tell. What it has found receive() tells of.
  [[nodiscard]] bool rests() {
    if (looks_.are_free()) return nothing_waits() && !too_many_open() && !found_ && !(found_ = look());
    return looks_.are_far(from_neighbours()) && nothing_waits();
  }

  /// Is something left where it is since private memory is used up?
  [[nodiscard]] bool lacks_memory() const noexcept;

  /// What needs this rank's progress before it has left.
  [[nodiscard]] std::size_t unsent() const noexcept { return unsent_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_waiting_for(std::int32_t rank) const noexcept;
  [[nodiscard]] std::size_t private_bytes_for(std::int32_t rank, transport::lane way) const noexcept;
  [[nodiscard]] std::size_t private_bytes_on(transport::lane way) const noexcept {
    return private_bytes_[transport::index_of(way)];
  }
  /// Calls and answers sent to and taken from other hosts, ever: the end of the job compares the sums of all ranks.
  [[nodiscard]] std::uint64_t calls_sent() const noexcept { return calls_sent_; }
  [[nodiscard]] std::uint64_t calls_taken() const noexcept { return calls_taken_; }
  /// One that goes to another host, or has come from there, with the data of a put.
  void note_call_sent() noexcept { ++calls_sent_; }
  void note_call_taken() noexcept { ++calls_taken_; }
  /// True if the network wakes this rank, also when something that is under way has come to its end.
  [[nodiscard]] bool may_sleep() {
    looks_.hurry();
    return waiting_ == 0 && bundled_ == 0 && network_->arm();
  }
  /// As transport::network::descriptor(); not under the lock.
  [[nodiscard]] int descriptor() const noexcept { return network_->descriptor(); }
  /// Begins to close all connections. Nothing more is sent, and losses are taken for closings.
  void close_all();
  /// Are there any that are not closed yet?
  [[nodiscard]] bool any_open() const noexcept;
  [[nodiscard]] std::size_t connections() const noexcept { return connected_.size(); }
  /// Ranks of which anything is kept.
  [[nodiscard]] std::size_t peers() const noexcept { return peers_.size(); }

  /// A rank of another host; or of this one, where the network is to do what processors could.
  network_peer& peer(std::int32_t rank) {
    if (recent_ != nullptr && recent_->rank == rank) [[likely]]
      return *recent_;
    return find_peer(rank);
  }
  /// Begins to connect if nobody has; true if the connection stands, which is used then.
  bool connect(network_peer& p);
  /// Told when a connection has ended, under the engine's lock: keys of that rank are invalid.
  std::vector<std::function<void(std::int32_t rank)>> on_close;
  /// Shown the engine's messages where they lie, before memory is taken for them: uses of what begins at `begin` (header
  /// included, which is not to be looked at; aligned to nothing) what it can now, and returns how many bytes are left there as a
  /// shorter message. 0: none. Null: nobody looks.
  std::size_t (*on_active)(std::int32_t source, std::uint64_t token, std::byte* begin,
                           std::size_t bytes) = nullptr;
  /// Told when the data of a notified put of that rank are in memory. May be empty.
  std::function<void(std::int32_t rank, std::uint64_t tag)> on_notified;
  /// "rank 2 (h2)"
  [[nodiscard]] std::string name_of(std::int32_t rank) const;
  /// Ends the job: what that rank has to do with cannot go on.
  [[noreturn]] void lost(std::int32_t rank, std::string_view words) const;

  // What the transport calls.
  transport::taken arrived(transport::arrival const& what) override;
  void notified(std::int32_t peer, std::uint64_t tag) override;
  void connection(transport::connection_event const& event) override;

 private:
  enum class form : std::uint8_t;
  struct frame;
  struct entry;
  struct announcement;
  struct piece;
  struct sending;
  struct leaving;
  struct open_buffer;
  struct fetching;
  /// A message that a peer has announced, and that was not asked for yet.
  struct announced_message {
    std::int32_t source;
    transport::message_kind kind;
    std::uint8_t alignment_log2;
    std::uint64_t token;
    std::size_t bytes;
    std::uint64_t number;              ///< to ask for it, where the transport does not fetch
    transport::arrival_handle handle;  ///< to fetch it
    bool late;
  };
  struct assembly {
    transport::message* whole = nullptr;
    std::size_t arrived = 0;
  };

  network_peer& find_peer(std::int32_t rank);
  static bool is_settled(network_peer const& p) noexcept;
  void forget(network_peer const& p);

  // Sending.
  void drop_sent(transport::message* m) noexcept;
  void charge(network_peer& p, transport::lane way, std::size_t bytes, int sign) noexcept;
  bool has_credit(network_peer const& p, std::size_t bytes) const noexcept;
  bool send_first(network_peer& p, transport::lane way);
  bool send_whole(network_peer& p, transport::lane way, transport::message* m, bool& possible);
  bool send_counted(network_peer& p, transport::lane way, transport::message* m, std::uint32_t* kept_back);
  bool announce(network_peer& p, transport::lane way, transport::message* m);
  bool send_pieces(network_peer& p, outgoing_pieces& what);
  bool send_note(network_peer& p, form what, std::uint64_t number);
  bool send_announcement(network_peer& p, transport::lane way, announcement what);
  transport::started send_with_credit(network_peer& p, transport::lane way, std::span<std::byte const> header,
                                      transport::local_place payload, std::size_t bytes,
                                      transport::operation* events);
  open_buffer* close_buffer(transport::outgoing const& out) noexcept;
  frame frame_of(network_peer& p, transport::message_kind kind, std::uint64_t token,
                 std::uint8_t alignment_log2) noexcept;
  void list(network_peer& p);

  // Bundles. Where a message lies in one, its position is no buffer's.
  static constexpr std::uint64_t in_bundle = 0;
  static constexpr std::uint64_t in_bundle_by_host = 1;
  static std::size_t room_of(std::size_t message_bytes) noexcept;
  bool begin_bundle(network_peer const& p, transport::lane way, std::size_t room, message_bundle& b);
  void begin_entry(message_bundle& b, transport::outgoing& out, std::size_t bytes, std::size_t alignment);
  void commit_entry(message_bundle& b, transport::outgoing const& out, frame const& head, std::size_t bytes);
  static void cancel_entry(message_bundle& b) noexcept;
  bool end_bundle(network_peer& p, message_bundle& b, form what, std::uint64_t token);
  bool may_leave(network_peer const& p, transport::lane way, std::size_t bytes,
                 std::size_t most = most_in_place) const noexcept;
  bool begin_buffer(network_peer& p, transport::outgoing& out, std::size_t bytes, std::size_t alignment);
  bool begin_with_others(transport::outgoing& out, std::size_t bytes, std::size_t alignment,
                         std::size_t most);
  bool begin_unobserved(network_peer& p, transport::outgoing& out, std::size_t bytes, std::size_t alignment);
  bool begin_bundled(network_peer& p, transport::outgoing& out, std::size_t bytes, std::size_t alignment);
  void commit_with_others(transport::outgoing& out, transport::message_kind kind, std::uint64_t token,
                          std::size_t bytes);
  void committed(network_peer& p, transport::outgoing const& out, transport::message_kind kind,
                 std::size_t bytes) noexcept;
  void commit_bundled(network_peer& p, transport::outgoing& out, transport::message_kind kind,
                      std::uint64_t token, std::size_t bytes);
  bool close_bundle(network_peer& p, transport::lane way);
  bool send_together(network_peer& p, transport::lane way);
  bool take_bundle_buffer(network_peer const& p, transport::lane way, std::size_t room,
                          transport::network_buffer& buffer);
  void send_bundle(network_peer& p, transport::network_buffer& buffer, form what, std::uint64_t token,
                   std::size_t used);
  void follow_burst(network_peer& p, transport::lane way);
  void look_after_bundles(network_peer& p);
  bool close_bundles();
  void take_bundle(transport::arrival const& what, std::uint64_t messages);
  std::size_t take_entry(std::byte* at, std::int32_t source);

  // Bundles by host.
  /// Messages of a bundle for others of this host.
  struct passing_on {
    std::int32_t source;
    std::size_t bytes;        ///< of the bundle
    std::uint32_t kept_back;  ///< parts of it that wait at this rank
  };
  void find_counterpart(network_peer& p);
  bool begin_by_host(network_peer& p, transport::outgoing& out, std::size_t bytes, std::size_t alignment);
  void commit_by_host(network_peer& p, transport::outgoing const& out, transport::message_kind kind,
                      std::uint64_t token, std::size_t bytes);
  bool close_by_host(network_peer& via);
  bool send_first_by_host(network_peer& p);
  void take_by_host(transport::arrival const& what, std::uint64_t token);
  std::size_t pass_on(passing_on& what, std::byte const* bundle, std::size_t i);
  bool tell_passed();

  // Acknowledgements.
  void note_following(network_peer& p) noexcept;
  void send_acknowledgements(network_peer& p);
  bool keep_acknowledgements(network_peer& p) noexcept;
  void stop_watching(network_peer& p) noexcept;
  void stop_watching();

  bool flush();
  bool flush(network_peer& p);
  bool settle_credit(network_peer& p);

  bool look();
  void note_unsent() noexcept {
    unsent_.store(waiting_ + bundled_ + network_->under_way(), std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t from_neighbours() const noexcept;
  [[nodiscard]] bool nothing_waits() const noexcept {
    return !stirred_ && unsent() == 0 && announced_.empty() && active_.empty() && bundling_.empty() &&
           arrived_[0].empty() && arrived_[1].empty();
  }

  // Connections.
  void opened(network_peer& p);
  void refused(network_peer& p, std::string_view words);
  void closes(network_peer& p) noexcept;
  [[nodiscard]] bool too_many_open() const noexcept { return connections() > most_open_ && !ending_; }
  void close_least_used();
  void close_some();
  void become(network_peer& p, link_state now) noexcept;
  void look_for_silence();
  void look_for_untaken(std::uint64_t now);

  // Receiving.
  transport::message* take(transport::taking how);
  transport::message* make_pooled(frame const& f, std::int32_t source, std::size_t bytes) const;
  transport::message* make_arrival(announced_message const& what, transport::admission how);
  void drop_arrival(transport::message* m) noexcept;
  void charge(transport::message& m) noexcept;
  std::size_t left_of(frame const& f, std::int32_t source, std::byte* payload, std::size_t bytes) const;
  void deliver(transport::message* m);
  void deliver_asked_for(transport::message* m);
  void owe(transport::message const& m);
  bool ask_for(announced_message const& what, transport::admission how);
  using lanes_of = std::array<bool, transport::lanes>;  ///< by index_of()
  bool ask_for_announced(lanes_of soon);
  void take_announcement(transport::arrival const& what, std::byte const* header);
  void take_piece(transport::arrival const& what);
  void start_pieces(network_peer& p, std::uint64_t number);

  std::unique_ptr<transport::network> network_;
  shape shape_;
  transport::message_memory& memory_;
  looks looks_;
  std::size_t most_open_;   ///< connections that are no burden
  std::uint64_t uses_ = 0;  ///< of connections, so far
  std::uint64_t next_close_ns_ = 0;
  std::unordered_map<std::int32_t, std::unique_ptr<network_peer>> peers_;
  std::size_t connecting_ = 0;          ///< so many are being connected
  std::uint64_t untaken_since_ns_ = 0;  ///< calls of others, for want of descriptors; 0: none
  std::uint64_t look_for_untaken_ns_ = 0;
  std::uint64_t look_for_silence_ns_ = 0;
  std::vector<network_peer*> connected_;  ///< their connections stand, and are not being closed
  network_peer* recent_ = nullptr;        ///< the last one that was looked for
  std::vector<network_peer*> active_;     ///< something waits for them, or is owed to them
  std::unordered_map<std::uint64_t, transport::message*> offered_;  ///< announced by us, by number
  std::deque<announced_message> announced_;
  std::array<std::size_t, transport::lanes> coming_{};      ///< that were asked for, by lane
  std::unordered_map<std::uint64_t, assembly> assemblies_;  ///< by sender and number
  transport::fifo<transport::message> arrived_[transport::lanes];
  open_buffer* free_buffers_ = nullptr;  ///< records that are not in use
  bool const bundles_;                   ///< messages cost much: several leave together
  std::size_t const most_at_once_;       ///< bytes that the transport has read when send() returns
  std::size_t bundled_ = 0;              ///< messages that lie in bundles
  bool const by_host_;                   ///< those to all ranks of a host
  std::vector<network_peer*> bundling_;
  std::list<passing_on> passing_on_;
  std::vector<std::uint64_t> others_;  ///< messages of a bundle that has arrived: target, place
  std::size_t watched_ = 0;            ///< peers to which something was acknowledged `before`
  std::size_t waiting_ = 0;  ///< messages that the transport does not have yet, and connections for peers
  std::atomic<std::size_t> unsent_{0};
  std::size_t private_bytes_[transport::lanes] = {};
  std::uint64_t calls_sent_ = 0;
  std::uint64_t calls_taken_ = 0;
  std::uint64_t next_number_ = 1;
  bool ending_ = false;
  bool looked_ = false;   ///< since the last advance()
  bool found_ = false;    ///< something, by the look before receive()
  bool stirred_ = false;  ///< unsent_ may be out of date: something has been started, or has moved
};

}  // namespace atl::engine
