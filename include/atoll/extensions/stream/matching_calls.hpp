#pragma once

/// Do all ranks make the same calls of an object in streams? Streams themselves cannot tell: a rank that sends
/// more than the others expect writes where it should not, or waits for what nobody sends.
///
/// So each host tells the next one of the team what it has called, and compares what it hears with its own
/// calls. All are the same if those of all neighbours are. A call itself only writes it down: what has come
/// together is told at the next user-level progress, when the host has nothing better to do; and no more before
/// the last news were heard, so that nothing piles up at who makes no progress.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/extensions/detail/kept_team.hpp>
#include <atoll/extensions/stream/call_list.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/persona.hpp>
#include <upcxx/progress.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

class matching_calls {
 public:
  /// Collective over the team, which stays. `name`: of the object, for messages.
  matching_calls(char const* name, upcxx::team const& over) : told_(std::make_shared<teller>(name, over)) {}

  /// By any thread that has a persona. Calls that graphs will make are compared apart, each the first time that it
  /// is captured: graphs of several ranks may hold different numbers of calls, and be launched as much more or
  /// less often.
  void note(call_run const& one, bool in_graph) {
    if (told_->over->rank_n() == 1 || !told_->calls->add(one, in_graph)) return;
    // The first one since others were told. This thread may end, and its persona with it.
    tell_soon(told_);
  }

  /// Returns when all calls have been compared, and no message is under way to this rank. Collective over the
  /// team.
  ///
  /// @progress  user.
  void close() {
    if (told_->over->rank_n() == 1) return;
    tell(told_);
    tell_end(told_->calls);
    while (!told_->calls->is_complete()) upcxx::progress();
    told_->calls->check_ends();
  }

 private:
  enum sort : std::size_t { made, captured, sorts };
  using news = std::array<std::vector<call_run>, sorts>;
  using numbers = std::array<std::uint64_t, sorts>;

  /// What is known here of the own calls, and of those of the rank before.
  class known_calls {
   public:
    known_calls(char const* object, upcxx::intrank_t me, upcxx::intrank_t other)
        : object_(object), me_(me), other_(other) {}

    /// True if somebody is to tell(), who has not been asked to.
    bool add(call_run const& one, bool in_graph) {
      std::lock_guard const held(lock_);
      if (in_graph && !known_.insert(one.digest).second) return false;
      order& of = orders_[in_graph ? captured : made];
      ++of.own_n;
      check_more();
      of.own.add(one);
      of.untold.add(one);
      compare();
      return !std::exchange(telling_, true);
    }
    /// False if there is nothing to tell, or the last news have not been heard. The same news until note_told().
    bool find_untold(news& all) {
      std::lock_guard const held(lock_);
      if (unheard_) return false;
      auto const any = [this] { return !leaving_[made].empty() || !leaving_[captured].empty(); };
      if (!any()) {
        for (std::size_t s = 0; s < sorts; ++s) leaving_[s] = orders_[s].untold.take();
      }
      telling_ = any();
      all = leaving_;
      return telling_;
    }
    void note_told() {
      std::lock_guard const held(lock_);
      unheard_ = true;
      for (std::vector<call_run>& each : leaving_) each.clear();
    }
    /// The last news were.
    void note_heard() {
      std::lock_guard const held(lock_);
      unheard_ = false;
    }
    /// Of the rank before.
    void hear(news const& theirs) {
      std::lock_guard const held(lock_);
      for (std::size_t s = 0; s < sorts; ++s) {
        for (call_run const& each : theirs[s]) {
          orders_[s].heard_n += each.count;
          orders_[s].theirs.add(each);
        }
      }
      compare();
    }
    void hear_end(numbers const& all) {
      std::lock_guard const held(lock_);
      for (std::size_t s = 0; s < sorts; ++s) orders_[s].expected_n = all[s];
      check_more();
    }
    [[nodiscard]] numbers own_n() const {
      std::lock_guard const held(lock_);
      return {orders_[made].own_n, orders_[captured].own_n};
    }
    [[nodiscard]] bool is_complete() const {
      std::lock_guard const held(lock_);
      bool all = !telling_;
      for (order const& of : orders_) all = all && of.heard_n == of.expected_n;
      return all;
    }
    /// For who makes no more.
    void check_ends() const {
      std::lock_guard const held(lock_);
      for (std::size_t s = 0; s < sorts; ++s) {
        if (orders_[s].own_n != orders_[s].expected_n) refuse_numbers(s);
      }
    }

   private:
    static constexpr char const* rules[] = {
        "All ranks make the same calls in the same order, with the same counts, types and roots",
        "What one rank captures all do, each new call in the same order; graphs may part and repeat the calls"};

