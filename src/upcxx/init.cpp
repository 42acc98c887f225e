// Start and end of the library.

#include <cxxabi.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <typeinfo>

#include <atoll/base/check.hpp>
#include <atoll/engine/collectives.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/detail/rpc_record.hpp>
#include <upcxx/detail/runtime.hpp>

#include "base/error.hpp"
#include "base/os/await_end.hpp"
#include "base/symbols.hpp"
#include "bootstrap/bootstrap.hpp"
#include "engine/collectives/barrier.hpp"
#include "engine/collectives/inquiries.hpp"
#include "engine/collectives/rings.hpp"
#include "engine/collectives/run_to_end.hpp"
#include "engine/copies/stream_patience.hpp"
#include "engine/period.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/messages.hpp"
#include "engine/progress/quiet.hpp"
#include "engine/progress/waiting.hpp"
#include "engine/world.hpp"
#include "upcxx/leaks.hpp"
#include "upcxx/runtime_state.hpp"

namespace atl::rt {

void install_sink();

namespace {
/// Changed by one thread at a time; any may ask whether there is a library.
constinit std::atomic<int> depth{0};
constinit bool checked_program = false;  ///< its code mode; the same in all of its files

/// Runs what is here and sends what has not left, once all ranks have come to finalize. Bounded: callbacks may queue
/// each other for ever, and streams of the program may wait for what nobody does any more.
void settle() {
  constexpr int most_rounds = 1'000'000;
  int fruitful = 0;
  bool moved = true;
  engine::stream_patience streams;
  engine::wait_while(
      [&] {
        if (moved) {
          streams.renew();
          return fruitful++ < most_rounds;
        }
        if (engine::unsent() == 0 && engine::progress_engine::here().open.awaited() == 0 &&
            !engine::any_held_back())
          return false;
        streams.check();
        return true;
      },
      [&] { return moved = progress_user(); });
}

/// Calls and answers between hosts may be on their way although all ranks have met. They are counted at both ends.
/// What was counted twice in a row, with as many taken as sent both times, was never anything else in between
/// (Mattern's four counters, 1987), so nothing is on its way.
void await_other_hosts() {
  engine::network_messages const* const network = engine::progress_engine::here().network;
  if (network == nullptr) return;
  struct counts {
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
  };
  constexpr auto add = [](void* a, void const* b, std::size_t, void const*) {
    static_cast<counts*>(a)->sent += static_cast<counts const*>(b)->sent;
    static_cast<counts*>(a)->taken += static_cast<counts const*>(b)->taken;
  };
  for (counts before{1, 0};;) {
    settle();
    counts now;
    {
      engine::guard const held;  // other threads may make progress
      now = {network->calls_sent(), network->calls_taken()};
    }
    engine::run_to_end(&progress_user, [&](engine::on_done done) {
      engine::start_reduce(engine::world_team(), &now, &now, 1, sizeof now, add, nullptr, -1, done);
    });
    if (now.sent == now.taken && before.sent == now.sent && before.taken == now.taken) return;
    before = now;
  }
}

/// All ranks have begun to finalize, so no call can be the wrong one. Whose question finds nobody any more would take
/// the peer for lost; those that were asked leave in the next settle().
void ask_no_more() {
  engine::guard const held;
  engine::inquiries::here().stop();
}

/// Connections end by agreement, so that nobody takes the end of another rank for a loss.
void leave_other_hosts() {
  engine::network_messages* const network = engine::progress_engine::here().network;
  if (network == nullptr) return;
  // A step of the last barrier may have found no room: others wait for it, and nothing follows a closing.
  engine::wait_while([&] { return network->unsent() != 0; });
  {
    engine::guard const held;
    network->close_all();
  }
  engine::wait_while([&] {
    engine::guard const held;
    return network->any_open();
  });
}

/// Says which calls of others will never be answered, unless an earlier period has said so.
void report_unfinished_calls() {
  static std::size_t reported = 0;
  if (unfinished_calls > reported) {
    std::size_t const news = unfinished_calls - reported;
    warn(
        "finalize",
        "%zu call%s of other ranks %s not finished here, since the future that %s returned is not ready; who "
        "called gets no answer, and the arguments stay in memory. Fulfil such futures before finalize.",
        news, news == 1 ? "" : "s", news == 1 ? "is" : "are", news == 1 ? "its callback" : "their callbacks");
  }
  reported = unfinished_calls;
}

std::terminate_handler previous_terminate = nullptr;

/// Ends the job over the exception that is being handled.
[[noreturn]] void blame_exception(char const* left) {
  std::type_info const* const type = abi::__cxa_current_exception_type();
  std::string const name = type == nullptr ? "of another language" : demangle(type->name());
  static constexpr char advice[] = "which must not throw: catch it inside, and return the outcome as a value";
  try {
    throw;
  } catch (std::exception const& error) {
    check_failed("an exception left %s, %s: %s: %s", left, advice, name.c_str(), error.what());
  } catch (...) {
    check_failed("an exception left %s, %s: %s", left, advice, name.c_str());
  }
}

/// Callbacks run in functions that let no exception pass, so those end here.
[[noreturn]] void on_terminate() {
  thread_state const* const t = current_thread;
  if (abi::__cxa_current_exception_type() != nullptr && t != nullptr && t->in_user_progress && depth != 0)
    blame_exception(
        "a callback (of rpc, lpc, then, as_lpc or as_rpc), or what serializes its arguments or result");
  if (previous_terminate != nullptr) previous_terminate();
  std::abort();
}

}  // namespace

void exception_left(char const* what) noexcept { blame_exception(what); }

bool initialized() noexcept { return depth.load(std::memory_order_relaxed) != 0; }

void init(bool threaded, bool checked) {
  if (thread_state const& t = this_thread(); depth != 0) {
    if (t.in_user_progress) check_failed("init: called inside a callback; call it from ordinary code");
    if (!t.holds_master) {
      check_failed(
          "init: the library is initialised already, and then only the thread that holds the master "
          "persona may call init again");
    }
    if (threaded != engine::world->several_threads) {
      check_failed(
          "init: the library was initialised in the other thread mode; compile the whole program "
          "with one UPCXX_THREADMODE");
    }
  }
  if (depth++ != 0) return;
  checked_program = checked;
  install_sink();
  serve_remote_atomics();
  // Once: the previous handler of a second period would be this one.
  if (previous_terminate == nullptr) previous_terminate = std::set_terminate(&on_terminate);
  try {
    read_leak_setting();
    engine::start(threaded);
  } catch (std::exception const& problem) {
    // What is wrong for all ranks rank 0 says, and its launcher ends the others meanwhile.
    if (bootstrap::rank_in_environment() != 0) os::await_end(std::chrono::seconds(1));
    fatal("init", "%s", problem.what());
  }
  bind_teams();
  acquire_master();
  check_thread_ends(checked);
  engine::begin_progress_thread();
}

void finalize(bool report_leaks) {
  if (depth == 0) check_failed("finalize: called more often than init");
  thread_state& t = this_thread();
  if (t.in_user_progress) check_failed("finalize: called inside a callback; call it from ordinary code");
  if (!t.holds_master) {
    check_failed(
        "finalize: the calling thread does not hold the master persona; take it back with a persona_scope "
        "on master_persona() first");
  }
  if (depth > 1) {
    progress_user();
    --depth;
    return;
  }
  engine::end_progress_thread();
  progress_user();
  // Programs should have waited for their operations. For those that have not: what was sent before finalize,
  // also what had found no room yet, reaches its target before the second barrier and runs; its replies,
  // before the third.
  constexpr collective_signature signature = sign(collective_kind::finalize);
  engine::meet(engine::world_team(), signature, &progress_user);
  settle();
  engine::meet(engine::world_team(), signature, &progress_user);
  ask_no_more();
  settle();
  await_other_hosts();
  engine::calls_at_end::here().run();
  if (report_leaks) report_leaks_of_all();
  engine::meet(engine::world_team(), signature, &wait_internally);
  leave_other_hosts();
  check_thread_ends(false);
  reset_objects();
  report_unfinished_calls();
  --depth;
  reset_teams();
  forget_forms();
  reset_devices();
  drop_master_scope();
  engine::stop();
}

char* getenv_console(char const* name) {
  char const* value = engine::world != nullptr ? engine::world->channel.console_env(name) : nullptr;
  if (value == nullptr) value = std::getenv(name);
  return const_cast<char*>(value);
}

void collective_in_callback(char const* what) noexcept {
  engine::rings::distrust();
  static constinit std::atomic<bool> said{false};
  if (said.exchange(true, std::memory_order_relaxed)) return;
  warn(
      what,
      "a collective was started inside a callback (the restricted context), where all ranks may not come to it in "
      "the same order, and one that waits may never end; said once. Code mode debug shows where");
}

bool past_the_end(char const* what) noexcept {
  if (initialized() || checked_program) return false;
  static constinit std::atomic<bool> said{false};
  if (!said.exchange(true, std::memory_order_relaxed)) {
    warn(
        what,
        "called after upcxx::finalize, so nothing happens; said once. Destroy it before: objects of main's scope "
        "go after finalize is called, unless they are in a block of their own");
  }
  return true;
}

void check_collective(char const* what) {
  thread_state& t = this_thread();
  if (!initialized()) check_failed("%s: called before upcxx::init or after upcxx::finalize", what);
  if (t.in_user_progress && !checked_program) {
    collective_in_callback(what);
  } else if (t.in_user_progress) {
    check_failed(
        "%s: collectives must not be called inside a callback (the restricted context): other ranks could be "
        "waited for that wait for us. Start it from ordinary code, after the wait",
        what);
  }
  if (!t.holds_master) {
    check_failed("%s: a collective needs the master persona on the stack of the calling thread", what);
  }
}

}  // namespace atl::rt
