// Copies of device memory: who does them, and handing on the news when they are complete.

#include "engine/copies/copies.hpp"

#include <cstring>
#include <new>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/engine/am.hpp>
#include <atoll/engine/job.hpp>

#include "base/copy_watched.hpp"
#include "engine/copies/kernel_waits.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/waiting.hpp"
#include "engine/rma/remote_memory.hpp"

namespace atl::engine {

namespace {

std::uint32_t lives = 0;

/// begin_gathering() calls that are open.
__attribute__((tls_model("initial-exec"))) constinit thread_local int gathering = 0;

}  // namespace

/// Lies in the completion's `under_way`.
struct device_copies::transfer final : memory::copy_record {
  struct both_ends {
    segment* target = nullptr;  ///< null: host memory
    segment* source = nullptr;
  };
  union {
    both_ends segments;
    stream_use until;  ///< of a report: what the stream has passed then
  };
  copy_completion* completion = nullptr;
  transfer() : memory::copy_record{nullptr}, segments() {}

  /// The copy keeps its segments, or no longer does.
  void use_segments(std::ptrdiff_t more) const noexcept {
    auto const& [target, source] = segments;
    if (target != nullptr) target->copies += static_cast<std::size_t>(more);
    if (source != nullptr && source != target) source->copies += static_cast<std::size_t>(more);
  }
};

device_copies::device_copies(progress_engine& engine)
    : single(this),
      work_source(engine.open, ending::silent),
      engine_(engine),
      life_(++lives),
      kernels_(engine, segments_) {
  engine.announced_sink = [](message* m) { here().keep_announced(m); };
  if (engine.network == nullptr) return;
  keys_ = std::make_unique<device_keys>(engine, segments_, *this);
  network_ = std::make_unique<network_copies>(engine, *keys_, remote_memory::here().keys().peers(), staged_);
}

bool device_copies::is_gathering() noexcept { return gathering != 0; }

device_copies& device_copies::for_call(char const* call) {
  if (!exists()) check_failed("%s: called before upcxx::init or after upcxx::finalize", call);
  return here();
}

device_copies::~device_copies() {
  segments_.finish();
  segments_.poll();  // streams have come to their ends, and nobody has heard of some
  engine_.announced_sink = nullptr;
}

/// Hands the news on, and the transfer is gone; false if that must be tried again, in progress.
bool device_copies::deliver(transfer* t) noexcept {
  // It lies in its completion, which ends with the news.
  bool const of_stream = t->landed == &reached;
  if (!t->completion->arrived(t->completion)) {
    undelivered_.push_back(t);
    return false;
  }
  of_stream ? engine_.open.add_awaited(-1) : engine_.open.add_owed(-1);
  count(-1);
  return true;
}

void device_copies::landed(memory::copy_record* record) noexcept {
  auto* const t = static_cast<transfer*>(record);
  t->use_segments(-1);
  here().deliver(t);
}

device_copies::transfer* device_copies::begin_transfer(copy_completion* completion, segment* target,
                                                       segment* source) {
  static_assert(sizeof(transfer) <= sizeof(copy_completion::under_way) &&
                alignof(transfer) <= alignof(void*));
  auto* const t = ::new (completion->under_way) transfer;
  t->completion = completion;
  t->landed = &landed;
  t->gathered = is_gathering();
  t->segments = {target, source};
  t->use_segments(1);
  count(1);
  return t;
}

memory::copy_record* device_copies::begin(copy_completion* completion, segment* target, segment* source) {
  engine_.open.add_owed(1);
  return begin_transfer(completion, target, source);
}

memory::copy_record* device_copies::begin_report(copy_completion* completion, std::uint64_t stream) {
  transfer* const t = begin_transfer(completion, nullptr, nullptr);
  t->landed = &reached;
  engine_.open.add_awaited(1);
  t->until = {stream, segments_.uses()};
  return t;
}

void device_copies::reached(memory::copy_record* record) noexcept {
  stop_if_job_ends();
  auto* const t = static_cast<transfer*>(record);
  device_copies& all = here();
  all.segments_.note_passed(t->until.stream, t->until.when);
  all.deliver(t);
}

void device_copies::start(memory_place to, memory_place from, std::size_t bytes,
                          copy_completion* completion) {
  copy_place const target = segments_.resolve(to, bytes);
  copy_place const source = segments_.resolve(from, bytes);
  memory::copy_record* const t = begin(completion, target.device, source.device);
  if (bytes == 0 && (target.elsewhere || source.elsewhere)) return landed(t);
  if (network_ != nullptr && network_->takes(target, source))
    return network_->start(target, source, bytes, t);
  // In a stream, whose device reaches private memory only if it is pinned.
  if (target.is_on_host_here() && source.is_on_host_here()) {
    if (target.on_host() != source.on_host()) copy_watched(target.on_host(), source.on_host(), bytes);
    return landed(t);
  }
  bool const unlike =
      target.device != nullptr && source.device != nullptr && target.device->kind != source.device->kind;
  if (unlike || target.out_of_reach() || source.out_of_reach()) {
    staged_.start(target, source, bytes, t);
    return;
  }
  memory::kind& kind = source.device != nullptr ? *source.device->kind : *target.device->kind;
  for (copy_place const* end : {&target, &source}) {
    if (end->device == nullptr && end->name.owner != 0) segments_.prepare_host(kind, end->owner());
  }
  // A call to this rank itself needs no announcement: it is queued when the copy is complete.
  bool const may_announce = completion->announced != nullptr && target.owner() != job.rank_me;
  if (may_announce) segments_.prepare_host(kind, job.rank_me);  // where the announcement is written
  memory::announcement news;
  std::int32_t const peer = target.owner() != job.rank_me ? target.owner() : source.owner();
  kind.copy(target.end(), source.end(), bytes, static_cast<std::uint32_t>(peer), t,
            may_announce ? &news : nullptr);
  if (news.word != nullptr) {
    auto const* const mine = engine_.host.at(engine_.host.me(), 0);
    auto const offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte const*>(news.word) - mine);
    completion->announced(completion, {offset, news.value});
  }
}

