#pragma once

/// Who copies what to whom, found out once. Collective, in four steps, none of which takes more memory or
/// messages per rank than the rank's own arrays and their partners need:
///
/// 1. Space is cut into blocks as large as the largest array. Each rank tells the home of each block that one
///    of its sources touches (a rank given by a hash) of the source.
/// 2. Each rank asks the homes of the blocks that its destinations touch for the sources there.
/// 3. It tells the owners of these sources what to copy to where.
/// 4. Owners bring the boxes into the form in which they are copied.
///
/// Homes forget everything when the plan is made.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <atoll/extensions/array/domain.hpp>
#include <atoll/extensions/detail/planned_copy.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/team.hpp>
#include <upcxx/when_all.hpp>

namespace atl::inline UPCXX_MODE::detail {

template <int N>
class transfer_plan {
 public:
  using task = planned_copy<N>;
  struct request {
    upcxx::intrank_t from;
    std::vector<task> tasks;
  };

 private:
  struct announcement {
    point<N> block;
    plain_array<N> source;
  };
  struct question {
    point<N> block;
    domain<N> where;
    std::size_t destination;  ///< the asker's number of it
  };
  struct answer {
    plain_array<N> source;
    std::size_t destination;
  };
  /// What other ranks reach.
  struct office {
    std::map<point<N>, std::vector<plain_array<N>>> blocks;
    point<N> block_extents{};
    std::vector<request> requests;
  };
  using shared_office = upcxx::dist_object<office>;

  [[gnu::visibility("hidden")]] static void announce(shared_office& here,
                                                     std::vector<announcement> const& all) {
    for (announcement const& a : all) here->blocks[a.block].push_back(a.source);
  }
  [[gnu::visibility("hidden")]] static std::vector<answer> ask(shared_office& here,
                                                               std::vector<question> const& all) {
    std::vector<answer> found;
    for (question const& q : all) {
      auto const sources = here->blocks.find(q.block);
      if (sources == here->blocks.end()) continue;
      for (plain_array<N> const& s : sources->second) {
        domain<N> const common = s.where & q.where;
        // Both may touch several blocks; the one with the first common point answers.
        if (!common.empty() && block_of(common.lower, here->block_extents) == q.block) {
          found.push_back({s, q.destination});
        }
      }
    }
    return found;
  }
  [[gnu::visibility("hidden")]] static void order(shared_office& here, upcxx::intrank_t from,
                                                  std::vector<task> const& tasks) {
    here->requests.push_back({from, tasks});
  }

  static point<N> block_of(point<N> const& p, point<N> const& extents) {
    point<N> block{};
    for (int d = 0; d < N; ++d) block[d] = detail::floor_divide(p[d], extents[d]);
    return block;
  }
  static domain<N> blocks_of(domain<N> const& where, point<N> const& extents) {
    return {block_of(where.lower, extents),
            block_of(where.upper - point<N>::all(1), extents) + point<N>::all(1)};
  }
  static upcxx::intrank_t home_of(point<N> const& block, upcxx::team const& over) {
    std::uint64_t hash = 0x9e3779b97f4a7c15U;
    for (int d = 0; d < N; ++d) {
      hash = (hash ^ static_cast<std::uint64_t>(block[d])) * 0xff51afd7ed558ccdU;
      hash ^= hash >> 32;
    }
    return static_cast<upcxx::intrank_t>(hash % static_cast<std::uint64_t>(over.rank_n()));
  }

 public:
  using arrays = std::vector<plain_array<N>>;
  /// What this rank and the others have agreed on.
  struct agreement {
    std::vector<request> requests;                          ///< of ranks that this one sends to
    std::map<upcxx::intrank_t, std::vector<task>> inbound;  ///< for each rank that sends to this one
  };

