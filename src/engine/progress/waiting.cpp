// Waiting for something that other ranks must do.
//
// With a core per rank: spin, with the pause hint, for some 200 us; then yield, since another job may share
// the machine, and sleep at once where that is so. Otherwise yield at once. After a while of nothing, sleep on
// the own doorbell until a peer rings it or some time has passed. Sleeping takes two calls of pause(): the first announces it, then the
// caller polls once more, and only if that is fruitless too does the second sleep.

#include "engine/progress/waiting.hpp"

#include <sched.h>

#include <atomic>

#include "base/clock.hpp"
#include "base/pause.hpp"
#include "bootstrap/mpi_singletons.hpp"
#include "engine/host/call_sites.hpp"
#include "engine/network/decision_clock.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {
namespace {

constexpr std::uint32_t spins_with_spare_cores = 3'000;  // some 200 us of polling
// Then yield for so long before sleeping: waking up costs tens of microseconds, which ranks with a core each
// would notice and crowded ones gain back.
constexpr std::uint64_t yield_for_ns = 200'000;
constexpr std::uint64_t yield_for_ns_with_spare_cores = 20'000'000;
/// A rank that shares its core and finds work at every poll gives way after so long: the kernel would leave
/// it the core for milliseconds, in which others can neither answer it nor its peers.
constexpr std::uint64_t long_turn_ns = 50'000;

/// A yield that lasts so long has given the core to somebody who does not give it back before the kernel takes it, after
/// milliseconds. Whoever sleeps instead is woken at once by what it waits for, since it has used less than its share.
constexpr std::uint64_t long_yield_ns = 100'000;
/// Then waiting is sleeping for so long: every wait would cost another turn of the other's.
constexpr std::uint64_t wary_ns = 20'000'000;
constexpr std::uint32_t spins_when_wary = 100;
/// When a yield took long although there is a core for each rank; 0: none did lately. Relaxed everywhere: a hint.
constinit std::atomic<std::uint64_t> core_taken_ns{0};

/// Yields, and notes whether another job has the core.
void yield_warily() noexcept {
  std::uint64_t const before = now_ns();
  yield();
  std::uint64_t const after = now_ns();
  if (after - before > long_yield_ns) core_taken_ns.store(after, std::memory_order_relaxed);
}

/// When the core was last given away. Relaxed everywhere: it is a hint, and any thread's yield will do.
constinit std::atomic<std::uint64_t> turn_began_ns{0};

/// Nothing would wake us when a peer has made room for what is unsent, or a device is done, or when a peer has read what has left but
/// lies in our memory: calls that are held back, and steps of collectives, may wait for that.
bool nobody_rings(progress_engine const& engine) noexcept {
  if (engine.shm.unsent() != 0 || engine.open.silent() != 0) return true;
  if (engine.shm.busy() != 0 && engine.open.any()) return true;
  if (engine.network == nullptr) return false;
  try_guard const held;
  // What waits for memory is taken in when patience has ended.
  return !held || engine.network->lacks_memory() || !engine.network->may_sleep();
}

}  // namespace

constinit std::uint32_t polls_before_yielding = polls_with_spare_cores;

void waiter::pause() {
  if (how_ == idling::yield) {
    yield();
    return;
  }
  bool const spare_cores = progress_engine::here().waiting.spare_cores;
  std::uint64_t const taken_ns = spare_cores ? core_taken_ns.load(std::memory_order_relaxed) : 0;
  ++fruitless_;
  if (spare_cores && fruitless_ < (taken_ns != 0 ? spins_when_wary : spins_with_spare_cores)) {
    cpu_pause();
    return;
  }
  if (since_ns_ == 0) {
    since_ns_ = decision_clock::now_ns();
    waiting_note::grows_long();
  }
  if (taken_ns != 0) {
    drowsy_ = drowsy_ || now_ns() - taken_ns < wary_ns;
    if (!drowsy_) core_taken_ns.store(0, std::memory_order_relaxed);
  }
  // Reading the clock costs as much as a few polls: look at every eighth.
  if (!drowsy_ &&
      ((fruitless_ & 7U) != 0 ||
       decision_clock::now_ns() - since_ns_ < (spare_cores ? yield_for_ns_with_spare_cores : yield_for_ns))) {
    spare_cores ? yield_warily() : yield();
    return;
  }
  drowsy_ = true;
  announce_or_sleep();
}

void waiter::announce_or_sleep() {
  progress_engine& engine = progress_engine::here();
  waiting_note::grows_long();
  answer_call_site(engine.host);
  if (announced_ == 0) {
    std::uint64_t const waited_ns = decision_clock::now_ns() - since_ns_;
    if (waited_ns > next_look_ns_) {
      next_look_ns_ = waited_ns + engine.suspicious_ns;
      bootstrap::look_for_mpi_singletons_again();
      if (engine.long_wait != nullptr) engine.long_wait(waited_ns);
    }
    if (how_ != idling::sleep || nobody_rings(engine) || engine.waiting.longest_sleep_ns == 0) {
      yield();
    } else {
      announced_ = engine.host.announce_sleep();
    }
    return;
  }
  // Not quiet: another thread held the engine's lock while the caller polled, or a message waits for memory.
  if (!nobody_rings(engine) && engine.shm.quiet()) {
    engine.host.sleep(announced_, engine.waiting.longest_sleep_ns);
  } else {
    yield();
  }
  withdraw();
}

void waiter::withdraw() noexcept {
  announced_ = 0;
  progress_engine::here().host.withdraw_sleep();
}

void yield() noexcept {
  sched_yield();
  if (crowded()) turn_began_ns.store(now_ns(), std::memory_order_relaxed);
}

bool turn_is_long() noexcept {
  return now_ns() - turn_began_ns.load(std::memory_order_relaxed) > long_turn_ns;
}

namespace {

/// The calling thread's.
constinit thread_local waiting_note* innermost = nullptr;

void show_wait(activity what, std::int32_t peer, std::uint64_t entered_ns) noexcept {
  diagnostics->entered_ns.store(entered_ns, std::memory_order_relaxed);
  diagnostics->waits_for.store(peer, std::memory_order_relaxed);
  diagnostics->waits_in.store(what, std::memory_order_relaxed);
}

}  // namespace

void waiting_note::show() const noexcept { show_wait(what_, peer_, entered_ns_); }

waiting_note::waiting_note(activity what, std::int32_t peer) noexcept
    : outer_(innermost), what_(what), peer_(peer) {
  innermost = this;
  show();
}

waiting_note::~waiting_note() {
  innermost = outer_;
  if (outer_ != nullptr) [[unlikely]] {
    outer_->show();
  } else {
    show_wait(activity::none, -1, 0);
  }
}

void waiting_note::grows_long() noexcept {
  waiting_note* const own = innermost;
  if (own == nullptr) return;
  if (own->entered_ns_ == 0) own->entered_ns_ = now_ns();
  // Not in the place of another thread's, unless they look the same.
  activity const shown = diagnostics->waits_in.load(std::memory_order_relaxed);
  bool const same =
      shown == own->what_ && diagnostics->waits_for.load(std::memory_order_relaxed) == own->peer_;
  if (shown == activity::none || same) own->show();
}

}  // namespace atl::engine
