// How long segments stay for streams and graphs of the program that use them.

#include <algorithm>
#include <chrono>
#include <thread>

#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engine/copies/copies.hpp"
#include "engine/copies/kernel_waits.hpp"
#include "engine/copies/segments.hpp"
#include "engine/copies/stream_patience.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/waiting.hpp"

namespace atl::engine {

namespace {

/// With what the program has not ended.
constexpr std::chrono::seconds patience(10);

std::string describe_kept(std::uint64_t bytes) {
  return bytes == 0 ? "" : format(" (they keep %s of segments)", settings::format_bytes(bytes).c_str());
}

}  // namespace

std::shared_ptr<void> live_captures::find(memory::program_streams& streams, memory::stream_handle s,
                                          std::uint64_t capture) {
  std::erase_if(known_, [](known const& k) { return k.alive.expired(); });
  for (known const& each : known_) {
    if (each.capture != capture || each.of != &streams) continue;
    if (auto alive = each.alive.lock(); alive != nullptr) return alive;
  }
  auto made = std::make_shared<char>();
  if (!streams.keep_for_graph(s, made)) return nullptr;
  known_.push_back({&streams, capture, made});
  return made;
}

void graph_uses::add(std::uint64_t capture, std::shared_ptr<void> const& alive) {
  forget_gone();
  bool const is_known =
      std::any_of(known_.begin(), known_.end(), [&](use const& u) { return u.capture == capture; });
  if (!is_known) known_.push_back({capture, alive});
}

void graph_uses::name(std::vector<std::uint64_t>& captures) const {
  for (use const& each : known_) captures.push_back(each.capture);
}

void segment_table::note_use(segment& used, std::uint64_t stream) {
  ++uses_;
  if (used.known.name.rank == job.rank_me) return;  // its end waits for all streams
  stream_passes& passes = entry_of(*used.kind).passes;
  passes.note_use({stream, uses_});
  passes.add(used.uses, {stream, uses_});
}

void segment_table::note_passed(std::uint64_t stream, std::uint64_t when) {
  for (known_kind& each : kinds_) each.passes.note_passed({stream, when});  // one at most knows the stream
}

bool segment_table::must_stay(segment& peers) {
  return peers.copies != 0 || peers.kernels != 0 || peers.graphs.any() ||
         !std::all_of(peers.uses.begin(), peers.uses.end(),
                      [&](stream_use const& use) { return entry_of(*peers.kind).passes.has_passed(use); });
}

/// Segments that only waited for copies, and for streams and graphs of the program, to end.
void segment_table::erase_outlived(memory::kind const* idle) {
  // A stream may wait for what comes by this thread alone.
  std::erase_if(kept_, [idle](segment& own) {
    return !own.graphs.any() && (own.kind == idle || own.memory->ends_at_once());
  });
  for (std::size_t i = 0; i < outlived_.size();) {
    segment* const found = look_up(outlived_[i]);
    if (found != nullptr && must_stay(*found)) {
      ++i;
      continue;
    }
    erase(outlived_[i]);
    outlived_[i] = outlived_.back();
    outlived_.pop_back();
  }
}

bool segment_table::note_graph(segment* used, memory::program_streams& streams, void* stream,
                               std::uint64_t capture) {
  auto const alive = captures_.find(streams, stream, capture);
  if (alive == nullptr) return false;
  (used == nullptr ? of_host_ : used->graphs).add(capture, alive);
  return true;
}

/// For memory that the program takes back when its segment has ended.
void segment_table::wait_for_graphs(std::uint64_t key, bool (*progress)()) {
  auto const end = std::chrono::steady_clock::now() + patience;
  auto const any = [&] {
    guard const held;
    segment* const found = look_up(key);
    return found != nullptr && found->programs && found->graphs.any();
  };
  wait_while([&] { return any() && std::chrono::steady_clock::now() < end; }, progress, idling::spin);
  if (!any()) return;
  guard const held;
  segment const& late = *look_up(key);
  warn(
      "device",
      "a segment on %s device %d ends, in memory that the program has given, and graphs that use it are there still %lld s later: they must "
      "not be launched any more. Destroy graphs, executable ones, too, before destroy()",
      to_string(late.known.kind), late.known.device, static_cast<long long>(patience.count()));
}

/// Destructors of the program may come later than finalize, so this is no error.
void segment_table::finish_graphs() {
  auto const end = std::chrono::steady_clock::now() + patience;
  auto const left = [this] {
    bool any = of_host_.any() || !kept_.empty();
    for (auto& [key, each] : segments_) any |= each.graphs.any();
    return any;
  };
  for (;;) {
    for (known_kind const& each : kinds_) erase_outlived(each.kind.get());
    if (!left()) return;
    if (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    std::vector<std::uint64_t> captures;
    std::uint64_t bytes = 0;
    of_host_.name(captures);
    for (segment const& each : kept_) {
      each.graphs.name(captures);
      bytes += each.known.bytes;
    }
    for (auto const& [key, each] : segments_) each.graphs.name(captures);
    std::sort(captures.begin(), captures.end());
    captures.erase(std::unique(captures.begin(), captures.end()), captures.end());
    warn(
        "finalize",
        "graphs that use memory of the library (captured: %zu), or executable ones made of them, are there still %lld s after all ranks "
        "have called finalize: they must not be launched any more. Destroy graphs before finalize()%s",
        captures.size(), static_cast<long long>(patience.count()), describe_kept(bytes).c_str());
    return;
  }
}

void stream_patience::check() {
  if (!device_copies::exists()) return;
  guard const held;
  device_copies& all = device_copies::here();
  auto const now = std::chrono::steady_clock::now();
  if (all.reports() == 0 || since_ == std::chrono::steady_clock::time_point()) since_ = now;
  if (now - since_ < patience) return;
  all.segments().end_streams(std::chrono::seconds(1));
  renew();
}

void segment_table::end_streams(std::chrono::milliseconds within) {
  constexpr std::chrono::seconds to_give_up(5);
  for (known_kind const& known : kinds_) {
    std::uint64_t const number = known.kind->begin_waiting();
    auto const ends_within = [&](std::chrono::milliseconds time) {
      auto const end = std::chrono::steady_clock::now() + time;
      while (!known.kind->has_ended(number)) {
        known.kind->poll();
        if (std::chrono::steady_clock::now() >= end) return false;
      }
      return true;
    };
    if (ends_within(within)) continue;
    // A process should not die beside kernels of its own.
    bool const some = !kernel_service::here().open_mailboxes().empty();
    if (some) end_kernel_waits();
    bool const given_up = some && ends_within(to_give_up);
    fatal(
        "finalize",
        "kernels or streams of the program on %s devices have not come to their ends %lld s after all ranks have called finalize: does one "
        "wait for a signal that nobody gives any more?%s",
        to_string(known.kind->id()), static_cast<long long>(patience.count()),
        given_up ? " They have ended since: the waits of kernels have given up" : "");
  }
}

void segment_table::finish() {
  end_streams(patience);
  finish_graphs();
}

}  // namespace atl::engine
