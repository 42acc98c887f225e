// How long segments stay for streams of the program that use them.

#include <algorithm>
#include <chrono>

#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "engine/copies/segments.hpp"

namespace atl::engine {

void segment_table::note_use(segment& used, void* stream) {
  ++uses_;
  if (used.known.name.rank == job.rank_me) return;  // its end waits for all streams
  auto const known = std::find_if(used.uses.begin(), used.uses.end(),
                                  [&](stream_use const& u) { return u.stream == stream; });
  if (known == used.uses.end()) {
    used.uses.push_back({stream, uses_});
  } else {
    known->when = uses_;
  }
}

void segment_table::note_passed(void* stream, std::uint64_t when) {
  auto const known =
      std::find_if(passed_.begin(), passed_.end(), [&](stream_use const& u) { return u.stream == stream; });
  if (known == passed_.end()) {
    passed_.push_back({stream, when});
  } else if (known->when < when) {
    known->when = when;
  }
}

bool segment_table::must_stay(segment const& peers) const {
  return peers.copies != 0 || peers.kernels != 0 ||
         std::any_of(peers.uses.begin(), peers.uses.end(), [this](stream_use const& use) {
           return use.when > all_passed_ &&
                  std::none_of(passed_.begin(), passed_.end(), [&](stream_use const& p) {
                    return p.stream == use.stream && p.when >= use.when;
                  });
         });
}

/// Peers' segments that only waited for copies, and for streams of the program, to end.
void segment_table::erase_outlived() {
  for (std::size_t i = 0; i < outlived_.size();) {
    segment const* const found = look_up(outlived_[i]);
    if (found != nullptr && must_stay(*found)) {
      ++i;
      continue;
    }
    erase(outlived_[i]);
    outlived_[i] = outlived_.back();
    outlived_.pop_back();
  }
}

void segment_table::finish() {
  constexpr std::chrono::seconds patience(10);
  for (known_kind const& known : kinds_) {
    std::uint64_t const number = known.kind->begin_waiting();
    auto const end = std::chrono::steady_clock::now() + patience;
    while (!known.kind->has_ended(number)) {
      known.kind->poll();
      if (std::chrono::steady_clock::now() < end) continue;
      fatal(
          "finalize",
          "kernels or streams of the program on %s devices have not come to their ends %lld s after all ranks have called finalize: does one "
          "wait for a signal that nobody gives any more?",
          to_string(known.kind->id()), static_cast<long long>(patience.count()));
    }
  }
}

}  // namespace atl::engine
