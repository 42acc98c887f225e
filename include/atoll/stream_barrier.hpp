#pragma once

/// A barrier of streams: what follows in each happens after what was before in all. Not part of upcxx.hpp.
///
///     atl::stream_barrier all(gpu);   // collective, once
///     kernel<<<..., s>>>();           // fills what others will read
///     all.enter(s);
///     next<<<..., s>>>();             // reads what others have filled
///     all.destroy();                  // collective, when no stream is in it

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/extensions/stream/stream_steps.hpp>
#include <atoll/signal_array.hpp>
#include <atoll/stream.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE {

/// Rounds of signals to ranks 1, 2, 4, ... further on, as Hensgen, Finkel and Manber's dissemination barrier
/// has them ("Two algorithms for barrier synchronization", 1988): log2 of the ranks, and as many signals to
/// know of.
///
/// All ranks enter as often, each with whichever stream of the allocator's device, one after the other: a
/// rank's next stream enters when its last one has left. May be entered while a stream is captured into a
/// graph; one launch of all ranks' graphs is then one time.
template <class Device>
class stream_barrier {
 public:
  /// Takes three words for each round from the allocator, which must be active and stay. Collective over the
  /// team.
  ///
  /// @throws    upcxx::bad_shared_alloc on all ranks, as make_signals().
  /// @progress  user.
  explicit stream_barrier(upcxx::device_allocator<Device>& gpu, upcxx::team const& over = upcxx::world())
      : rounds_(std::bit_width(static_cast<unsigned>(over.rank_n() - 1))),
        signals_(atl::make_signals(gpu, std::max<std::size_t>(sorts * rounds_, 1), over)),
        own_(signals_.mine()) {
    upcxx::intrank_t reach = 1;
    for (std::size_t round = 0; round < rounds_; ++round, reach *= 2) {
      theirs_.push_back(signals_.at((over.rank_me() + reach) % over.rank_n()));
    }
  }
  stream_barrier(stream_barrier const&) = delete;
  stream_barrier& operator=(stream_barrier const&) = delete;
  ~stream_barrier() { ATOLL_CHECK(own_.is_null(), "atl::stream_barrier: destroy() it before it goes"); }

  /// What follows in the stream happens when the streams of all ranks have come to their call. No host waits.
  ///
  /// @throws upcxx::bad_shared_alloc  if a signal needs this rank's host and the shared heap has no room for that (see on_stream());
  ///                                  nothing has happened: enter again when there is some, as others wait.
  void enter(stream const& s) {
    ATOLL_CHECK(!own_.is_null(), "atl::stream_barrier::enter: the object was destroyed");
    detail::stream_steps steps(s);
    bool const in_graph = s.is_captured();
    if (in_graph) {
      // Nodes hold constants, so words are used up. One of the second pass comes when all have left the
      // first, and so on.
      for (std::size_t pass = 1; pass < sorts; ++pass) {
        for (std::size_t round = 0; round < rounds_; ++round) {
          std::size_t const word = pass * rounds_ + round;
          steps.signal(theirs_[round] + word, 1);
          steps.use_up(own_ + word, 1);
        }
      }
    } else {
      for (std::size_t round = 0; round < rounds_; ++round) {
        steps.signal(theirs_[round] + round, epoch_ + 1);
        steps.wait(own_ + round, epoch_ + 1);
      }
    }
    steps.start();
    if (!in_graph) ++epoch_;
  }

  /// Ends the object. Collective over the team; no stream is in the barrier any more.
  ///
  /// @progress  user.
  void destroy() {
    ATOLL_CHECK(!own_.is_null(), "atl::stream_barrier::destroy: the object was destroyed");
    own_ = pointer();
    signals_.destroy();
  }

 private:
  using pointer = upcxx::global_ptr<std::uint64_t, Device::kind>;
  /// Words of a round: one that counts, two that are used up in turn.
  static constexpr std::size_t sorts = 3;

  std::size_t rounds_;
  signal_array<Device::kind> signals_;
  pointer own_;                  ///< null: destroyed
  std::vector<pointer> theirs_;  ///< by round
  std::uint64_t epoch_ = 0;
};

}  // namespace atl::inline UPCXX_MODE