    /// Calls of one sort.
    struct order {
      call_list own;     ///< not compared
      call_list theirs;  ///< as well
      call_list untold;
      std::uint64_t own_n = 0;
      std::uint64_t heard_n = 0;
      std::uint64_t compared_n = 0;
      std::uint64_t expected_n = ~std::uint64_t{0};
    };

    void compare() {
      for (std::size_t s = 0; s < sorts; ++s) {
        order& of = orders_[s];
        if (call_list::differ(of.own, of.theirs, of.compared_n)) refuse(s, of.own.front(), of.theirs.front());
      }
    }
    [[noreturn]] void refuse(std::size_t s, call_run const& mine, call_run const& theirs) const {
      auto const number = static_cast<unsigned long long>(orders_[s].compared_n + 1);
      if (mine.first == theirs.first) {
        check_failed(
            "%s: the ranks' calls differ: of nos. %llu to %llu%s at least one on rank %d is another one than on rank "
            "%d. Which is not known of so many calls without user-level progress in between. %s",
            object_, number, number + static_cast<unsigned long long>(mine.count - 1),
            s == captured ? " that are captured" : "", me_, other_, rules[s]);
      }
      check_failed("%s: the ranks' calls differ: no. %llu%s is %s on rank %d, and %s on rank %d. %s", object_,
                   number, s == captured ? " that is captured into graphs" : "",
                   stream_call_text(mine.first).text, me_, stream_call_text(theirs.first).text, other_,
                   rules[s]);
    }
    void check_more() const {
      for (std::size_t s = 0; s < sorts; ++s) {
        if (orders_[s].own_n > orders_[s].expected_n) refuse_numbers(s);
      }
    }
    [[noreturn]] void refuse_numbers(std::size_t s) const {
      char const* const how = s == captured ? "captured" : "made";
      check_failed(
          "%s: the ranks' calls differ: rank %d has %s %llu%s, and rank %d %s %llu before it called destroy(). %s",
          object_, me_, how, static_cast<unsigned long long>(orders_[s].own_n),
          s == captured ? " different ones" : "", other_, how,
          static_cast<unsigned long long>(orders_[s].expected_n), rules[s]);
    }

    char const* object_;
    upcxx::intrank_t me_;  ///< of the world, as the other
    upcxx::intrank_t other_;
    mutable std::mutex lock_;
    std::array<order, sorts> orders_;
    news leaving_;                             ///< not told yet, as there was no room for a message
    std::unordered_set<std::uint64_t> known_;  ///< digests of what was captured
    bool telling_ = false;                     ///< somebody will tell what is untold
    bool unheard_ = false;                     ///< news are under way
  };
  using object = upcxx::dist_object<known_calls>;

  struct teller {
    teller(char const* name, upcxx::team const& of)
        : over(of), calls(of, name, of[of.rank_me()], of[neighbour(of, of.rank_n() - 1)]) {}

    kept_team over;
    object calls;
  };

  static upcxx::intrank_t neighbour(upcxx::team const& over, upcxx::intrank_t reach) {
    return (over.rank_me() + reach) % over.rank_n();
  }
  static void tell_soon(std::shared_ptr<teller> const& told) {
    upcxx::master_persona().lpc_ff([told] { tell(told); });
  }
  /// Answers find room where calls do not, so that is how the next rank says that it has heard.
  static void tell(std::shared_ptr<teller> const& told) {
    object& calls = told->calls;
    news all;
    if (!calls->find_untold(all)) return;
    try {
      upcxx::rpc(
          calls.team(), neighbour(calls.team(), 1),
          [](object& here, std::vector<call_run> const& calls_made,
             std::vector<call_run> const& calls_captured) {
            here->hear({calls_made, calls_captured});
          },
          calls, all[made], all[captured])
          .then([told] {
            told->calls->note_heard();
            tell(told);
          });
      calls->note_told();
    } catch (upcxx::bad_shared_alloc const&) {
      tell_soon(told);
    }
  }
  static void tell_end(object& calls) {
    auto const [calls_made, calls_captured] = calls->own_n();
    upcxx::rpc_ff(
        calls.team(), neighbour(calls.team(), 1),
        [](object& here, std::uint64_t all_made, std::uint64_t all_captured) {
          here->hear_end({all_made, all_captured});
        },
        calls, calls_made, calls_captured);
  }

  std::shared_ptr<teller> told_;  ///< also of who is about to tell
};

/// Ends the job if ranks give different numbers. Collective over the team.
///
/// @progress  user.
inline void check_same(char const* call, char const* what, std::size_t mine, upcxx::team const& over) {
  std::size_t const first = upcxx::broadcast(mine, 0, over).wait();
  if (first == mine) return;
  check_failed("%s: rank %d gives %zu %s, and rank %d gives %zu: it must be the same on all", call,
               static_cast<int>(over[over.rank_me()]), mine, what, static_cast<int>(over[0]), first);
}

}  // namespace atl::inline UPCXX_MODE::detail
