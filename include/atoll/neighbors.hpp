#pragma once

/// Synchronisation with neighbours only, by flags between pairs of ranks, as the "naturally grained"
/// multigrid study describes. Not part of upcxx.hpp.
///
///     atl::neighbors around(ranks);   // collective, once; each rank has a list of its own
///     put_into_ghosts_of(ranks);
///     around.sync();                  // all neighbours' data is here
///
/// A signal says that everything this rank has put into host memory before is in place. Between ranks whose
/// memory this process addresses it is one store; nobody waits for anybody who is not listed.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/engine/flags.hpp>
#include <atoll/extensions/detail/distinct_ranks.hpp>
#include <atoll/extensions/detail/flag_links.hpp>
#include <atoll/extensions/detail/kept_team.hpp>
#include <atoll/extensions/detail/pair_flags.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/collective_call.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/fwd.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE {

/// A rank's neighbours in a team, and how often each has signalled and was waited for.
///
/// Signals are counted for each pair of ranks, so a neighbour may be ahead, and none is lost. Several objects
/// are independent of each other, also with the same neighbours. One thread at a time uses an object.
class neighbors {
 public:
  /// @param ranks  ranks in `over`, in any order; each has its own list, which may be empty. The own rank and
  ///               repetitions are ignored. If A lists B, B lists A, else the job ends with their names.
  ///
  /// Collective over `over`. Takes 64 bytes of the shared heap for each neighbour.
  /// @throws    upcxx::bad_shared_alloc on all ranks if one has no room.
  /// @progress  user.
  explicit neighbors(std::span<upcxx::intrank_t const> ranks, upcxx::team const& over = upcxx::world())
      : state_(std::make_unique<state>(detail::distinct_ranks(ranks, over, "atl::neighbors"), over)) {}

  /// Number of neighbours: indices are 0 to size() - 1, in the order in which the list had them.
  [[nodiscard]] int size() const { return static_cast<int>(links().size()); }
  /// Rank, in the team, of a neighbour.
  [[nodiscard]] upcxx::intrank_t rank(int index) const { return links().peer(checked(index)); }
  /// Index of a rank of the team, or -1 if it is no neighbour.
  [[nodiscard]] int index_of(upcxx::intrank_t rank) const {
    auto const& all = links().peers();
    auto const at = std::find(all.begin(), all.end(), rank);
    return at == all.end() ? -1 : static_cast<int>(at - all.begin());
  }

  /// Tells all neighbours that what this rank has stored, and put with completion, is in place. Never waits.
  void signal() {
    check("atl::neighbors::signal");
    for (std::size_t i = 0; i < links().size(); ++i) raise(i);
  }
  /// Tells one.
  void signal(int neighbor_index) {
    check("atl::neighbors::signal");
    raise(checked(neighbor_index));
  }

  /// True if this neighbour has signalled once more than was waited for. Takes nothing.
  [[nodiscard]] bool arrived(int neighbor_index) const {
    std::size_t const i = checked(neighbor_index);
    return links().value(i) > here().taken[i];
  }

  /// Waits until every neighbour has signalled once more than was waited for.
  ///
  /// @progress  internal, and so also possible in callbacks; waits like the library itself does (spins, or
  ///            where ranks outnumber cores yields, then sleeps).
  void wait() {
    check("atl::neighbors::wait");
    pending p{&here(), 0};
    atl::engine::wait_for(&pending::look, &p);
    take_all();
  }
  /// Waits for one.
  void wait(int neighbor_index) {
    check("atl::neighbors::wait");
    one o{&here(), checked(neighbor_index)};
    atl::engine::wait_for(&one::look, &o);
    ++o.of->taken[o.index];
  }
  /// True if wait() would return at once; it then has been done. Else nothing has changed.
  ///
  /// @progress  internal.
  [[nodiscard]] bool test() {
    check("atl::neighbors::test");
    pending p{&here(), 0};
    if (!pending::look(&p)) {
      atl::engine::poll_for_flags();
      if (!pending::look(&p)) return false;
    }
    take_all();
    return true;
  }

  /// signal() and wait(): returns when every neighbour has called it as often as this rank.
  void sync() {
    signal();
    wait();
  }
  /// signal() at once, and wait() by the completions asked for: a future by default. Waits that follow
  /// concern later signals. The object may move, but not end, before that.
  ///
  /// @progress  internal; the completion is delivered in user-level progress of the current persona.
  template <class Cx = decltype(upcxx::operation_cx::as_future())>
  ATOLL_NODISCARD_FUTURE auto sync_async(Cx&& completions = upcxx::operation_cx::as_future()) {
    signal();
    take_all();
    auto awaited = std::make_unique<taken_counts>(taken_counts{state_.get(), state_->taken, 0});
    ++state_->watched;
    return upcxx::detail::start_collective<upcxx::detail::type_list<>>(
        std::forward<Cx>(completions), upcxx::detail::no_buffer{},
        [&](upcxx::detail::no_buffer&, atl::engine::on_done done) {
          atl::engine::watch(&taken_counts::look, awaited.release(), done);
        });
  }

