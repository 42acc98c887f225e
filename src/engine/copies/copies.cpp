// Copies of device memory: who does them, and handing on the news when they are complete.

#include "engine/copies/copies.hpp"

#include <new>
#include <utility>
#include <vector>

#include <atoll/engine/host_map.hpp>

#include "engine/copies/segments.hpp"
#include "engine/progress/guard.hpp"
#include "engine/world.hpp"

namespace atl::engine {

std::atomic<std::size_t> copies_under_way{0};
std::atomic<std::size_t> device_work{0};

namespace {

/// begin_gathering() calls that are open.
__attribute__((tls_model("initial-exec"))) constinit thread_local int gathering = 0;

/// Lies in the completion's `under_way`.
struct transfer final : memory::copy_record {
  segment* target = nullptr;  ///< null: host memory
  segment* source = nullptr;
  copy_completion* completion = nullptr;
  transfer() : memory::copy_record{nullptr} {}
};
static_assert(sizeof(transfer) <= sizeof(copy_completion::under_way) && alignof(transfer) <= alignof(void*));

/// In place, but the news found no memory. Under the engine's lock.
std::vector<transfer*>& undelivered() {
  static auto* const all = new std::vector<transfer*>;
  return *all;
}

memory::copy_end end_of(memory_place place, segment const* s) noexcept {
  if (s != nullptr) return {s->memory.get(), place.address};
  if (place.owner == 0) return {nullptr, place.address};
  auto const rank = static_cast<std::uint32_t>(place.owner);
  return {nullptr, reinterpret_cast<std::uintptr_t>(hosts.to_address(rank, place.address))};
}

/// Hands the news on; false if that must be tried again, else the transfer is gone.
bool deliver(transfer* t) noexcept {
  if (!t->completion->arrived(t->completion)) return false;
  count(copies_under_way, -1);
  count(device_work, -1);
  return true;
}

void complete(memory::copy_record* record) noexcept {
  auto* const t = static_cast<transfer*>(record);
  if (t->target != nullptr) --t->target->copies;
  if (t->source != nullptr && t->source != t->target) --t->source->copies;
  if (!deliver(t)) undelivered().push_back(t);
}

/// The other rank that a copy concerns, as far as there is one.
std::int32_t peer_of(memory_place to, memory_place from) noexcept {
  std::int32_t const target = to.owner == 0 ? job.rank_me : rank_of(to.owner);
  return target != job.rank_me || from.owner == 0 ? target : rank_of(from.owner);
}

}  // namespace

void start_copy(memory_place to, memory_place from, std::size_t bytes, copy_completion* completion) {
  std::int32_t const peer = peer_of(to, from);
  note_call(activity::copy, peer);
  auto* const t = ::new (completion->under_way) transfer;
  t->completion = completion;
  t->landed = &complete;
  t->gathered = gathering != 0;
  guard const held;
  t->target = on_host(to) ? nullptr : &find_segment(to, bytes);
  t->source = on_host(from) ? nullptr : &find_segment(from, bytes);
  if (t->target != nullptr) ++t->target->copies;
  if (t->source != nullptr && t->source != t->target) ++t->source->copies;
  count(copies_under_way, 1);
  count(device_work, 1);
  bool const staged = (t->target != nullptr && t->target->out_of_reach) ||
                      (t->source != nullptr && t->source->out_of_reach) ||
                      (t->target != nullptr && t->source != nullptr && t->target->kind != t->source->kind);
  if (staged) {
    start_staged(to, from, bytes, t);
    return;
  }
  memory::kind& kind = t->source != nullptr ? *t->source->kind : *t->target->kind;
  if (t->target == nullptr && to.owner != 0) prepare_host(kind, rank_of(to.owner));
  if (t->source == nullptr && from.owner != 0) prepare_host(kind, rank_of(from.owner));
  // A call to this rank itself needs no announcement: it is queued when the copy is complete.
  bool const may_announce =
      completion->announced != nullptr && to.owner != 0 && rank_of(to.owner) != job.rank_me;
  if (may_announce) prepare_host(kind, job.rank_me);  // where the announcement is written
  memory::announcement news;
  kind.copy(end_of(to, t->target), end_of(from, t->source), bytes, static_cast<std::uint32_t>(peer), t,
            may_announce ? &news : nullptr);
  if (news.word != nullptr) {
    auto const* const mine = hosts.to_address(static_cast<std::uint32_t>(job.rank_me), 0);
    auto const offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte const*>(news.word) - mine);
    completion->announced(completion, {offset, news.value});
  }
}

void begin_gathering() noexcept { ++gathering; }

void end_gathering() {
  if (--gathering != 0) return;
  guard const held;
  submit_kinds();
}

bool advance_copies() {
  bool moved = release_announced() | retry_staged();
  for (transfer* t : std::exchange(undelivered(), {})) {
    if (deliver(t)) {
      moved = true;
    } else {
      undelivered().push_back(t);
    }
  }
  moved |= poll_kinds();
  return moved;
}

}  // namespace atl::engine
