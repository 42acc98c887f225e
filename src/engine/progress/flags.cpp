// Flags between ranks, and what waits for them.

#include <atoll/engine/flags.hpp>

#include <cstring>
#include <utility>
#include <vector>

#include <atoll/engine/am.hpp>
#include <atoll/engine/world.hpp>

#include "engine/collectives/collective.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/peer_order.hpp"
#include "engine/progress/quiet.hpp"
#include "engine/world.hpp"

namespace atl::engine {
namespace {

struct watched {
  bool (*look)(void*);
  void* context;
  on_done done;
};

// Under the engine's lock.
std::vector<watched> watched_flags;
std::vector<void (*)()> calls_at_end;
std::uint64_t ended = 0;

struct raised {
  std::uint64_t offset;
  std::uint64_t value;
};

void store_flag(host_address const& flag, std::uint64_t value) {
  auto* const line = reinterpret_cast<flag_line*>(hosts.to_address(flag.rank, flag.offset));
  leaves_for_peers();
  line->value.store(value, std::memory_order_release);
}

void flag_arrived(message* m) {
  raised what;
  std::memcpy(&what, m->payload(), sizeof what);
  release(m);
  store_flag({static_cast<std::uint32_t>(job.rank_me), what.offset}, what.value);
}

}  // namespace

void raise_flag(host_address const& flag, std::uint64_t value) {
  if (!hosts.is_local(flag.rank)) [[unlikely]]
    return raise_flag_by_message(flag, value);
  store_flag(flag, value);
  world->host->wake(flag.rank - hosts.first);
}

void raise_flag_by_message(host_address const& flag, std::uint64_t value) {
  raised const what{flag.offset, value};
  am_short(static_cast<std::int32_t>(flag.rank), token_cache<&flag_arrived>::get(), &what, sizeof what);
}

void wait_for(bool (*look)(void*), void* context) {
  if (!look(context)) {
    waiting_note const note(activity::wait);
    wait_while([&] { return !look(context); });
  }
  came_from_peers();
}

void poll_for_flags() {
  static thread_local std::uint32_t fruitless = 0;
  constexpr std::uint32_t looks_when_crowded = 10;
  if (poll()) {
    fruitless = 0;
  } else if (crowded() && ++fruitless >= looks_when_crowded) {
    fruitless = 0;
    yield();
  }
  came_from_peers();
}

void watch(bool (*look)(void*), void* context, on_done done) {
  guard const held;
  if (look(context)) {
    done.call(done.context);
    return;
  }
  watched_flags.push_back({look, context, done});
  count_watches(watched_flags.size());
}

bool advance_watches() {
  bool any = false;
  for (std::size_t i = 0; i < watched_flags.size();) {
    watched const each = watched_flags[i];
    if (!each.look(each.context)) {
      ++i;
      continue;
    }
    watched_flags[i] = watched_flags.back();
    watched_flags.pop_back();
    came_from_peers();
    each.done.call(each.done.context);
    any = true;
  }
  if (any) count_watches(watched_flags.size());
  return any;
}

void drop_watches() {
  watched_flags.clear();
  count_watches(0);
  ++ended;
}

void call_at_end(void (*function)()) {
  guard const held;
  calls_at_end.push_back(function);
}

void run_calls_at_end() {
  for (auto* const function : std::exchange(calls_at_end, {})) function();
}

std::uint64_t periods_ended() noexcept { return ended; }

}  // namespace atl::engine