  /// Ends the object. Collective over the team of its construction: waits for all, so that no signal is
  /// under way any more. Without it the destructor frees the flags of this rank, and the program sees to it
  /// that no neighbour signals it any more: each signal has been waited for. Once: what has been destroyed, or
  /// moved from, may end or be assigned to only.
  ///
  /// @progress  user.
  void destroy() {
    links().settle(here().sent, *here().over);
    state_.reset();
  }

 private:
  struct state {
    state(std::vector<upcxx::intrank_t> ranks, upcxx::team const& team)
        : links(std::move(ranks), 1, team, "atl::neighbors"),
          sent(links.size()),
          taken(links.size()),
          over(team) {}
    ~state() { ATOLL_CHECK(watched == 0, "atl::neighbors: it ends while a sync_async is not complete"); }

    detail::flag_links links;
    std::vector<std::uint64_t> sent;   ///< signals to each neighbour
    std::vector<std::uint64_t> taken;  ///< signals of each that were waited for
    detail::kept_team over;
    std::atomic<int> watched{0};
  };
  /// Waiting for all: those before `next` have signalled.
  struct pending {
    state* of;
    std::size_t next;
    static bool look(void* context) {
      auto& self = *static_cast<pending*>(context);
      while (self.next < self.of->links.size() &&
             self.of->links.value(self.next) > self.of->taken[self.next]) {
        ++self.next;
      }
      return self.next == self.of->links.size();
    }
  };
  struct one {
    state* of;
    std::size_t index;
    static bool look(void* context) {
      auto const& self = *static_cast<one*>(context);
      return self.of->links.value(self.index) > self.of->taken[self.index];
    }
  };
  /// Waiting for all up to these counts. Deletes itself.
  struct taken_counts {
    state* of;
    std::vector<std::uint64_t> counts;
    std::size_t next;
    static bool look(void* context) {
      auto* const self = static_cast<taken_counts*>(context);
      while (self->next < self->counts.size() &&
             self->of->links.value(self->next) >= self->counts[self->next]) {
        ++self->next;
      }
      if (self->next != self->counts.size()) return false;
      self->of->watched.fetch_sub(1, std::memory_order_relaxed);
      delete self;
      return true;
    }
  };

  state& here() const {
    ATOLL_CHECK(state_ != nullptr, "atl::neighbors: the object was destroyed, or moved from");
    return *state_;
  }
  detail::flag_links const& links() const { return here().links; }
  std::size_t checked(int index) const {
    ATOLL_CHECK(index >= 0 && index < size(), "atl::neighbors: index %d, of %d neighbours", index, size());
    return static_cast<std::size_t>(index);
  }
  static void check([[maybe_unused]] char const* call) { upcxx::detail::check_injection(call); }
  void raise(std::size_t i) { links().raise(i, ++state_->sent[i]); }
  void take_all() {
    for (std::uint64_t& count : state_->taken) ++count;
  }

  std::unique_ptr<state> state_;
};

/// Waits until each listed rank has called this with a list that has this rank, as often as this rank has
/// called it with theirs: the paper's one call. Not collective: lists may differ between ranks and from
/// call to call, but must be mutual; a rank that does not list this one is waited for without end.
///
/// @param ranks  ranks in `over`; the own rank and repetitions are ignored.
/// @progress     internal, but user the first time that two ranks meet here, when each allocates 64 bytes of
///               the shared heap for the other, until finalize or destroy_heap. Not for callbacks then.
///
/// Calls for different purposes share the counts of a pair; use objects of class neighbors, which are also
/// faster since they look nothing up, where purposes overlap. One thread of a process at a time calls it.
inline void sync_neighbors(std::span<upcxx::intrank_t const> ranks,
                           upcxx::team const& over = upcxx::world()) {
  upcxx::detail::check_injection("atl::sync_neighbors");
  detail::pair_flags& flags = detail::pair_flags::of(over);
  detail::pairs_in_turn all;
  for (upcxx::intrank_t const r : ranks) {
    ATOLL_CHECK(r >= 0 && r < over.rank_n(), "atl::sync_neighbors: rank %d is outside the team of %d ranks",
                static_cast<int>(r), static_cast<int>(over.rank_n()));
    if (r == over.rank_me()) continue;
    detail::pair_flags::pair* const p = &flags.with(r, over);
    if (std::find(all.pairs.begin(), all.pairs.end(), p) == all.pairs.end()) all.pairs.push_back(p);
  }
  if (!detail::pairs_in_turn::all_known(&all)) {
    atl::rt::wait_until(&detail::pairs_in_turn::all_known, &all);
  }
  for (detail::pair_flags::pair* p : all.pairs) atl::engine::raise_flag(p->theirs, ++p->sent);
  atl::engine::wait_for(&detail::pairs_in_turn::all_arrived, &all);
  for (detail::pair_flags::pair* p : all.pairs) ++p->taken;
}

}  // namespace atl::inline UPCXX_MODE
