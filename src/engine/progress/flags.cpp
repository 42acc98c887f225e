// Flags between ranks, and what waits for them.

#include "engine/progress/flags.hpp"

#include <cstring>

#include <atoll/engine/am.hpp>
#include <atoll/engine/job.hpp>

#include "engine/progress/guard.hpp"
#include "engine/progress/peer_order.hpp"
#include "engine/progress/waiting.hpp"

namespace atl::engine {
namespace {

struct raised {
  std::uint64_t offset;
  std::uint64_t value;
};

void store_flag(std::byte* flag, std::uint64_t value) {
  auto* const line = reinterpret_cast<flag_line*>(flag);
  leaves_for_peers();
  line->value.store(value, std::memory_order_release);
}

void flag_arrived(message* m) {
  raised what;
  std::memcpy(&what, m->payload(), sizeof what);
  release(m);
  host_domain const& host = progress_engine::here().host;
  store_flag(host.at(host.me(), what.offset), what.value);
}

}  // namespace

void raise_flag(host_address const& flag, std::uint64_t value) {
  host_domain const& host = progress_engine::here().host;
  std::uint32_t const local = host.local_rank(static_cast<std::int32_t>(flag.rank));
  if (local == host_domain::none) [[unlikely]]
    return raise_flag_by_message(flag, value);
  store_flag(host.at(local, flag.offset), value);
  host.wake(local);
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
  watched_flags::here().add(look, context, done);
}

void watched_flags::add(bool (*look)(void*), void* context, on_done done) {
  if (look(context)) {
    done.call(done.context);
    return;
  }
  flags_.push_back({look, context, done});
  count(1);
}

bool watched_flags::advance() {
  bool any = false;
  for (std::size_t i = 0; i < flags_.size();) {
    watched const each = flags_[i];
    if (!each.look(each.context)) {
      ++i;
      continue;
    }
    flags_[i] = flags_.back();
    flags_.pop_back();
    count(-1);
    came_from_peers();
    each.done.call(each.done.context);
    any = true;
  }
  return any;
}

}  // namespace atl::engine
