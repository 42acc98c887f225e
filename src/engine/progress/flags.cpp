// Flags between ranks, and what waits for them.

#include "engine/progress/flags.hpp"

#include <cstring>

#include <atoll/engine/am.hpp>
#include <atoll/engine/job.hpp>

#include "engine/progress/guard.hpp"
#include "engine/progress/messages.hpp"
#include "engine/progress/peer_order.hpp"
#include "engine/progress/waiting.hpp"

namespace atl::engine {
namespace {

void flag_arrived(message* m) {
  std::uint64_t offset = 0;
  std::memcpy(&offset, m->payload(), sizeof offset);
  release(m);
  raise_flag_here(progress_engine::here().host.me(), offset, 1);
}

}  // namespace

void raise_flag_here(std::uint32_t local_rank, std::uint64_t offset, std::uint64_t by) {
  host_domain const& host = progress_engine::here().host;
  auto* const line = reinterpret_cast<flag_line*>(host.at(local_rank, offset));
  leaves_for_peers();
  // Whoever waits for the flag reads it (acquire). Only the engine writes here, one thread at a time.
  line->value.store(line->value.load(std::memory_order_relaxed) + by, std::memory_order_release);
  if (local_rank != host.me()) host.wake(local_rank);
}

void raise_flag(host_address const& flag, std::uint64_t value) {
  host_domain const& host = progress_engine::here().host;
  std::uint32_t const local = host.local_rank(static_cast<std::int32_t>(flag.rank));
  if (local == host_domain::none) [[unlikely]]
    return raise_flag_by_message(flag);
  leaves_for_peers();
  reinterpret_cast<flag_line*>(host.at(local, flag.offset))->value.store(value, std::memory_order_release);
  host.wake(local);
}

void raise_flag_by_message(host_address const& flag) {
  std::uint64_t const offset = flag.offset;
  // Whoever raises it has counted it, and may be in a callback: it waits for nothing, and does not fail.
  am_short(static_cast<std::int32_t>(flag.rank), token_cache<&flag_arrived>::get(), &offset, sizeof offset,
           pressure::always);
}

void wait_for(bool (*look)(void*), void* context) {
  if (!look(context)) {
    waiting_note const note(activity::wait);
    wait_while([&] { return !look(context); }, &poll_in_wait);
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
