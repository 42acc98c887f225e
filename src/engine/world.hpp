#pragma once

/// The engine's state in this process, and its start and stop.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <atoll/engine/am.hpp>
#include <atoll/engine/world.hpp>

#include "base/diagnostics.hpp"
#include "bootstrap/bootstrap.hpp"
#include "engine/collectives/teams.hpp"
#include "engine/host/host_domain.hpp"
#include "memory/host/region.hpp"
#include "transport/shm/endpoint.hpp"

namespace atl::engine {

/// Everything that exists between start and stop.
struct world_state {
  bootstrap::channel* channel = nullptr;
  memory::host_region region;
  std::unique_ptr<memory::arena> transit;
  std::unique_ptr<host_domain> host;
  std::unique_ptr<shm::endpoint> shm;
  team_registry teams;
  team_data* world_team = nullptr;
  team_data* local_team = nullptr;
  bool threaded = false;              ///< several threads may communicate (par)
  bool spare_cores = false;           ///< a core for each rank of this host: spinning disturbs nobody
  std::int64_t longest_sleep_ns = 0;  ///< 0: never sleep
};

/// Null before start and after stop.
extern world_state* world;
/// Never null; private memory until a launcher gives a record that it can see.
extern rank_diagnostics* diagnostics;

/// Collective. Joins the job, maps the host's memory, opens the transports. Throws startup_error.
void start(bool threaded);
/// Collective in effect: nothing may be in flight. Leaves the process able to start again.
void stop() noexcept;

/// Runs what was given to call_at_end() (flags.cpp).
void run_calls_at_end();

/// Takes user-level messages that poll() finds. Set by the front end before start.
extern void (*message_sink)(message*);

/// Next request or reply, for user-level progress; runs engine-level messages on the way. Null if none.
/// `in_place`: it will be used soon, so it may stay where its sender put it and need not count as held in
/// private memory. Sets `moved` if any message was taken, engine-level ones included.
message* next_user_message(bool in_place, bool& moved);

/// Sends what was kept and goes on with collectives; true if anything moved. Part of user-level progress.
bool advance();
/// Gives the core away once.
void yield() noexcept;
/// Has this process had its core for long, as far as it knows, while ranks outnumber cores? Reads the clock.
bool turn_is_long() noexcept;
/// After so many fruitless calls of progress() in a row, think of yielding. Also tells whether ranks
/// outnumber cores.
extern std::uint32_t polls_before_yielding;
constexpr std::uint32_t polls_with_spare_cores = 1U << 15;
inline bool crowded() noexcept { return polls_before_yielding != polls_with_spare_cores; }

/// Notes for the diagnostics record that a communication call is entered.
inline void note_call(activity what, std::int32_t peer) noexcept {
  diagnostics->last_call.store(what, std::memory_order_relaxed);
  diagnostics->peer.store(peer, std::memory_order_relaxed);
}

/// Marks the time inside a call that waits, for the diagnostics record.
class waiting_note {
 public:
  explicit waiting_note(activity what, std::int32_t peer = -1) noexcept;
  ~waiting_note();
  waiting_note(waiting_note const&) = delete;
  waiting_note& operator=(waiting_note const&) = delete;

 private:
  activity outer_;
};

/// Adaptive waiting: spin while there is a core per rank, else yield, then sleep until something arrives.
class waiter {
 public:
  /// `may_sleep`: whatever ends the wait rings this rank's doorbell (messages, flat collectives, tasks do).
  explicit waiter(bool may_sleep = true) noexcept : may_sleep_(may_sleep) {}
  ~waiter() { reset(); }
  waiter(waiter const&) = delete;
  waiter& operator=(waiter const&) = delete;

  /// Call after each fruitless poll of all that is awaited.
  void pause();
  /// Call after each fruitful one.
  void reset() {
    fruitless_ = 0;
    since_ns_ = 0;
    next_look_ns_ = 0;
    drowsy_ = false;
    if (bell_ != 0) [[unlikely]]
      withdraw();
  }

 private:
  void announce_or_sleep();
  void withdraw() noexcept;

  bool may_sleep_;
  bool drowsy_ = false;     ///< has waited for long enough to sleep
  std::uint32_t bell_ = 0;  ///< not 0: announced, so the caller looks once more before this sleeps
  std::uint32_t fruitless_ = 0;
  std::uint64_t since_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;  ///< after that much waiting, look whether peers do the same
};

}  // namespace atl::engine
