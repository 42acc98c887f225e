#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/team.hpp>
#include <upcxx/when_all.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// What a rank tells each of its peers of its own, and hears of theirs.
template <class Place>
class peer_exchange {
 public:
  /// The peers' places, in the order of the list; mine(i) is for peer i. Collective over `over`; user-level progress. `peers`: team ranks,
  /// distinct, not the own one; if a peer does not list this rank, the job ends with a message that begins with `call`.
  template <class Mine>
  static std::vector<Place> with(std::vector<upcxx::intrank_t> const& peers, Mine const& mine,
                                 upcxx::team const& over, char const* call) {
    upcxx::dist_object<peer_exchange> shared(peer_exchange(peers, over.rank_me(), call), over);
    upcxx::future<> told = upcxx::make_future();
    for (std::size_t i = 0; i < peers.size(); ++i) {
      told = upcxx::when_all(
          told, upcxx::rpc(over, peers[i], &peer_exchange::hear, shared, over.rank_me(), mine(i)));
    }
    told.wait();
    upcxx::barrier(over);  // all have been told, and nobody names the object again
    return std::move(shared->there_);
  }

 private:
  peer_exchange(std::vector<upcxx::intrank_t> const& peers, upcxx::intrank_t me, char const* call)
      : peers_(&peers), there_(peers.size()), me_(me), call_(call) {}

  [[gnu::visibility("hidden")]] static void hear(upcxx::dist_object<peer_exchange>& self,
                                                 upcxx::intrank_t from, Place place) {
    std::vector<upcxx::intrank_t> const& all = *self->peers_;
    auto const at = std::find(all.begin(), all.end(), from);
    if (at == all.end()) {
      atl::check_failed(
          "%s: rank %d lists rank %d, which does not list it: each of two neighbours must list the other",
          self->call_, static_cast<int>(from), static_cast<int>(self->me_));
    }
    self->there_[static_cast<std::size_t>(at - all.begin())] = place;
  }

  std::vector<upcxx::intrank_t> const* peers_;
  std::vector<Place> there_;
  upcxx::intrank_t me_;
  char const* call_;
};

}  // namespace atl::inline UPCXX_MODE::detail
