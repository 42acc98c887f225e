#pragma once

/// A barrier of streams: what follows in each happens after what was before in all. Not part of upcxx.hpp.
///
///     atl::stream_barrier all(gpu);   // collective, once
///     kernel<<<..., s>>>();           // fills what others will read
///     all.enter(s);
///     next<<<..., s>>>();             // reads what others have filled
///     all.destroy();                  // collective, when no stream is in it

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/stream.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/dist_object.hpp>
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
  /// @progress  user.
  explicit stream_barrier(upcxx::device_allocator<Device>& gpu, upcxx::team const& over = upcxx::world())
      : gpu_(&gpu), over_(&over) {
    for (upcxx::intrank_t reach = 1; reach < over.rank_n(); reach *= 2) ++rounds_;
    if (rounds_ == 0) return;
    std::vector<std::uint64_t> const zeros(sorts * rounds_, 0);
    own_ = gpu.template allocate<std::uint64_t>(zeros.size());
    ATOLL_CHECK(!own_.is_null(), "atl::stream_barrier: no room for its signals in the device's segment");
    upcxx::copy(zeros.data(), own_, zeros.size()).wait();
    // Nobody enters before all words are zero: a barrier follows.
    upcxx::dist_object<pointer> const words(own_, over);
    upcxx::intrank_t reach = 1;
    for (std::size_t round = 0; round < rounds_; ++round, reach *= 2) {
      theirs_.push_back(words.fetch((over.rank_me() + reach) % over.rank_n()).wait());
    }
    upcxx::barrier(over);
  }
  stream_barrier(stream_barrier const&) = delete;
  stream_barrier& operator=(stream_barrier const&) = delete;
  ~stream_barrier() { ATOLL_CHECK(own_.is_null(), "atl::stream_barrier: destroy() it before it goes"); }

  /// What follows in the stream happens when the streams of all ranks have come to their call. No host waits.
  void enter(stream const& s) {
    if (s.is_captured()) {
      // Nodes hold constants, so words are used up. One of the second pass comes when all have left the
      // first, and so on.
      for (std::size_t pass = 1; pass < sorts; ++pass) {
        for (std::size_t round = 0; round < rounds_; ++round) {
          std::size_t const word = pass * rounds_ + round;
          signal(s, theirs_[round] + word, 1);
          wait_and_reset(s, own_ + word, 1, signal_cmp::equal);
        }
      }
      return;
    }
    ++epoch_;
    for (std::size_t round = 0; round < rounds_; ++round) {
      signal(s, theirs_[round] + round, epoch_);
      wait(s, own_ + round, epoch_);
    }
  }

  /// Ends the object. Collective over the team; no stream is in the barrier any more.
  ///
  /// @progress  user.
  void destroy() {
    upcxx::barrier(*over_);
    if (!own_.is_null()) gpu_->deallocate(std::exchange(own_, pointer()));
  }

 private:
  using pointer = upcxx::global_ptr<std::uint64_t, Device::kind>;
  /// Words of a round: one that counts, two that are used up in turn.
  static constexpr std::size_t sorts = 3;

  upcxx::device_allocator<Device>* gpu_;
  upcxx::team const* over_;
  std::size_t rounds_ = 0;
  pointer own_;
  std::vector<pointer> theirs_;  ///< by round
  std::uint64_t epoch_ = 0;
};

}  // namespace atl::inline UPCXX_MODE
