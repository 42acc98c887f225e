#pragma once

/// Synchronisation of streams with those of neighbours only, by signals between pairs of ranks: what
/// <atoll/neighbors.hpp> is for hosts. Not part of upcxx.hpp.
///
///     atl::stream_neighbors around(gpu, ranks);   // collective, once; each rank has a list of its own
///     boundary<<<..., s>>>();                     // stores into the neighbours' halos, or copies do
///     around.sync(s);
///     next<<<..., s>>>();                         // reads what all neighbours have stored here
///     around.destroy();                           // collective, when no stream is in it

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/extensions/detail/distinct_ranks.hpp>
#include <atoll/extensions/detail/kept_team.hpp>
#include <atoll/extensions/detail/signal_links.hpp>
#include <atoll/extensions/stream/stream_steps.hpp>
#include <atoll/stream.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/fwd.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE {

/// A rank's neighbours in a team, and how often its streams have signalled each and waited for each.
///
/// A signal says that what was before it in the stream has happened: kernels' stores, and copies in the same
/// stream. Signals are counted for each pair of ranks, so a neighbour may be ahead, and none is lost. A rank's
/// calls are made with whichever stream of the allocator's device, one after the other: the next stream comes
/// to its call when the last one has left. No host waits, and calls return at once. Where a signal needs this
/// rank's host and the shared heap has no room for that (see on_stream()), they throw upcxx::bad_shared_alloc and
/// nothing has happened: call again when there is some, as neighbours wait.
template <class Device>
class stream_neighbors {
 public:
  /// @param gpu    three words for each neighbour come from it; it must be active and stay.
  /// @param ranks  ranks in `over`, in any order; each has its own list, which may be empty. The own rank and
  ///               repetitions are ignored. If A lists B, B lists A, else the job ends with their names.
  ///
  /// Collective over `over`.
  /// @throws    upcxx::bad_shared_alloc on all ranks if one has no room, or no device.
  /// @progress  user.
  stream_neighbors(upcxx::device_allocator<Device>& gpu, std::span<upcxx::intrank_t const> ranks,
                   upcxx::team const& over = upcxx::world())
      : over_(over),
        ranks_(detail::distinct_ranks(ranks, over, name)),
        links_(gpu, ranks_, words, over, name),
        sent_(ranks_.size()),
        taken_(ranks_.size()) {}
  stream_neighbors(stream_neighbors const&) = delete;
  stream_neighbors& operator=(stream_neighbors const&) = delete;
  ~stream_neighbors() { ATOLL_CHECK(!links_, "%s: destroy() it before it goes", name); }

  /// Number of neighbours: indices are 0 to size() - 1, in the order in which the list had them.
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  /// Rank, in the team, of a neighbour.
  [[nodiscard]] upcxx::intrank_t rank(int index) const { return ranks_[checked(index)]; }

  /// Tells all neighbours' streams that this one has come here. Not for streams that are captured, as nodes
  /// do not count: sync() is.
  void signal(stream const& s) {
    check_open();
    if (size() != 0) check_counts(s, "signal");
    detail::stream_steps steps(s);
    for (std::size_t i = 0; i < ranks_.size(); ++i) steps.signal(links_.there(i, counted), sent_[i] + 1);
    steps.start();
    for (std::uint64_t& each : sent_) ++each;
  }
  /// Tells one.
  void signal(stream const& s, int index) {
    std::size_t const i = checked(index);
    check_counts(s, "signal");
    atl::signal(s, links_.there(i, counted), sent_[i] + 1);
    ++sent_[i];
  }

  /// What follows in the stream happens when every neighbour has signalled once more than was waited for. Not
  /// for streams that are captured.
  void wait(stream const& s) {
    for (int i = 0; i < size(); ++i) wait(s, i);
  }
  /// For one.
  void wait(stream const& s, int index) {
    std::size_t const i = checked(index);
    check_counts(s, "wait");
    atl::wait(s, links_.here(i, counted), ++taken_[i]);
  }

  /// signal() and wait(): what follows happens when the streams of all neighbours have come to their call. May
  /// be captured into graphs, by all of them; one launch of each is then one time.
  void sync(stream const& s) {
    check_open();
    if (!s.is_captured()) {
      signal(s);
      wait(s);
      return;
    }
    // Nodes hold constants, so words are used up. A neighbour sets the first one again when it has been told
    // by the second one that this one was.
    detail::stream_steps steps(s);
    for (std::size_t const pass : {first_pass, second_pass}) {
      for (std::size_t i = 0; i < ranks_.size(); ++i) steps.signal(links_.there(i, pass), 1);
      for (std::size_t i = 0; i < ranks_.size(); ++i) steps.use_up(links_.here(i, pass), 1);
    }
    steps.start();
  }

  /// Ends the object. Collective over the team of its construction; no stream is in a call any more.
  ///
  /// @progress  user.
  void destroy() {
    check_open();
    upcxx::barrier(*over_);
    links_ = {};
  }

 private:
  static constexpr char const* name = "atl::stream_neighbors";
  enum word : std::size_t { counted, first_pass, second_pass, words };

  std::size_t checked(int index) const {
    check_open();
    ATOLL_CHECK(index >= 0 && index < size(), "%s: index %d, of %d neighbours", name, index, size());
    return static_cast<std::size_t>(index);
  }
  void check_open() const { ATOLL_CHECK(links_, "%s: the object was destroyed", name); }
  static void check_counts(stream const& s, char const* call) {
    if (s.is_captured()) {
      check_failed("%s::%s: the stream is captured, and nodes of graphs do not count; sync() can be captured",
                   name, call);
    }
  }

  detail::kept_team over_;
  std::vector<upcxx::intrank_t> ranks_;
  detail::signal_links<Device::kind> links_;
  std::vector<std::uint64_t> sent_;   ///< signals to each neighbour
  std::vector<std::uint64_t> taken_;  ///< of each that were waited for
};

}  // namespace atl::inline UPCXX_MODE
