#pragma once

/// Everything of the engine that exists between start and stop of the library, in the order of its making.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "engine/collectives/inquiries.hpp"
#include "engine/collectives/matching.hpp"
#include "engine/collectives/rings.hpp"
#include "engine/collectives/teams.hpp"
#include "engine/collectives/under_way.hpp"
#include "engine/copies/copies.hpp"
#include "engine/host/host_domain.hpp"
#include "engine/network/network_messages.hpp"
#include "engine/network/simulated.hpp"
#include "engine/period.hpp"
#include "engine/progress/flags.hpp"
#include "engine/progress/progress_engine.hpp"
#include "engine/progress/progress_thread.hpp"
#include "engine/rma/remote_memory.hpp"
#include "memory/host/arena.hpp"
#include "memory/host/region.hpp"
#include "memory/host/reservation.hpp"
#include "transport/message_memory.hpp"
#include "transport/shm/endpoint.hpp"

namespace atl::engine {

/// What start() has found out before anything can be made.
struct start_plan {
  shm::endpoint_config transport;
  std::size_t message_limit = 0;  ///< private memory that messages may take
  bool remote_fences = false;     ///< of all ranks of this host (base/doorbell.hpp)
  bool one_network = true;        ///< the ranks of this host are in one network namespace
  bool flat = true;               ///< flat collectives are used
  std::int32_t bell_event = -1;   ///< number of this rank's, if it may sleep on descriptors
  waiting_policy waiting;
  bool threaded = false;         ///< several threads of the program may communicate (par)
  bool progress_thread = false;  ///< there is one (progress/progress_thread.hpp)
  std::unique_ptr<simulated_machine> machine;
};

/// Its destructor is the stop: nothing of a period is left for the next one.
struct world_state {
  world_state(bootstrap::channel& job_channel, memory::host_region memory_of_host, start_plan plan);
  world_state(world_state const&) = delete;
  world_state& operator=(world_state const&) = delete;
  ~world_state();

  bootstrap::channel& channel;
  memory::host_region region;
  memory::reservation transit_memory;
  memory::arena transit;
  host_domain host;
  transport::message_memory messages;
  shm::endpoint shm;
  std::unique_ptr<simulated_machine> machine;  ///< if hosts are simulated
  std::unique_ptr<network_messages> network;   ///< null in a job on one host
  progress_engine progress;
  watched_flags flags;
  team_registry teams;
  inquiries questions;
  call_log calls;
  rings waits;
  collectives_under_way collectives;
  remote_memory remote;
  device_copies copies;
  calls_at_end ends;
  bool const several_threads;  ///< of the program may communicate (par)
  bool const wants_progress_thread;
  std::unique_ptr<progress_thread> helper;
};

/// Null before start and after stop.
extern world_state* world;

/// Collective. Joins the job, maps the host's memory, opens the transports. Throws startup_error.
void start(bool threaded);
/// Starts the progress thread, if there is to be one: everything that it may call is ready. It ends with end_progress_thread().
void begin_progress_thread();
void end_progress_thread() noexcept;
/// Makes the shared heap of this rank, empty; of its memory nothing is taken yet.
void open_heap();
/// Collective in effect: nothing may be in flight. Leaves the process able to start again.
void stop() noexcept;

}  // namespace atl::engine
