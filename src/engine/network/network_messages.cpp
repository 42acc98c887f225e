// Messages to other hosts: life, begin and commit, progress. What waits leaves in network_leaving.cpp; receiving is in network_arrivals.cpp,
// connections in network_connections.cpp.

#include "engine/network/network_messages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include <atoll/base/check.hpp>

#include "base/error.hpp"
#include "engine/network/decision_clock.hpp"
#include "engine/network/frames.hpp"
#include "transport/message_pool.hpp"
#include "transport/shm/endpoint.hpp"

namespace atl::engine {

using transport::admission;
using transport::header_bytes;
using transport::index_of;
using transport::lane;
using transport::message;
using transport::message_kind;
using transport::outgoing;
using transport::spill;
using transport::started;
using transport::status;
using transport::storage;

namespace {

constexpr std::size_t pooled_bytes = transport::pooled_room[2];
/// From here on it pays to let messages wait for others; an entry of a bundle costs some ten nanoseconds on either side.
constexpr std::uint64_t dear_message_ns = 500;

/// A record whose buffer is what begin() took.
message* record_of(outgoing const& out, std::size_t bytes) {
  auto* const m = reinterpret_cast<message*>(static_cast<std::uintptr_t>(out.position));
  m->bytes = bytes;
  return m;
}

}  // namespace

/// The count that a message which waits is part of, or null. In the bytes of its buffer that are not sent.
std::uint32_t* kept_back_of(message const& m) {
  std::uint32_t* count;
  std::memcpy(&count, m.base, sizeof count);
  return count;
}
void set_kept_back(message const& m, std::uint32_t* count) { std::memcpy(m.base, &count, sizeof count); }
static_assert(sizeof(std::uint32_t*) <= header_bytes);

/// A buffer of the transport's that is being written.
struct network_messages::open_buffer {
  transport::network_buffer of;
  open_buffer* next = nullptr;
};

network_messages::network_messages(std::unique_ptr<transport::network> network, shape what,
                                   transport::message_memory& memory)
    : single(this),
      network_(std::move(network)),
      shape_(std::move(what)),
      memory_(memory),
      looks_(network_->limits().idle_poll_ns),
      most_open_(network_->limits().connections == 0 ? ~std::size_t{0} : network_->limits().connections),
      bundles_(network_->limits().message_ns >= dear_message_ns),
      most_at_once_(std::min(pooled_bytes, network_->limits().inline_bytes)),
      by_host_(bundles_ && shape_.counterpart_of) {}

network_messages::~network_messages() {
  network_.reset();
  for (auto const& [rank, p] : peers_) {
    for (waiting_messages& queue : p->waiting) {
      while (!queue.empty()) drop_sent(queue.pop());
    }
    for (outgoing_pieces const& each : p->pieces) drop_sent(each.whole);
  }
  for (auto const& [number, m] : offered_) drop_sent(m);
  for (auto const& [key, part] : assemblies_) drop_arrival(part.whole);
  for (auto& queue : arrived_) {
    while (!queue.empty()) drop_arrival(queue.pop());
  }
  while (free_buffers_ != nullptr) delete std::exchange(free_buffers_, free_buffers_->next);
}

void no_such_rank(std::int32_t rank, std::int32_t ranks) {
  check_failed("a message, put or get is for rank %d, but the job has the ranks 0 to %d", rank, ranks - 1);
}

network_peer& network_messages::find_peer(std::int32_t rank) {
  if (rank < 0 || rank >= shape_.ranks) no_such_rank(rank, shape_.ranks);
  std::unique_ptr<network_peer>& found = peers_[rank];
  if (found == nullptr) {
    found = std::make_unique<network_peer>();
    found->rank = rank;
    if (by_host_) find_counterpart(*found);
  }
  recent_ = found.get();
  return *found;
}

// ---- begin, commit, cancel -----------------------------------------------------------------------

bool network_messages::may_leave(network_peer const& p, lane way, std::size_t bytes,
                                 std::size_t most) const noexcept {
  return p.link == link_state::open && p.waiting[index_of(way)].empty() && bytes <= most &&
         bytes - header_bytes <= p.sizes[index_of(way)].in_place &&
         (way == lane::control || has_credit(p, bytes));
}

/// In a buffer of the transport's, of which there may be none.
[[gnu::always_inline]] inline bool network_messages::begin_buffer(network_peer& p, outgoing& out,
                                                                  std::size_t bytes, std::size_t alignment) {
  std::size_t const payload = bytes - header_bytes;
  if (free_buffers_ == nullptr) [[unlikely]]
    free_buffers_ = new open_buffer;
  open_buffer* const buffer = free_buffers_;
  started const s = network_->begin(p.rank, out.way, sizeof(frame), payload, payload, buffer->of);
  if (s != started::complete) return false;
  free_buffers_ = buffer->next;
  // Written by commit_in_place(), wherever the transport wants it.
  out.begin = buffer->of.payload - header_bytes;
  out.align_to(alignment);
  out.where = storage::in_network;
  out.capacity = bytes;
  out.position = reinterpret_cast<std::uintptr_t>(buffer);
  // Now, so that what is begun meanwhile finds less.
  if (out.way == lane::request) p.in_use += cost_of(bytes);
  return true;
}

bool network_messages::begin_in_place(outgoing& out, std::size_t bytes, std::size_t alignment,
                                      std::size_t most) {
  if (bundles_) return begin_with_others(out, bytes, alignment, most);
  network_peer& p = peer(out.target);
  return may_leave(p, out.way, bytes, most) && begin_buffer(p, out, bytes, alignment);
}

/// Where messages may leave together.
bool network_messages::begin_with_others(outgoing& out, std::size_t bytes, std::size_t alignment,
                                         std::size_t most) {
  network_peer& p = peer(out.target);
  if (by_host_ && out.way == lane::request && p.waiting[index_of(lane::request)].empty() &&
      begin_by_host(p, out, bytes, alignment))
    return true;
  if (p.lately != last_acknowledged::nothing) [[unlikely]]
    note_following(p);
  return may_leave(p, out.way, bytes, most) && begin_unobserved(p, out, bytes, alignment);
}

bool network_messages::begin_unordered(outgoing& out, std::size_t bytes, std::size_t alignment) {
  if (by_host_ && begin_by_host(peer(out.target), out, bytes, alignment)) return true;
  return begin_in_place(out, bytes, alignment, bytes);
}

bool network_messages::begin_unobserved(network_peer& p, outgoing& out, std::size_t bytes,
                                        std::size_t alignment) {
  message_bundle const& b = p.bundles[index_of(out.way)];
  if ((b.in_burst || b.waits) && bytes <= most_bundled && alignment <= transport::buffer_alignment)
    return begin_bundled(p, out, bytes, alignment);
  return (b.waits || close_bundle(p, out.way)) && begin_buffer(p, out, bytes, alignment);
}

status network_messages::begin(outgoing& out, std::size_t bytes, std::size_t alignment, spill allowed) {
  waiting_messages const& queue = peer(out.target).waiting[index_of(out.way)];
  std::size_t const for_peer = queue.private_bytes;
  bool const crowded = !queue.empty() || for_peer >= shape_.credit;
  if (allowed == spill::never && crowded) return status::no_room;
  if (allowed == spill::bounded && !memory_.admits_spill(bytes, for_peer)) return status::no_room;
  admission const how = allowed == spill::unlimited ? admission::always : admission::if_there_is_credit;
  out.align_to(alignment);
  out.where = storage::network;
  out.capacity = bytes;
  // Small ones in pooled blocks, like those that arrive.
  bool const pooled = bytes <= pooled_bytes && alignment <= transport::buffer_alignment;
  if (pooled && how == admission::if_there_is_credit && !memory_.admits_sending(bytes))
    return status::no_memory;
  message* const m = transport::try_message(pooled ? bytes : 0);
  if (m == nullptr) return status::no_memory;
  if (pooled) {
    m->where = storage::ring;
  } else {
    m->where = storage::privately;
    m->base = memory_.take_for_sending(bytes, alignment, how);
    if (m->base == nullptr) {
      transport::return_message(m);
      return status::no_memory;
    }
  }
  set_kept_back(*m, nullptr);
  out.begin = m->base;
  out.position = reinterpret_cast<std::uintptr_t>(m);
  return status::ok;
}

void network_messages::cancel(outgoing& out) noexcept {
  message* const m = record_of(out, out.capacity);
  if (m->where == storage::privately) memory_.give_sent(m->base, out.capacity);
  transport::return_message(m);
}

void network_messages::commit(outgoing& out, message_kind kind, std::uint64_t token, std::size_t bytes) {
  message* const m = record_of(out, bytes);
  if (m->where == storage::privately) {
    memory_.shorten(out.capacity - bytes);
  } else {
    // Counted from here on, when it may have to wait.
    memory_.charge_sending(bytes);
  }
  m->token = token;
  m->kind = kind;
  m->period = out.alignment_log2;  // has another meaning only where it arrives
  m->source = out.target;
  if (kind != message_kind::active) ++calls_sent_;
  network_peer& p = peer(out.target);
  charge(p, out.way, bytes, 1);
  waiting_messages& queue = p.waiting[index_of(out.way)];
  queue.push(m);
  ++waiting_;
  if (queue.first == m) static_cast<void>(send_first(p, out.way));
  if (!queue.empty()) list(p);
  note_unsent();
}

/// The buffer of a message that is not being written any more; its record is free, and unchanged until the next begin.
network_messages::open_buffer* network_messages::close_buffer(outgoing const& out) noexcept {
  auto* const buffer = reinterpret_cast<open_buffer*>(static_cast<std::uintptr_t>(out.position));
  buffer->next = free_buffers_;
  return free_buffers_ = buffer;
}

void network_messages::commit_in_place(outgoing& out, message_kind kind, std::uint64_t token,
                                       std::size_t bytes) {
  if (bundles_) return commit_with_others(out, kind, token, bytes);
  network_peer& p = peer(out.target);
  frame const f = frame_of(p, kind, token, out.alignment_log2);
  network_->commit(close_buffer(out)->of, std::as_bytes(std::span(&f, 1)), bytes - header_bytes);
  // What has time until the message is on its way.
  committed(p, out, kind, bytes);
  note_unsent();
}

void network_messages::committed(network_peer& p, outgoing const& out, message_kind kind,
                                 std::size_t bytes) noexcept {
  p.last_use = ++uses_;
  if (out.way == lane::request) p.in_use -= cost_of(out.capacity) - cost_of(bytes);
  if (kind != message_kind::active) ++calls_sent_;
}

/// Where messages may leave together.
void network_messages::commit_with_others(outgoing& out, message_kind kind, std::uint64_t token,
                                          std::size_t bytes) {
  network_peer& p = peer(out.target);
  committed(p, out, kind, bytes);
  if (out.position == in_bundle_by_host) return commit_by_host(p, out, kind, token, bytes);
  if (out.position == in_bundle) {
    commit_bundled(p, out, kind, token, bytes);
    if (out.way == lane::control) send_acknowledgements(p);
    return;
  }
  follow_burst(p, out.way);
  frame const f = frame_of(p, kind, token, out.alignment_log2);
  network_->commit(close_buffer(out)->of, std::as_bytes(std::span(&f, 1)), bytes - header_bytes);
  send_acknowledgements(p);
  note_unsent();
}

void network_messages::cancel_in_place(outgoing& out) noexcept {
  network_peer& p = peer(out.target);
  if (out.way == lane::request) p.in_use -= cost_of(out.capacity);
  if (out.position == in_bundle_by_host) return cancel_entry(p.counterpart->by_host);
  if (out.position == in_bundle) return cancel_entry(p.bundles[index_of(out.way)]);
  network_->cancel(close_buffer(out)->of);
}

bool network_messages::send_at_once(std::int32_t target, std::uint64_t token,
                                    std::span<std::byte const> payload) {
  network_peer& p = peer(target);
  if (bundles_ || payload.size() > most_at_once_ || p.link != link_state::open ||
      !p.waiting[index_of(lane::control)].empty())
    return false;
  constexpr auto alignment_log2 = static_cast<std::uint8_t>(std::countr_zero(transport::buffer_alignment));
  frame const f{token, message_kind::active, alignment_log2, form::whole, static_cast<std::uint32_t>(p.owed)};
  // The transport only reads it.
  transport::local_place const from{const_cast<std::byte*>(payload.data()), nullptr};
  started const s =
      send_with_credit(p, lane::control, std::as_bytes(std::span(&f, 1)), from, payload.size(), nullptr);
  if (!transport::has_begun(s)) return false;
  p.last_use = ++uses_;
  note_unsent();
  return true;
}

void network_messages::send_counted(std::int32_t target, std::uint64_t token,
                                    std::span<std::byte const> payload, std::uint32_t& kept_back) {
  std::size_t const bytes = header_bytes + payload.size();
  outgoing out;
  out.target = target;
  if (begin(out, bytes, transport::buffer_alignment, spill::unlimited) != status::ok) {
    fatal(
        "messages",
        "the system has no memory left for a %zu-byte message to rank %d. Give the ranks more memory, or send less at a time.",
        bytes, target);
  }
  std::memcpy(out.begin + header_bytes, payload.data(), payload.size());
  set_kept_back(*record_of(out, bytes), &kept_back);
  ++kept_back;
  commit(out, message_kind::active, token, bytes);
}

void network_messages::charge(network_peer& p, lane way, std::size_t bytes, int sign) noexcept {
  auto const more = static_cast<std::size_t>(sign) * bytes;
  p.waiting[index_of(way)].private_bytes += more;
  private_bytes_[index_of(way)] += more;
}

void network_messages::drop_sent(message* m) noexcept {
  charge(peer(m->source), transport::lane_of(m->kind), m->bytes, -1);
  if (m->where == storage::privately) {
    memory_.give_sent(m->base, m->bytes);
  } else {
    memory_.shorten(m->bytes);
  }
  transport::return_message(m);
}

std::size_t network_messages::private_bytes_for(std::int32_t rank, lane way) const noexcept {
  auto const found = peers_.find(rank);
  return found == peers_.end() ? 0 : found->second->waiting[index_of(way)].private_bytes;
}

bool network_messages::has_waiting_for(std::int32_t rank) const noexcept {
  auto const found = peers_.find(rank);
  return found != peers_.end() && !found->second->waiting[index_of(lane::request)].empty();
}

/// Takes along the credit that is owed.
network_messages::frame network_messages::frame_of(network_peer& p, message_kind kind, std::uint64_t token,
                                                   std::uint8_t alignment_log2) noexcept {
  return {token, kind, alignment_log2, form::whole, static_cast<std::uint32_t>(std::exchange(p.owed, 0))};
}

bool network_messages::has_credit(network_peer const& p, std::size_t bytes) const noexcept {
  return p.in_use == 0 || p.in_use + cost_of(bytes) <= shape_.credit;
}

// ---- progress ------------------------------------------------------------------------------------

std::uint64_t network_messages::from_neighbours() const noexcept {
  return shape_.neighbours != nullptr ? shape_.neighbours->taken() : std::uint64_t{0};
}

bool network_messages::look() {
  decision_clock::look();
  if (watched_ != 0) [[unlikely]]
    stop_watching();
  if (!looks_.are_free() &&
      !(looks_.may_be_due(from_neighbours()) && looks_.is_due(decision_clock::now_ns()))) [[unlikely]]
    return false;
  bool const moved = network_->poll(*this) != 0;
  stirred_ |= moved;
  if (!looks_.are_free()) [[unlikely]] {
    std::uint64_t const now = decision_clock::now_ns();
    looks_.looked(moved, now, from_neighbours());
    if (now >= look_for_untaken_ns_) look_for_untaken(now);
  }
  return moved;
}

bool network_messages::advance() {
  bool moved = !std::exchange(looked_, false) && !looks_.had_better_wait(from_neighbours()) && look();
  if (!announced_.empty()) moved |= ask_for_announced({});
  if (!passing_on_.empty()) moved |= tell_passed();
  if (!active_.empty()) moved |= flush();
  if (!bundling_.empty()) moved |= close_bundles();
  if (too_many_open()) [[unlikely]]
    close_some();
  if (connecting_ != 0) [[unlikely]]
    look_for_silence();
  if (moved || stirred_ || unsent() != 0) {
    note_unsent();
    stirred_ = false;
  }
  return moved;
}

}  // namespace atl::engine
