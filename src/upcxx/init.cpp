// Start and end of the library.

#include <cstdio>
#include <cstdlib>

#include <upcxx/detail/check.hpp>
#include <upcxx/detail/persona_state.hpp>

#include "base/error.hpp"
#include "engine/world.hpp"
#include "upcxx/runtime_state.hpp"

namespace atl::rt {

void install_sink();

namespace {
constinit int depth = 0;

/// Runs what is here and sends what has not left. Bounded: callbacks may queue each other for ever.
void settle() {
  constexpr int most_rounds = 1'000'000;
  engine::waiter idle;
  for (int fruitful = 0; fruitful < most_rounds;) {
    if (progress_user()) {
      ++fruitful;
      idle.reset();
    } else if (engine::unsent() == 0) {
      return;
    } else {
      idle.pause();
    }
  }
}

}  // namespace

bool initialized() noexcept { return depth != 0; }

void init(bool threaded) {
  if (depth++ != 0) return;
  install_sink();
  try {
    engine::start(threaded);
  } catch (std::exception const& problem) {
    fatal("init", "%s", problem.what());
  }
  bind_teams();
  acquire_master();
}

void finalize() {
  if (depth == 0) fatal("finalize", "called more often than init");
  thread_state& t = this_thread();
  if (!t.holds_master) fatal("finalize", "the calling thread does not hold the master persona");
  if (t.in_user_progress) fatal("finalize", "called inside a callback");
  if (depth > 1) {
    progress_user();
    --depth;
    return;
  }
  progress_user();
  // Programs should have waited for their operations. For those that have not: what was sent before finalize,
  // also what had found no room yet, reaches its target before the second barrier and runs; its replies,
  // before the third.
  engine::wait_barrier(engine::world_team(), &progress_user);
  settle();
  engine::wait_barrier(engine::world_team(), &progress_user);
  settle();
  engine::wait_barrier(engine::world_team(), &progress_internal);
  --depth;
  reset_objects();
  reset_teams();
  reset_devices();
  drop_master_scope();
  engine::stop();
}

char* getenv_console(char const* name) {
  char const* value = engine::world != nullptr ? engine::world->channel->console_env(name) : nullptr;
  if (value == nullptr) value = std::getenv(name);
  return const_cast<char*>(value);
}

void check_collective(char const* what) {
  thread_state& t = this_thread();
  if (!initialized()) fatal(what, "called before upcxx::init or after upcxx::finalize");
  if (t.in_user_progress) {
    fatal(what, "a collective was started inside a callback; start it from ordinary code, outside progress");
  }
  if (!t.holds_master) fatal(what, "a collective needs the master persona on the calling thread's stack");
}

}  // namespace atl::rt
