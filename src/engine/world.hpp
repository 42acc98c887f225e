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
#include "engine/progress/waiting.hpp"
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
/// Notes for the diagnostics record that a communication call is entered.
inline void note_call(activity what, std::int32_t peer) noexcept {
  diagnostics->last_call.store(what, std::memory_order_relaxed);
  diagnostics->peer.store(peer, std::memory_order_relaxed);
}

}  // namespace atl::engine
