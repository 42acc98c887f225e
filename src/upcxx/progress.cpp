// Progress: what one call does, and waiting.
//
// User-level progress takes messages one by one and runs requests at once if this thread holds the master
// persona, replies if it holds the initiator's; other work goes to the queue of its persona. Then the queues
// of all personas on this thread's stack are drained as they were at that moment. Inside callbacks only
// internal progress is made.

#include <atoll/engine/token.hpp>
#include <cstring>

#include <atoll/base/check.hpp>
#include <atoll/engine/collectives.hpp>
#include <atoll/engine/team.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/detail/rpc_record.hpp>
#include <upcxx/detail/runtime.hpp>

#include "base/error.hpp"
#include "engine/network/decision_clock.hpp"
#include "engine/progress/messages.hpp"
#include "engine/progress/quiet.hpp"
#include "engine/progress/waiting.hpp"
#include "upcxx/runtime_state.hpp"

namespace atl::rt {

constinit std::size_t unfinished_calls = 0;

using engine::message;
using engine::message_kind;

namespace {

/// So that a flood of messages cannot keep other work of the thread waiting.
constexpr int messages_per_call = 32;

/// Adds to a counter of the diagnostics record; a locked instruction only where several threads count.
void count(std::atomic<std::uint64_t>& counter, std::uint64_t change) {
  if (engine::progress_engine::here().threaded) {
    counter.fetch_add(change, std::memory_order_relaxed);
  } else {
    counter.store(counter.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
}

// Exceptions must not leave callbacks: where these functions end, std::terminate says so (init.cpp).
void run_request(message* m) noexcept {
  count(engine::diagnostics->rpcs_run, 1);
  reinterpret_cast<engine::handler>(engine::resolve_from(m->token, m->source))(m);
}

pending_rpc* record_of(message const* m) {
  pending_rpc* record;
  std::memcpy(&record, m->payload(), sizeof record);
  return record;
}

void run_reply(message* m) noexcept {
  count(engine::diagnostics->replies_awaited, ~std::uint64_t{0});
  pending_rpc* const record = record_of(m);
  record->on_reply(record, m);
}

void run_held_request(task* t) {
  auto* const m = static_cast<message*>(t);
  // The library has ended since, and perhaps begun again: what the call refers to may be gone, and nobody waits for it.
  if (!engine::of_this_period(*m)) return engine::release(m);
  if (!engine::hold_back(m)) run_request(m);
}
void run_held_reply(task* t) {
  auto* const m = static_cast<message*>(t);
  if (engine::of_this_period(*m)) return run_reply(m);
  // Its persona was taken up again only after the library had ended. Counters began anew.
  pending_rpc* const record = record_of(m);
  record->on_reply(record, m);
}

void hold(message* m) {
  if (m->kind == message_kind::request) {
    m->run = &run_held_request;
    enqueue(master_persona(), m);
    return;
  }
  persona_state* const initiator = record_of(m)->initiator;
  if (initiator == nullptr) return run_reply(m);
  m->run = &run_held_reply;
  enqueue(*initiator, m);
}

void run_or_hold(thread_state& t, message* m) {
  persona_state* const target =
      m->kind == message_kind::request ? &master_persona() : record_of(m)->initiator;
  if (target == nullptr || target->holder.load(std::memory_order_relaxed) != &t) {
    hold(m);
    return;
  }
  t.current = target;
  if (m->kind == message_kind::request) {
    run_request(m);
  } else {
    run_reply(m);
  }
  t.current = t.top->active;  // also where the callback has changed which that is
}

/// In the seq thread mode only the holder of the master persona touches the engine.
bool may_poll(thread_state const& t) {
  return engine::progress_engine::exists() && (t.holds_master || engine::progress_engine::here().threaded);
}

/// Do tasks wait for a persona of this thread?
[[gnu::always_inline]] inline bool has_tasks(thread_state const& t) {
  scope_state const* s = t.top;  // never null: the default persona is at the bottom
  do {
    persona_state const& p = *s->active;
    if (p.first != nullptr) [[unlikely]]
      return true;
    if (p.inbox.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      return true;
    s = s->below;
  } while (s != nullptr);
  return false;
}

/// Has the engine nothing for this thread? A look at a handful of words that stay in the cache, and at a network that costs nothing to ask; not
/// of those who may not touch it.
[[gnu::always_inline]] inline bool engine_rests(thread_state const& t) {
  return !may_poll(t) || engine::quiet();
}

[[gnu::noinline]] bool run_all_tasks(thread_state& t) {
  bool ran = false;
  // Tasks may end, begin or move scopes; personas below have their turn in the next call then.
  scope_state* const top = t.top;
  for (scope_state* s = top; s != nullptr; s = s->below) {
    if (!run_tasks(t, *s->active)) continue;
    ran = true;
    if (t.top != top || (s != top && !on_stack(t, s))) break;
  }
  return ran;
}

/// One round of user-level progress outside callbacks.
[[gnu::noinline]] bool work(thread_state& t, bool only_tasks) {
  struct restricted {
    thread_state& t;
    explicit restricted(thread_state& which) : t(which) { t.in_user_progress = true; }
    ~restricted() { t.in_user_progress = false; }  // also where there is no memory
  } const context(t);
  bool moved = false;
  if (!only_tasks && may_poll(t)) {
    bool goes_on = true;
    for (int i = 0; i < messages_per_call; ++i) {
      // Requests are for the master persona. Who does not hold it only passes them on, and does not know how
      // soon they will run: they then count against the limit of private memory.
      message* const m = engine::next_user_message(t.holds_master, moved);
      if (m == nullptr) break;
      bool const reply = m->kind == message_kind::reply && !m->more;
      run_or_hold(t, m);
      // Somebody waits for a reply; looking for the next message first would cost a line transfer. What else is to be done is left to the
      // next call, which mostly looks in vain; where replies come in a row, to every sixteenth.
      if (reply) {
        goes_on = (++t.replies & 15U) == 0;
        break;
      }
    }
    if (goes_on) moved |= engine::advance();
  }
  if (has_tasks(t)) moved |= run_all_tasks(t);
  // Outside callbacks the persona on top is current, also where a callback has changed which that is. Looks in vain have run none.
  if (moved) t.current = t.top->active;
  return moved;
}

}  // namespace

void install_sink() {
  engine::message_sink = &hold;
  engine::runs_calls = []() noexcept { return current_thread != nullptr && current_thread->holds_master; };
}

bool progress_internal() { return may_poll(this_thread()) && engine::poll(); }

bool wait_internally() { return may_poll(this_thread()) && engine::poll_in_wait(); }

/// User-level progress, or internal inside callbacks; true if anything moved.
static inline bool advance_thread(thread_state& t) {
  if (t.in_user_progress) return progress_internal();
  if (has_tasks(t)) return work(t, engine_rests(t));
  if (engine_rests(t)) return false;
  // Asking a network may have ended what somebody waits for. That first: the next call goes through the rest.
  return work(t, has_tasks(t));
}

bool progress_user() { return advance_thread(this_thread()); }

namespace {

/// After fruitless calls in a row.
[[gnu::noinline]] void give_way(thread_state& t) {
  constexpr std::uint32_t again_with_spare_cores = 1U << 10;
  // The rank that the answer must come from may be on the other core and answer at once: look a few times.
  constexpr std::uint32_t when_crowded = 10;
  if (!engine::crowded()) {
    t.fruitless = engine::polls_with_spare_cores - again_with_spare_cores;
    engine::yield();
  } else if (t.fruitless >= when_crowded || (t.fruitless == 1 && engine::turn_is_long())) {
    t.fruitless = 0;
    engine::yield();
  }
}

[[gnu::noinline]] void progress_in_full() {
  thread_state& t = this_thread();
  if (t.in_user_progress ? progress_internal() : work(t, has_tasks(t) && engine_rests(t))) {
    t.fruitless = 0;
    if (engine::crowded() && engine::turn_is_long()) engine::yield();
  } else if (++t.fruitless >= engine::polls_before_yielding) {
    give_way(t);
  }
}

}  // namespace

// Mostly tail calls: nothing to do takes no stack frame, but where a network is asked. Aligned, so that it lies in as few lines of the cache as can be.
[[gnu::aligned(64)]] void progress_or_yield() {
  thread_state* const t = current_thread;
  if (t == nullptr || t->in_user_progress || has_tasks(*t)) [[unlikely]]
    return progress_in_full();
  if (may_poll(*t)) [[likely]] {
    if (!engine::quiet()) [[unlikely]]
      return progress_in_full();
  }
  if (++t->fruitless >= engine::polls_before_yielding) [[unlikely]]
    give_way(*t);
}

// ---- barriers ----
//
// After a barrier programs expect that the calls have run that members sent before they entered, and nearly
// always that is so anywhere. Inside a host it can be had for nothing: such a call stands in this rank's ring
// when the last arrival is seen. The sender stored the head of its message (release) before it published its
// arrival (release), directly or through others' messages; who has acquired the arrival sees the head.
// Then one look at the ring's next cell, which progress() polls anyway, says whether anything is there, and only
// if there is does the line with the senders' counter matter. (A barrier of two ranks feels each nanosecond
// between the arrival that it sees and its next own one: looking at all that progress() looks at is too much.)
// What was taken out of the ring before the barrier has been used by the progress that it makes in any case.
//
// Before one of those messages only cells can lie that are reserved and not yet committed, by ranks that are
// no members or by members' other threads. If they are all that the look sees, it is in vain: the calls behind
// them run in later progress.

namespace {

/// Messages that found no room leave before this rank arrives. Bounded: a member may be unable to take
/// them before the barrier is over, if its memory is full of calls that wait for what comes after it.
[[gnu::noinline]] void send_parked(engine::team_view const& team) {
  constexpr std::uint64_t patience_ns = 1'000'000'000;
  using clock = engine::decision_clock;
  std::uint64_t const until = clock::now_ns() + patience_ns;
  auto const any_parked = [&] {
    for (std::int32_t rank = 0; rank < team.rank_n; ++rank) {
      if (engine::parked_for(engine::team_to_world(team, rank))) return true;
    }
    return false;
  };
  engine::wait_while([&] { return any_parked() && clock::now_ns() < until; }, &progress_user,
                     engine::idling::spin);
}

/// Runs what is there, but not what keeps coming.
[[gnu::noinline]] void serve_arrived(thread_state& t) {
  // Others may have reserved cells since and not written them yet, and need not be waited for.
  constexpr int most_fruitless = 1000;
  constexpr int before_yielding = 50;
  std::uint64_t const end = engine::sent_here();
  for (int fruitless = 0; fruitless < most_fruitless;) {
    bool const moved = work(t, false);
    if (engine::taken_in(end)) break;
    fruitless = moved ? 0 : fruitless + 1;
    if (fruitless > before_yielding) engine::yield();
  }
  // What another thread took out of the ring meanwhile.
  advance_thread(t);
}

}  // namespace

void barrier(engine::team_view& team) {
  shm::endpoint const& shm = engine::progress_engine::here().shm;
  if (shm.unsent() != 0) [[unlikely]]
    send_parked(team);
  engine::wait_barrier(team, &progress_user);
  // In a callback, where opt programs only hear that it does not belong there, none runs.
  if (!shm.no_requests() && !in_restricted_context()) [[unlikely]]
    serve_arrived(this_thread());
}

bool in_restricted_context() noexcept {
  thread_state const* const t = current_thread;
  return t != nullptr && t->in_user_progress;
}

void wait_until(bool (*done)(void const*), void const* what) {
  thread_state& t = this_thread();
  if (t.in_user_progress) {
    check_failed(
        "wait: the future is not ready, and waiting for it inside a callback would never end: "
        "callbacks run inside user-level progress (the restricted context), which cannot be nested. "
        "Attach the rest with then() instead");
  }
  engine::waiting_note const note(activity::wait);
  engine::wait_while([&] { return !done(what); }, [&] { return advance_thread(t); },
                     may_poll(t) ? engine::idling::sleep : engine::idling::yield);
}

bool progress_required() noexcept {
  // Outgoing messages are the process's, whoever initiated them: the answer is the same for every persona, of threads that can send them.
  return may_poll(this_thread()) && engine::unsent() != 0;
}

void discharge() {
  if (!progress_required()) return;
  engine::waiting_note const note(activity::discharge);
  // Ranks that discharge run nothing that would free memory: two of them, each with more for the other than that may
  // keep, would wait for ever. One message at a time, when nothing else moves.
  engine::wait_while([] { return progress_required(); },
                     [] { return engine::poll() || engine::take_in_over_limit(); });
}

void note_rpc(std::int32_t target, bool round_trip) noexcept {
  engine::note_call(round_trip ? activity::rpc : activity::rpc_ff, target);
  count(engine::diagnostics->rpcs_sent, 1);
  if (round_trip) count(engine::diagnostics->replies_awaited, 1);
}

}  // namespace atl::rt
