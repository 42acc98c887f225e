// Taking packets out of the queues, and whatever else a poll does.

#include <algorithm>

#include "base/os/event.hpp"
#include "transport/sim/sim_network.hpp"

namespace atl::transport::sim {
namespace {

constexpr unsigned packets_a_poll = 32;  ///< of remote memory operations
constexpr std::size_t most_held = 256;   ///< of each queue

}  // namespace

unsigned sim_network::poll(receiver& target) {
  if (receiver_ != nullptr) return 0;  // from a callback
  if (in_step_ != nullptr) [[unlikely]]
    in_step_->next();
  ++polls_;
  bool const look_for_the_dead = (polls_ & 1023U) == 0;
  bool const arrived[queues] = {!rings_[0]->empty(), !rings_[1]->empty(), !rings_[2]->empty()};
  bool const any_arrived = arrived[0] || arrived[1] || arrived[2];
  if (!any_arrived && !look_for_the_dead && !busy()) {
    if (how_.idle_ns != 0) {
      std::uint64_t const begin = now_ns();
      while (now_ns() - begin < how_.idle_ns) {
      }
    }
    return 0;
  }
  receiver_ = &target;
  calls_ = 0;
  wire_.hold_back(false);
  bool moved = false;
  if (!held_.empty()) moved |= visit_held();
  if (arrived[remote_queue]) moved |= drain(remote_queue, packets_a_poll);
  // Who waits for a message hears of it before the look at the next cell, which costs a line transfer.
  if (arrived[control_queue]) moved |= drain(control_queue, 1);
  if (arrived[request_queue]) moved |= drain(request_queue, 1);
  if (busy() || look_for_the_dead) {
    moved |= advance_jobs();
    moved |= visit_late_events();
    moved |= visit_atomics();
    moved |= visit_peers();
  }
  if (stirred_) stirred_ = anything_waits();
  wire_.hold_back(!how_.passive);
  receiver_ = nullptr;
  return calls_ + (moved ? 1 : 0);
}

bool sim_network::arm() {
  sleeper_count nobody_asks{};
  int const event = descriptor();
  if (event >= 0) os::silence_event(event);
  // The look at the queues comes after it, so that who sends later rings.
  (void)announce(wire_.map().page_of(wire_.base(), me_)->bell, nobody_asks, remote_fences_);
  return in_step_ == nullptr && rings_[0]->empty() && rings_[1]->empty() && rings_[2]->empty() && !busy();
}

bool sim_network::drain(unsigned which, unsigned most) {
  shm::ring_consumer& ring = *rings_[which];
  bool any = false;
  for (unsigned n = 0; n < most && held_in_[which] < most_held;) {
    shm::ring_header header{};
    shm::cell const* const first = ring.front(header);
    if (first == nullptr) break;
    any = true;
    if (in_step_ != nullptr) [[unlikely]]
      in_step_->found(header, which, first->token);
    // This side is the only reader, and payloads are the receiver's to change.
    auto* const data = const_cast<std::byte*>(first->data);
    if (header.kind == static_cast<std::uint8_t>(kind::message) && !checked_ && held_.empty()) [[likely]] {
      peer_record* const from = peers_[header.source].get();
      if (from != nullptr && from->up() && header.alignment_log2 == from->their_connection) [[likely]] {
        ++n;
        show(*from, header.source, which, first->token, data);
        ring.pop(header);
        continue;
      }
    }
    if (header.kind != static_cast<std::uint8_t>(kind::padding)) {
      ++n;
      std::size_t const stamp = wire_.stamp_bytes();
      packet p{header.source,
               static_cast<std::uint8_t>(which),
               static_cast<kind>(header.kind),
               header.alignment_log2,
               first->token,
               data + stamp,
               header.bytes - 16U - stamp};
      std::uint64_t due = 0;
      bool wait = false;
      unsigned polls = 0;
      if (checked_) {
        if (stamp != 0) {
          due = word(data, 0);
          wait = due > now_ns();
        }
        if (choices_.chance(how_.reorder)) polls = some_polls();
        wait |= polls != 0;
      }
      if (wait || (!held_.empty() && overtakes(p, held_.size())) || !handle(p)) hold(p, due, polls);
    }
    ring.pop(header);
  }
  return any;
}

/// Is there something among the first `before` held packets that this one must stay behind?
bool sim_network::overtakes(packet const& p, std::size_t before) const {
  bool const connection = of_connection(p.kind);
  // How many puts were seen does not say which: later ones may have overtaken those that are held.
  bool const behind_puts = speaks_of_puts(p.kind);
  if (!connection && !how_.ordered && !behind_puts) return false;
  for (std::size_t i = 0; i < before; ++i) {
    held_packet const* const h = held_[i].get();
    if (h == nullptr || h->source != p.source) continue;
    if ((how_.ordered && h->where == p.where) || (connection && of_connection(h->kind)) ||
        (behind_puts && of_put(h->kind))) {
      return true;
    }
  }
  return false;
}

void sim_network::hold(packet const& p, std::uint64_t due, unsigned polls) {
  auto h = std::make_unique<held_packet>();
  static_cast<packet&>(*h) = p;
  h->due = due;
  h->polls = polls;
  h->kept = std::make_unique<std::byte[]>(p.bytes + 1);
  copy_bytes(h->kept.get(), p.body, p.bytes);
  h->body = h->kept.get();
  ++held_in_[p.where];
  held_.push_back(std::move(h));
  stirred_ = true;
}

bool sim_network::visit_held() {
  std::uint64_t const now = how_.timed() ? now_ns() : 0;
  bool any = false;
  // Handling one may drop others, but adds none.
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (held_[i] == nullptr) continue;
    if (held_[i]->polls != 0) {
      --held_[i]->polls;
      continue;
    }
    if (held_[i]->due > now || overtakes(*held_[i], i)) continue;
    std::unique_ptr<held_packet> h = std::move(held_[i]);
    if (handle(*h)) {
      --held_in_[h->where];
      any = true;
    } else {
      held_[i] = std::move(h);
    }
  }
  std::erase(held_, nullptr);
  return any;
}