void device_copies::destroy(segment_name own, bool (*progress)()) {
  waiting_note const note(activity::segment);
  // What this rank and its streams do with it goes by keys of networks, too.
  std::uint64_t const until = segments_.wait_for_uses(own, progress);
  if (keys_ != nullptr) {
    {
      guard const held;
      keys_->begin_end(own.number);
    }
    wait_while([&] {
      guard const held;
      return !keys_->has_ended(own.number);
    });
  }
  segments_.destroy(own, until, progress);
  if (keys_ == nullptr) return;
  guard const held;
  keys_->gone(own.number);
}

void device_copies::keep_announced(message* m) {
  announced_trailer trailer;
  std::memcpy(&trailer, m->base + m->bytes - sizeof trailer, sizeof trailer);
  m->kind = message_kind::request;
  auto const* const word = reinterpret_cast<std::atomic<std::uint64_t> const*>(
      engine_.host.at(engine_.host.local_rank(m->source), trailer.offset));
  announced_.keep(*word, trailer.value, m);
}

bool device_copies::advance() {
  bool moved = announced_.let_go();
  if (staged_.retry()) moved = true;
  if (network_ != nullptr && network_->advance()) moved = true;
  for (transfer* t : std::exchange(undelivered_, {})) {
    if (deliver(t)) moved = true;
  }
  if (segments_.poll()) moved = true;
  if (streams_need_polls_) watch_streams();
  return moved;
}

void start_copy(memory_place to, memory_place from, std::size_t bytes, copy_completion* completion) {
  std::int32_t const target = to.owner == 0 ? job.rank_me : rank_of(to.owner);
  note_call(activity::copy, target != job.rank_me || from.owner == 0 ? target : rank_of(from.owner));
  guard const held;
  device_copies::here().start(to, from, bytes, completion);
}

void begin_gathering() noexcept { ++gathering; }

void submit_gathered() {
  if (!device_copies::exists()) return;
  guard const held;
  device_copies::here().segments().submit();
}

void end_gathering() {
  if (gathering == 1) submit_gathered();
  --gathering;
}

}  // namespace atl::engine
