#pragma once

/// Flags between pairs of ranks of a team, made when a pair first needs them, for sync_neighbors().

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <atoll/engine/flags.hpp>
#include <atoll/engine/period.hpp>
#include <atoll/extensions/detail/flag_links.hpp>
#include <upcxx/allocate.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/runtime.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Of the thread that calls, but for what is heard: that comes to whoever has the master persona.
class pair_flags {
 public:
  using name = std::pair<upcxx::team_id, intrank_t>;  ///< of the peer
  struct pair {
    name peer;
    global_ptr<atl::engine::flag_line> mine;  ///< null: the peer has not been told
    atl::engine::host_address theirs{};
    bool known = false;  ///< `theirs` is
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;

    /// Whether it is known by now.
    bool find_theirs() {
      if (known) [[likely]]
        return true;
      std::lock_guard const held(news().lock);
      auto const told = news().flags.find(peer);
      if (told == news().flags.end()) return false;
      theirs = told->second;
      news().flags.erase(told);
      return known = true;
    }
  };

  static pair_flags& of(upcxx::team const& over) {
    if (all().empty()) news().expect_end();
    return all()[over.id()];
  }

  /// Told to the peer if it has not been; of use when find_theirs() is true.
  pair& with(intrank_t peer, upcxx::team const& over) {
    pair& p = pairs_[peer];
    if (!p.mine) {
      p.peer = {over.id(), peer};
      auto const flag = upcxx::new_<atl::engine::flag_line>();
      try {
        upcxx::rpc_ff(over, peer, &hear, over.id(), over.rank_me(), flag);
      } catch (...) {
        upcxx::delete_(flag);
        throw;
      }
      p.mine = flag;
    }
    return p;
  }

 private:
  /// Flags of peers that nobody here has looked for since.
  struct heard {
    std::mutex lock;
    std::map<name, atl::engine::host_address> flags;
    bool ends = false;  ///< with the heap

    void expect_end() {
      std::lock_guard const held(lock);
      if (!std::exchange(ends, true)) atl::engine::call_at_end(&end);
    }
  };
  static heard& news() {
    static heard all;
    return all;
  }
  static std::map<upcxx::team_id, pair_flags>& all() {
    static std::map<upcxx::team_id, pair_flags> teams;
    return teams;
  }
  [[gnu::visibility("hidden")]] static void end() {
    for (auto& [team, flags] : all()) {
      for (auto& [peer, p] : flags.pairs_) upcxx::delete_(p.mine);
    }
    all().clear();
    std::lock_guard const held(news().lock);
    news().flags.clear();
    news().ends = false;
  }
  [[gnu::visibility("hidden")]] static void hear(upcxx::team_id team, intrank_t from,
                                                 global_ptr<atl::engine::flag_line> flag) {
    news().expect_end();
    std::lock_guard const held(news().lock);
    news().flags[{team, from}] = place_of(flag);
  }

  std::map<intrank_t, pair> pairs_;
};

/// A call of sync_neighbors.
struct pairs_in_turn {
  std::vector<pair_flags::pair*> pairs;
  std::size_t next = 0;

  static bool all_known(void const* context) {
    for (pair_flags::pair* p : static_cast<pairs_in_turn const*>(context)->pairs) {
      if (!p->find_theirs()) return false;
    }
    return true;
  }
  static bool all_arrived(void* context) {
    auto& self = *static_cast<pairs_in_turn*>(context);
    for (; self.next < self.pairs.size(); ++self.next) {
      pair_flags::pair const& p = *self.pairs[self.next];
      if (p.mine.local()->value.load(std::memory_order_acquire) <= p.taken) return false;
    }
    return true;
  }
};

}  // namespace atl::inline UPCXX_MODE::detail
