// Sending with back-pressure, and taking in what arrives.
//
// Sending never deadlocks although it runs nothing of the user's: a rank that waits for room takes arrived
// messages into private memory, which frees its peers' queues and arenas, so some rank's wait always ends. A
// rank inside a callback does not wait at all: what finds no room is parked in private memory and leaves later,
// so that nothing the callback holds can be in the way. Private memory has a limit; when it is reached, the
// injection of a call throws and nothing already accepted is lost. Answers and the engine's own messages are
// never refused: see held_back.hpp for what bounds them.

#include "engine/progress/messages.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <atoll/base/exceptions.hpp>
#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "engine/network/decision_clock.hpp"
#include "engine/progress/back_pressure.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/held_back.hpp"
#include "engine/progress/peer_order.hpp"
#include "engine/progress/standstill.hpp"
#include "engine/progress/waiting.hpp"
#include "transport/message_pool.hpp"

namespace atl::engine {

using transport::spill;
using transport::status;

constinit std::atomic<std::uint64_t> waits_in_vain{0};

namespace {

/// By time, not by polls: where ranks outnumber cores, a poll may include a sleep.
constexpr std::uint64_t patience_ns = 2'000'000;
/// With the thread that runs what arrives, which may be off its core.
constexpr std::uint64_t patience_with_threads_ns = 1'000'000'000;

[[noreturn]] ATOLL_COLD void throw_exhausted(std::int32_t target, std::size_t bytes) {
  transport::message_memory const& memory = progress_engine::here().shm.memory();
  char text[256];
  std::snprintf(
      text, sizeof text,
      "%s: no private memory is left for a %zu-byte message to rank %d: messages take %zu of %zu bytes. "
      "Let ranks make progress between sends, or raise ATOLL_MESSAGE_MEMORY.",
      identity().c_str(), bytes, target, memory.used(), memory.limit());
  throw bad_shared_alloc(text);
}

[[noreturn]] ATOLL_COLD void no_memory_for_answer(std::int32_t target, std::size_t bytes) {
  fatal(
      "messages",
      "the system has no memory left for a %zu-byte message to rank %d that cannot be given up (an answer, or a "
      "step of a collective). Give the ranks more memory, or send less at a time.",
      bytes, target);
}

/// Ends the job: no transport reaches that rank.
[[noreturn]] ATOLL_COLD void no_way_to(std::int32_t rank) {
  if (rank < 0 || rank >= job.rank_n) no_such_rank(rank, job.rank_n);
  fatal(
      "messages",
      "a message to rank %d, which is on another host: no transport between hosts is loaded, so only ranks of one "
      "host can talk to each other",
      rank);
}

status try_begin(outgoing& out, std::size_t bytes, std::size_t alignment, spill allowed) {
  guard const held;
  progress_engine& engine = progress_engine::here();
  if (engine.shm.reaches(out.target)) [[likely]]
    return engine.shm.begin(out, bytes, alignment, allowed);
  if (engine.network == nullptr) no_way_to(out.target);
  return engine.network->begin(out, bytes, alignment, allowed);
}

/// Is something left where it is since this rank's memory is used up? Whoever sent it may do nothing before it is taken in.
bool lacks_memory(progress_engine const& engine) {
  guard const held;
  return engine.shm.lacks_memory() || (engine.network != nullptr && engine.network->lacks_memory());
}

/// Waits for room, taking arrived messages into private memory meanwhile.
ATOLL_COLD void begin_with_wait(outgoing& out, std::size_t bytes, std::size_t alignment) {
  waiting_note const note(activity::backpressure, out.target);
  progress_engine& engine = progress_engine::here();
  std::uint64_t const begin_ns = decision_clock::now_ns();
  // A target that gave no room in all that time is not waited for again until it does.
  std::uint64_t const patience = engine.impatient.with(out.target) ? 0 : patience_ns;
  bool const others_make_room = engine.threaded && !runs_calls();
  standstill still(begin_ns, others_make_room ? patience_with_threads_ns : patience_ns);
  bool moved = poll();
  auto const no_room = [&] {
    status s = try_begin(out, bytes, alignment, spill::never);
    if (s == status::ok) {
      engine.impatient.end(out.target);
      return false;
    }
    // Room may never come while callbacks that have not finished hold on to what we sent, or when this rank can
    // take nothing more in: spill a bounded amount.
    std::uint64_t const now = decision_clock::now_ns();
    std::uint64_t const waited = now - begin_ns;
    bool const at_once = engine.shm.starved() && engine.shm.reaches(out.target);
    bool const stands =
        engine.threaded ? still.lasts(engine, moved, now) : !moved && (at_once || waited >= patience_ns);
    bool const nothing_moves = stands && lacks_memory(engine);
    if (!nothing_moves && waited < patience) return true;
    s = try_begin(out, bytes, alignment, spill::bounded);
    if (s == status::ok) {
      engine.impatient.begin(out.target);
      if (patience != 0 && waited >= patience) waits_in_vain.fetch_add(1, std::memory_order_relaxed);
    }
    bool const for_good = s == status::no_memory ? stands || !others_make_room : nothing_moves;
    if (s != status::ok && for_good) throw_exhausted(out.target, bytes);
    return s != status::ok;
  };
  // Nobody rings when there is room again.
  wait_while(
      no_room, [&] { return moved = poll(); }, idling::spin);
}

/// Sends what was parked; true if anything moved.
bool flush(shm::endpoint& shm) {
  if (shm.busy() == 0) [[likely]]
    return false;
  bool const moved = shm.flush();
  diagnostics->messages_parked.store(shm.unsent(), std::memory_order_relaxed);
  diagnostics->bytes_in_private.store(shm.memory().used(), std::memory_order_relaxed);
  return moved;
}

/// Goes on with what is open beside messages that arrive.
bool advance(progress_engine& engine) {
  bool moved = false;
  if (engine.network != nullptr) moved |= engine.network->advance();
  if (engine.open.any()) moved |= engine.open.advance();
  return moved;
}

void dispatch(message* m) {
  if (m->kind == message_kind::active) {
    reinterpret_cast<handler>(resolve_from(m->token, m->source))(m);
  } else if (m->kind == message_kind::announced) {
    progress_engine::here().announced_sink(m);
  } else {
    message_sink(m);
  }
}

}  // namespace

namespace {

/// What finds no place in a ring: in a buffer of the network's, or in memory.
[[gnu::always_inline]] inline status begin_now(outgoing& out, std::size_t bytes, std::size_t alignment,
                                               std::size_t most_in_place, spill allowed) {
  if (progress_engine& engine = progress_engine::here();
      engine.network != nullptr && !engine.shm.reaches(out.target)) {
    guard const held;
    if (engine.network->begin_in_place(out, bytes, alignment, most_in_place)) [[likely]]
      return status::ok;
  }
  return try_begin(out, bytes, alignment, allowed);
}

/// am_begin() for what finds a place neither in a ring nor at once in a buffer of the network's.
[[gnu::noinline]] void begin_otherwise(outgoing& out, std::size_t bytes, pressure when_full,
                                       std::size_t alignment, std::size_t most_in_place) {
  spill const allowed = when_full == pressure::wait   ? spill::never
                        : when_full == pressure::park ? spill::limited
                                                      : spill::unlimited;
  if (begin_now(out, bytes, alignment, most_in_place, allowed) == status::ok) [[likely]]
    return;
  if (when_full == pressure::always) no_memory_for_answer(out.target, bytes);
  if (when_full == pressure::park) throw_exhausted(out.target, bytes);
  begin_with_wait(out, bytes, alignment);
}

/// am_begin() for what does not find a place in a ring at once. Apart, so that what does saves no registers.
[[gnu::noinline]] void begin_elsewhere(outgoing& out, std::size_t bytes, pressure when_full,
                                       std::size_t alignment, std::size_t most_in_place) {
  progress_engine const& engine = progress_engine::here();
  if (engine.network != nullptr && !engine.threaded && !engine.shm.reaches(out.target) &&
      engine.network->begin_in_place(out, bytes, alignment, most_in_place)) [[likely]]
    return;
  begin_otherwise(out, bytes, when_full, alignment, most_in_place);
}

/// The same of am_commit().
[[gnu::noinline]] void commit_under_lock(outgoing& out, message_kind kind, function_token token,
                                         std::size_t bytes) {
  guard const held;
  progress_engine& engine = progress_engine::here();
  if (out.where == transport::storage::in_network)
    return engine.network->commit_in_place(out, kind, token, bytes);
  if (out.where == transport::storage::network) return engine.network->commit(out, kind, token, bytes);
  engine.shm.commit(out, kind, token, bytes);
  diagnostics->messages_parked.store(engine.shm.unsent(), std::memory_order_relaxed);
}

/// Mostly by a jump: what is stored, registers included, waits behind what has been written into a line at which its reader looks.
[[gnu::noinline]] void commit_elsewhere(outgoing& out, message_kind kind, function_token token,
                                        std::size_t bytes) {
  progress_engine const& engine = progress_engine::here();
  if (out.where == transport::storage::in_network && !engine.threaded) [[likely]]
    return engine.network->commit_in_place(out, kind, token, bytes);
  commit_under_lock(out, kind, token, bytes);
}

}  // namespace

void am_begin(outgoing& out, std::int32_t target, std::size_t bytes, pressure when_full,
              std::size_t alignment, lane way) {
  out.target = target;
  out.way = way;
  if (progress_engine::here().shm.begin_in_ring(out, bytes, alignment)) [[likely]]
    return;
  begin_elsewhere(out, bytes, when_full, alignment, network_messages::most_in_place);
}

bool am_try_begin(outgoing& out, std::int32_t target, std::size_t bytes, std::size_t alignment, lane way) {
  out.target = target;
  out.way = way;
  return progress_engine::here().shm.begin_in_ring(out, bytes, alignment) ||
         begin_now(out, bytes, alignment, network_messages::most_in_place, spill::never) == status::ok;
}

void am_begin_data(outgoing& out, std::int32_t target, std::size_t bytes, pressure when_full,
                   std::size_t alignment) {
  out.target = target;
  out.way = lane::control;
  if (progress_engine::here().shm.begin_in_ring(out, bytes, alignment)) return;
  begin_elsewhere(out, bytes, when_full, alignment, bytes);
}

namespace {
bool may_go_by_host(progress_engine const& engine, std::int32_t target) {
  return engine.network != nullptr && engine.network->bundles_by_host() && !engine.shm.reaches(target);
}
}  // namespace

void am_begin_unordered(outgoing& out, std::int32_t target, std::size_t bytes, pressure when_full,
                        std::size_t alignment) {
  if (progress_engine& engine = progress_engine::here();
      engine.network != nullptr && !engine.shm.reaches(target)) [[likely]] {
    out.target = target;
    out.way = lane::control;
    guard const held;
    if (engine.network->begin_unordered(out, bytes, alignment)) [[likely]]
      return;
  }
  am_begin_data(out, target, bytes, when_full, alignment);
}

void am_grow(outgoing& out, std::size_t used, std::size_t bytes, std::size_t alignment, pressure when_full) {
  outgoing larger;
  if (out.where == transport::storage::ring || out.where == transport::storage::in_network) {
    // Cells that are reserved but not published hold back what others send to the target, and so may a network's buffer.
    // Do not wait with them.
    alignas(buffer_alignment) std::byte written[shm::max_cells * shm::cell_bytes];
    static_assert(sizeof written >= network_messages::most_in_place);
    std::memcpy(written + header_bytes, out.begin + header_bytes, used - header_bytes);
    am_cancel(out);
    am_begin(larger, out.target, bytes, when_full, alignment, out.way);
    std::memcpy(larger.begin + header_bytes, written + header_bytes, used - header_bytes);
  } else {
    try {
      am_begin(larger, out.target, bytes, when_full, alignment, out.way);
    } catch (...) {
      am_cancel(out);
      throw;
    }
    std::memcpy(larger.begin + header_bytes, out.begin + header_bytes, used - header_bytes);
    am_cancel(out);
  }
  out = larger;
}

void am_commit(outgoing& out, message_kind kind, function_token token, std::size_t bytes) {
  leaves_for_peers();
  if (out.where == transport::storage::ring) [[likely]]
    return progress_engine::here().shm.commit_in_ring(out, kind, token, bytes);
  commit_elsewhere(out, kind, token, bytes);
}

namespace {
[[gnu::noinline]] void am_short_elsewhere(std::int32_t target, function_token token, void const* data,
                                          std::size_t bytes, pressure when_full) {
  if (progress_engine& engine = progress_engine::here();
      engine.network != nullptr && !engine.shm.reaches(target)) {
    guard const held;
    if (engine.network->send_at_once(target, token, {static_cast<std::byte const*>(data), bytes})) return;
  }
  outgoing out;
  am_begin(out, target, header_bytes + bytes, when_full);
  std::memcpy(out.begin + header_bytes, data, bytes);
  am_commit(out, message_kind::active, token, header_bytes + bytes);
}
}  // namespace

void am_short(std::int32_t target, function_token token, void const* data, std::size_t bytes,
              pressure when_full) {
  leaves_for_peers();
  shm::endpoint& shm = progress_engine::here().shm;
  if (!shm.send_in_cell(target, lane::control, message_kind::active, token, data, bytes)) [[unlikely]]
    am_short_elsewhere(target, token, data, bytes, when_full);
}

bool am_at_once(std::int32_t target, function_token token, void const* data, std::size_t bytes) noexcept {
  progress_engine& engine = progress_engine::here();
  if (engine.network == nullptr || engine.shm.reaches(target)) return false;
  guard const held;
  leaves_for_peers();
  try {
    return engine.network->send_at_once(target, token, {static_cast<std::byte const*>(data), bytes});
  } catch (std::bad_alloc const&) {  // for a peer that is new: the usual way tells of it
    return false;
  }
}

void am_short_unordered(std::int32_t target, function_token token, void const* data, std::size_t bytes) {
  if (progress_engine& engine = progress_engine::here(); may_go_by_host(engine, target)) {
    guard const held;
    if (engine.network->send_by_host(target, token, {static_cast<std::byte const*>(data), bytes}))
      return leaves_for_peers();
  }
  am_short(target, token, data, bytes, pressure::always);
}

void am_counted(std::int32_t target, function_token token, void const* data, std::size_t bytes,
                std::uint32_t& kept_back) {
  leaves_for_peers();
  guard const held;
  progress_engine& engine = progress_engine::here();
  if (!engine.shm.reaches(target)) {
    if (engine.network == nullptr) no_way_to(target);
    return engine.network->send_counted(target, token, {static_cast<std::byte const*>(data), bytes},
                                        kept_back);
  }
  outgoing out;
  am_begin(out, target, header_bytes + bytes, pressure::always);
  std::memcpy(out.begin + header_bytes, data, bytes);
  engine.shm.commit(out, message_kind::active, token, header_bytes + bytes, &kept_back);
}

namespace {
[[gnu::noinline]] void acknowledge_otherwise(std::int32_t target, function_token token, void const* data,
                                             std::size_t bytes) {
  am_short(target, token, data, bytes, pressure::always);
}
}  // namespace

void am_acknowledge(std::int32_t target, function_token token, void const* data, std::size_t bytes) {
  progress_engine& engine = progress_engine::here();
  if (engine.network != nullptr && !engine.shm.reaches(target)) {
    guard const held;
    leaves_for_peers();
    if (engine.network->acknowledge(target, token, {static_cast<std::byte const*>(data), bytes})) return;
  }
  acknowledge_otherwise(target, token, data, bytes);
}

void am_commit_copying(outgoing& out, message_kind kind, function_token token, std::size_t bytes,
                       std::span<std::byte const> tail) {
  std::size_t const written = bytes - tail.size();
  // Where ranks share cores the reader finds all in the cache, and a sender that lost its core in the middle of
  // its copy would keep it waiting.
  if (out.where != transport::storage::arena || crowded()) {
    std::memcpy(out.begin + written, tail.data(), tail.size());
    return am_commit(out, kind, token, bytes);
  }
  shm::endpoint& shm = progress_engine::here().shm;
  leaves_for_peers();
  bool shown;
  {
    guard const held;
    shown = shm.commit_growing(out, kind, token, bytes, written);
  }
  shm.copy_tail(out, written, tail);
  if (!shown) am_commit(out, kind, token, bytes);
}

void am_cancel(outgoing& out) noexcept {
  guard const held;
  if (out.where == transport::storage::in_network)
    return progress_engine::here().network->cancel_in_place(out);
  if (out.where == transport::storage::network) return progress_engine::here().network->cancel(out);
  progress_engine::here().shm.cancel(out);
}

bool of_this_period(message const& arrived) noexcept {
  return progress_engine::exists() && arrived.period == progress_engine::here().shm.period();
}

namespace {
/// What was counted, and its sender's transit memory, went with its period.
ATOLL_COLD void release_late(message* arrived) noexcept {
  if (arrived->where == transport::storage::privately) std::free(arrived->base);
  transport::return_message(arrived);
}
}  // namespace

void release(message* arrived) noexcept {
  if (!of_this_period(*arrived)) [[unlikely]]
    return release_late(arrived);
  leaves_for_peers();  // its memory, for the sender's next message
  progress_engine::here().shm.release(arrived);
}

message* next_user_message(bool in_place, bool& moved) {
  for (;;) {
    try_guard const held;
    if (!held) return nullptr;
    progress_engine& engine = progress_engine::here();
    held_back_calls& waiting = engine.held_back;
    if (waiting.open() != 0 && in_place) [[unlikely]] {
      if (message* const m = waiting.take()) {
        moved = true;
        return m;
      }
    }
    transport::taking const how{
        .requests = !waiting.full(), .requests_in_place = in_place, .control_in_place = true};
    message* m = engine.shm.receive(how);
    bool const from_network = m == nullptr && engine.network != nullptr;
    if (from_network) m = engine.network->receive(how, moved);
    if (m == nullptr) return nullptr;
    came_from_peers();
    moved = true;
    bool const more = m->more;
    if (m->kind == message_kind::reply) return m;
    if (m->kind == message_kind::request) {
      if (!waiting.must_wait(m->source)) [[likely]]
        return m;
      waiting.add(m);
    } else {
      dispatch(m);
      // Puts and gets end like this, and who waits for one should hear of it before the next look.
      if (from_network && !more) return nullptr;
    }
  }
}

bool hold_back(message* request) {
  guard const held;
  held_back_calls& waiting = progress_engine::here().held_back;
  if (!waiting.must_wait(request->source)) return false;
  waiting.add(request);
  return true;
}

bool any_held_back() noexcept { return progress_engine::here().held_back.open() != 0; }

bool poll() {
  try_guard const held;
  if (!held) return false;
  progress_engine& engine = progress_engine::here();
  bool moved = flush(engine.shm);
  // Bounded, so that a flood cannot keep a caller here for ever.
  for (int i = 0; i < 256; ++i) {
    message* m = engine.shm.receive({});
    if (m == nullptr && engine.network != nullptr) {
      m = engine.network->receive({.requests = engine.shm.memory().admits_arrival(0)}, moved);
    }
    if (m == nullptr) break;
    came_from_peers();
    moved = true;
    bool const handled = m->kind == message_kind::active && !m->more;
    dispatch(m);
    // Looking for the next one costs a line transfer; who waited for this one should hear of it first.
    if (handled) break;
  }
  return moved | advance(engine);
}

bool take_in_over_limit() {
  try_guard const held;
  if (!held) return false;
  progress_engine& engine = progress_engine::here();
  transport::taking const how{.whatever_the_limit = true};
  message* m = engine.shm.receive(how);
  bool moved = false;
  if (m == nullptr && engine.network != nullptr) m = engine.network->receive(how, moved);
  if (m == nullptr) return false;
  came_from_peers();
  dispatch(m);
  return true;
}

bool poll_in_wait() {
  thread_local std::uint64_t since_ns = 0;  // nothing has moved, and there is no memory
  progress_engine const& engine = progress_engine::here();
  if (poll()) {
    since_ns = 0;
    return true;
  }
  if (!lacks_memory(engine)) {
    since_ns = 0;
    return false;
  }
  // Others may be slow to come for another reason; and calls of other threads may free memory.
  std::uint64_t const now = decision_clock::now_ns();
  if (since_ns == 0) since_ns = now;
  bool const others_make_room = engine.threaded && !runs_calls();
  return now - since_ns >= (others_make_room ? patience_with_threads_ns : patience_ns) &&
         take_in_over_limit();
}

std::uint64_t sent_here() noexcept { return progress_engine::here().shm.sent_here(); }

bool taken_in(std::uint64_t place) {
  guard const held;
  shm::endpoint const& shm = progress_engine::here().shm;
  return shm.received_to(place) || shm.starved();
}

bool parked_for(std::int32_t world_rank) {
  guard const held;
  progress_engine const& engine = progress_engine::here();
  if (engine.shm.reaches(world_rank)) return engine.shm.has_parked_for(world_rank);
  return engine.network != nullptr && engine.network->has_waiting_for(world_rank);
}

bool advance() {
  try_guard const held;
  if (!held) return false;
  progress_engine& engine = progress_engine::here();
  bool const moved = flush(engine.shm);
  return advance(engine) || moved;
}

}  // namespace atl::engine
