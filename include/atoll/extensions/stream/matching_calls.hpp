#pragma once

/// Do all ranks make the same calls of an object in streams? Streams themselves cannot tell: a rank that sends
/// more than the others expect writes where it should not, or waits for what nobody sends.
///
/// So each host tells the next one of the team what it has called, and compares what it hears with its own
/// calls. All are the same if those of all neighbours are. A call itself only writes it down: what has come
/// together is told at the next user-level progress, when the host has nothing better to do.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/persona.hpp>
#include <upcxx/progress.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// What all ranks say alike.
struct stream_call {
  enum class operation : std::uint32_t { broadcast, gather_all, all_to_all, reduce_all };
  operation what;
  std::uint32_t element;      ///< bytes
  std::uint64_t count;        ///< of elements
  std::int32_t root;          ///< -1: none
  std::uint32_t destination;  ///< which of those that were bound, from 1 on; 0: none are

  friend bool operator==(stream_call const&, stream_call const&) = default;
};

/// "broadcast of 10 elements of 4 bytes from rank 0 to destination no. 1", for messages.
struct stream_call_text {
  char text[160];

  explicit stream_call_text(stream_call const& c) : text{} {
    constexpr char const* names[] = {"broadcast", "gather_all", "all_to_all", "reduce_all"};
    char root[32] = "";
    char to[48] = "";
    if (c.root >= 0) std::snprintf(root, sizeof root, " from rank %d", c.root);
    if (c.destination != 0) std::snprintf(to, sizeof to, " to destination no. %u", c.destination);
    std::snprintf(text, sizeof text, "%s of %llu elements of %u bytes%s%s",
                  names[static_cast<std::uint32_t>(c.what)], static_cast<unsigned long long>(c.count),
                  c.element, root, to);
  }
};

class matching_calls {
 public:
  /// Collective over the team, which stays. `object`: for messages.
  matching_calls(char const* object, upcxx::team const& over)
      : told_(std::make_shared<teller>(object, over)) {}

  /// A call that no graph makes: those of several ranks may hold different numbers of calls, and be launched
  /// as much more or less often. By any thread that has a persona.
  void note(stream_call const& call) {
    if (told_->over->rank_n() == 1 || !told_->calls->add(call)) return;
    // The first one since others were told.
    upcxx::current_persona().lpc_ff([told = told_] {
      if (told->is_open) told->tell();
    });
  }

  /// Returns when all calls have been compared, and no message is under way to this rank. Collective over the
  /// team.
  ///
  /// @progress  user.
  void close() {
    if (told_->over->rank_n() == 1) return;
    told_->tell();
    told_->is_open = false;
    told_->tell_end();
    while (!told_->calls->is_complete()) upcxx::progress();
    told_->calls->check_ends();
  }

 private:
  /// What is known here of the own calls, and of those of the rank before.
  class known_calls {
   public:
    known_calls(char const* object, upcxx::intrank_t me, upcxx::intrank_t other)
        : object_(object), me_(me), other_(other) {}

    /// True if it is the first one that has not been told.
    bool add(stream_call const& mine) {
      std::lock_guard const held(lock_);
      ++made_;
      check_more();
      own_.push_back(mine);
      untold_.push_back(mine);
      compare();
      return untold_.size() == 1;
    }
    std::pair<std::uint64_t, std::vector<stream_call>> take_untold() {
      std::lock_guard const held(lock_);
      return {made_ - untold_.size(), std::exchange(untold_, {})};
    }
    /// Of the rank before, behind its first so many. Messages may overtake each other.
    void hear(std::uint64_t before, std::vector<stream_call> const& theirs) {
      std::lock_guard const held(lock_);
      early_.emplace(before, theirs);
      for (auto next = early_.find(heard_); next != early_.end(); next = early_.find(heard_)) {
        heard_ += next->second.size();
        theirs_.insert(theirs_.end(), next->second.begin(), next->second.end());
        early_.erase(next);
      }
      compare();
    }
    void hear_end(std::uint64_t all) {
      std::lock_guard const held(lock_);
      expected_ = all;
      check_more();
    }
    [[nodiscard]] std::uint64_t made() const {
      std::lock_guard const held(lock_);
      return made_;
    }
    [[nodiscard]] bool is_complete() const {
      std::lock_guard const held(lock_);
      return heard_ == expected_;
    }
    /// For who makes no more.
    void check_ends() const {
      std::lock_guard const held(lock_);
      if (made_ != expected_) refuse_numbers();
    }

   private:
    void compare() {
      for (; !own_.empty() && !theirs_.empty(); own_.pop_front(), theirs_.pop_front()) {
        ++compared_;
        if (own_.front() == theirs_.front()) continue;
        check_failed(
            "%s: the ranks' calls differ: no. %llu is %s on rank %d, and %s on rank %d. All ranks make the same "
            "calls in the same order, with the same counts, types and roots",
            object_, static_cast<unsigned long long>(compared_), stream_call_text(own_.front()).text, me_,
            stream_call_text(theirs_.front()).text, other_);
      }
    }
    void check_more() const {
      if (made_ > expected_) refuse_numbers();
    }
    [[noreturn]] void refuse_numbers() const {
      check_failed(
          "%s: the ranks' calls differ: rank %d has made %llu, and rank %d made %llu before it called "
          "destroy(). All ranks make the same calls in the same order",
          object_, me_, static_cast<unsigned long long>(made_), other_,
          static_cast<unsigned long long>(expected_));
    }

    char const* object_;
    upcxx::intrank_t me_;  ///< of the world, as the other
    upcxx::intrank_t other_;
    mutable std::mutex lock_;
    // Neither has been compared.
    std::deque<stream_call> own_;
    std::deque<stream_call> theirs_;
    std::vector<stream_call> untold_;
    std::map<std::uint64_t, std::vector<stream_call>> early_;
    std::uint64_t made_ = 0;
    std::uint64_t heard_ = 0;
    std::uint64_t compared_ = 0;
    std::uint64_t expected_ = ~std::uint64_t{0};
  };

  struct teller {
    teller(char const* object, upcxx::team const& of)
        : over(&of), calls(of, object, of[of.rank_me()], of[neighbour(of.rank_n() - 1)]) {}

    [[nodiscard]] upcxx::intrank_t neighbour(upcxx::intrank_t reach) const {
      return (over->rank_me() + reach) % over->rank_n();
    }
    void tell() {
      auto const [before, untold] = calls->take_untold();
      if (untold.empty()) return;
      upcxx::rpc_ff(
          *over, neighbour(1),
          [](upcxx::dist_object<known_calls>& here, std::uint64_t first,
             std::vector<stream_call> const& theirs) { here->hear(first, theirs); },
          calls, before, untold);
    }
    void tell_end() {
      upcxx::rpc_ff(
          *over, neighbour(1),
          [](upcxx::dist_object<known_calls>& here, std::uint64_t all) { here->hear_end(all); }, calls,
          calls->made());
    }

    upcxx::team const* over;
    upcxx::dist_object<known_calls> calls;
    std::atomic<bool> is_open{true};
  };

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