void sim_network::drop_held(std::int32_t source) {
  for (auto& h : held_) {
    // What belongs to a later connection is not there yet: both sides' ends of this one come first.
    if (h == nullptr || h->source != source || of_connection(h->kind)) continue;
    if (h->connection != peers_[static_cast<std::size_t>(source)]->their_connection) continue;
    drop(*h);
    --held_in_[h->where];
    h.reset();
  }
}

/// False: it has to wait.
bool sim_network::handle(packet const& p) {
  peer_record& from = peer_of(p.source);
  if (of_connection(p.kind)) return take_connection(from, p);
  if (p.connection != from.their_connection || !from.up()) [[unlikely]] {
    // Queues do not wait for each other: it may have overtaken the beginning of its connection.
    if (static_cast<std::int8_t>(p.connection - from.their_connection) > 0) return false;
    drop(p);
    return true;
  }
  return of_message(p.kind) ? take_message(from, p) : take_remote(from, p);
}

/// Of a connection that is no more.
void sim_network::drop(packet const& p) {
  if (p.kind == kind::message_packet || p.kind == kind::message_part) {
    wire_.give_back(me_, p.where, static_cast<unsigned>(word(p.body, 0)));
  } else if (p.kind == kind::put_packet || p.kind == kind::data_packet) {
    wire_.give_back(me_, p.where, static_cast<unsigned>(word(p.body, 1)));
  }
}

bool sim_network::advance_jobs() {
  bool any = false;
  // Events may start jobs, which come behind these; references into a deque outlive that.
  for (std::size_t i = 0, n = jobs_.size(); i < n; ++i) {
    job& now = jobs_[i];
    // A flush stays behind the puts before it.
    bool const behind =
        now.is == job::what::flush &&
        std::any_of(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](job const& j) { return j.peer == now.peer && j.is == job::what::put; });
    if (behind || !push(now)) continue;
    any = true;
    peer_record& to = *peers_[static_cast<std::size_t>(now.peer)];
    --to.jobs;
    std::uint32_t const operation = now.is == job::what::flush ? no_operation : now.operation;
    now.peer = -1;
    if (operation != no_operation) {
      source_free(operation);
      left_less(operation, 1, outcome::ok);
    }
  }
  std::erase_if(jobs_, [](job const& j) { return j.peer < 0; });
  return any;
}

bool sim_network::visit_late_events() {
  bool any = false;
  for (std::size_t i = 0, n = late_events_.size(); i < n; ++i) {
    if (--late_events_[i].polls != 0) continue;
    late_event const due = late_events_[i];
    open_operation const& whose = operations_[due.operation];
    if (whose.used && whose.serial == due.serial) deliver(due.operation, due.source_only);
    any = true;
  }
  std::erase_if(late_events_, [](late_event const& e) { return e.polls == 0; });
  return any;
}

bool sim_network::visit_peers() {
  bool any = false;
  for (wanted_break const& b : std::vector(std::exchange(breaks_, {})))
    break_off(peer_of(b.peer), b.tell_peer);
  for (std::size_t i = 0; i < used_peers_.size(); ++i) {
    peer_record& with = *peers_[static_cast<std::size_t>(used_peers_[i])];
    if (with.way.parked_packets() != 0) any |= wire_.push_parked(with.way);
    if (!with.way.departures.empty() && with.way.introduced == with.way.connection) {
      for (std::uint32_t const operation : std::exchange(with.way.departures, {})) {
        if (find(with, operation) != nullptr) left_less(operation, 1, outcome::ok);
      }
      any = true;
    }
    if (with.now != peer_record::link::none && with.now != peer_record::link::connected) advance_link(with);
    if ((polls_ & 1023U) == 0 && with.now == peer_record::link::connected && notices_end_of(with)) {
      lose_connection(with, "the peer has ended");
    }
  }
  return any;
}

}  // namespace atl::transport::sim