  /// Collective over `over`; user-level progress. No array is empty. `prepare`: called with what comes to this rank, before others hear of it.
  template <class Prepare>
  static agreement agree(arrays const& sources, arrays const& destinations, upcxx::team const& over,
                         Prepare&& prepare) {
    shared_office office_here(office{}, over);
    office& desk = *office_here;
    desk.block_extents = largest_extents(sources, destinations, over);
    upcxx::barrier(over);  // everybody's homes know the blocks

    std::map<upcxx::intrank_t, std::vector<announcement>> announcements;
    for (plain_array<N> const& s : sources) {
      for (point<N> const& b : blocks_of(s.where, desk.block_extents)) {
        announcements[home_of(b, over)].push_back({b, s});
      }
    }
    upcxx::future<> told = upcxx::make_future();
    for (auto const& [home, all] : announcements) {
      told = upcxx::when_all(told, upcxx::rpc(over, home, &announce, office_here, all));
    }
    told.wait();
    upcxx::barrier(over);

    std::map<upcxx::intrank_t, std::vector<question>> questions;
    for (std::size_t i = 0; i < destinations.size(); ++i) {
      for (point<N> const& b : blocks_of(destinations[i].where, desk.block_extents)) {
        questions[home_of(b, over)].push_back({b, destinations[i].where, i});
      }
    }
    // Answers may come when this call has been left: an rpc may throw.
    auto const answers = std::make_shared<std::vector<answer>>();
    told = upcxx::make_future();
    for (auto const& [home, all] : questions) {
      told = upcxx::when_all(
          told,
          upcxx::rpc(over, home, &ask, office_here, all).then([answers](std::vector<answer> const& some) {
            answers->insert(answers->end(), some.begin(), some.end());
          }));
    }
    told.wait();
    std::vector<answer>& found = *answers;
    // In an order that does not depend on who answered first.
    std::stable_sort(found.begin(), found.end(), [](answer const& a, answer const& b) {
      return a.destination != b.destination ? a.destination < b.destination
                                            : a.source.where.lower < b.source.where.lower;
    });

    std::map<upcxx::intrank_t, std::vector<task>> inbound;
    for (answer const& a : found) {
      plain_array<N> const& d = destinations[a.destination];
      domain<N> const common = a.source.where & d.where;
      inbound[a.source.owner].push_back({common.extents(), a.source.offset_of(common.lower), a.source.strides,
                                         d.offset_of(common.lower), d.strides, a.source.memory, d.memory,
                                         false});
    }
    prepare(inbound);
    told = upcxx::make_future();
    for (auto const& [owner, all] : inbound) {
      told = upcxx::when_all(told, upcxx::rpc(over, owner, &order, office_here, over.rank_me(), all));
    }
    told.wait();
    upcxx::barrier(over);
    return {in_turn(std::move(desk.requests), over), std::move(inbound)};
  }

 private:
  static point<N> largest_extents(arrays const& sources, arrays const& destinations,
                                  upcxx::team const& over) {
    point<N> mine = point<N>::all(1);
    for (plain_array<N> const& a : sources) mine = point<N>::max(mine, a.where.extents());
    for (plain_array<N> const& a : destinations) mine = point<N>::max(mine, a.where.extents());
    point<N> all{};
    upcxx::reduce_all(mine.coordinates, all.coordinates, N, upcxx::op_fast_max, over).wait();
    return all;
  }

  /// Neighbours begin with different ones: the next rank first; the distance to oneself is the smallest.
  static std::vector<request> in_turn(std::vector<request> requests, upcxx::team const& over) {
    auto const distance = [&](upcxx::intrank_t r) {
      return (r - over.rank_me() + over.rank_n()) % over.rank_n();
    };
    std::sort(requests.begin(), requests.end(),
              [&](request const& a, request const& b) { return distance(a.from) < distance(b.from); });
    return requests;
  }
};

/// The link with a peer, or a new one: link i is with peers[i].
template <class Link>
Link& link_with(upcxx::intrank_t peer, std::vector<upcxx::intrank_t>& peers, std::vector<Link>& links) {
  auto const at = static_cast<std::size_t>(std::find(peers.begin(), peers.end(), peer) - peers.begin());
  if (at == peers.size()) {
    peers.push_back(peer);
    links.emplace_back();
  }
  return links[at];
}

}  // namespace atl::inline UPCXX_MODE::detail
