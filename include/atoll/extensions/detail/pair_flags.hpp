#pragma once

/// Flags between pairs of ranks of a team, made when a pair first needs them, for sync_neighbors().

#include <cstddef>
#include <cstdint>
#include <map>
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

class pair_flags {
 public:
  struct pair {
    global_ptr<atl::engine::flag_line> mine;  ///< null: the peer has not been told
    atl::engine::host_address theirs{};
    bool known = false;  ///< `theirs` is
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
  };

  static pair_flags& of(upcxx::team const& over) { return of(over.id()); }

  /// The pair with each of `peers`, usable when `ready` is true of it.
  pair& with(intrank_t peer, upcxx::team const& over) {
    pair& p = pairs_[peer];
    if (!p.mine) {
      p.mine = upcxx::new_<atl::engine::flag_line>();
      upcxx::rpc_ff(over, peer, &hear, over.id(), over.rank_me(), p.mine);
    }
    return p;
  }

 private:
  static std::map<upcxx::team_id, pair_flags>& all() {
    static std::map<upcxx::team_id, pair_flags> teams;
    return teams;
  }
  static pair_flags& of(upcxx::team_id const& team) {
    if (all().empty()) atl::engine::call_at_end(&end);
    return all()[team];
  }
  [[gnu::visibility("hidden")]] static void end() {
    for (auto& [team, flags] : all()) {
      for (auto& [peer, p] : flags.pairs_) upcxx::delete_(p.mine);
    }
    all().clear();
  }
  [[gnu::visibility("hidden")]] static void hear(upcxx::team_id team, intrank_t from,
                                                 global_ptr<atl::engine::flag_line> flag) {
    pair& p = of(team).pairs_[from];
    p.theirs = place_of(flag);
    p.known = true;
  }

  std::map<intrank_t, pair> pairs_;
};

/// A call of sync_neighbors.
struct pairs_in_turn {
  std::vector<pair_flags::pair*> pairs;
  std::size_t next = 0;

  static bool all_known(void const* context) {
    for (pair_flags::pair const* p : static_cast<pairs_in_turn const*>(context)->pairs) {
      if (!p->known) return false;
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
