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
#include <utility>
#include <vector>

#include <atoll/base/round_up.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/job.hpp>
#include <atoll/engine/strided.hpp>
#include <atoll/extensions/array/domain.hpp>
#include <atoll/extensions/detail/flag_links.hpp>
#include <atoll/extensions/detail/heap_array.hpp>
#include <atoll/extensions/detail/replay.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/team.hpp>
#include <upcxx/when_all.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// An array without its type: offsets and strides are bytes.
template <int N>
struct plain_array {
  domain<N> where;
  point<N> strides;
  std::uint64_t offset;    ///< of the element at where.lower, in its owner's region
  upcxx::intrank_t owner;  ///< rank in the team

  std::uint64_t offset_of(point<N> const& p) const {
    std::ptrdiff_t bytes = 0;
    for (int d = 0; d < N; ++d) bytes += (p[d] - where.lower[d]) * strides[d];
    return offset + static_cast<std::uint64_t>(bytes);
  }
};

template <int N>
class transfer_plan {
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
  /// A copy that the source's owner does.
  struct task {
    point<N> extents;
    std::uint64_t source;
    point<N> source_strides;
    std::uint64_t dest;  ///< the place itself, or one in the inbox
    point<N> dest_strides;
    bool packed;

    std::size_t elements() const {
      std::size_t all = 1;
      for (int d = 0; d < N; ++d) all *= static_cast<std::size_t>(extents[d]);
      return all;
    }
    /// Bytes that are contiguous on both sides.
    std::size_t piece(std::size_t element_bytes) const {
      auto const element = static_cast<std::ptrdiff_t>(element_bytes);
      for (int d = 0; d < N; ++d) {
        if (source_strides[d] == element && dest_strides[d] == element) {
          return static_cast<std::size_t>(extents[d]) * element_bytes;
        }
      }
      return element_bytes;
    }
  };
  struct request {
    upcxx::intrank_t from;
    std::vector<task> tasks;
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

  static std::ptrdiff_t floor_divide(std::ptrdiff_t a, std::ptrdiff_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
  }
  static point<N> block_of(point<N> const& p, point<N> const& extents) {
    point<N> block{};
    for (int d = 0; d < N; ++d) block[d] = floor_divide(p[d], extents[d]);
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
  struct options {
    bool always_ready;
    std::size_t pack_below;
  };

  /// Collective over `over`; user-level progress. No array is empty.
  static replay make(arrays const& sources, arrays const& destinations, std::size_t element_bytes,
                     options const& how, upcxx::team const& over) {
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
    std::vector<answer> found;
    told = upcxx::make_future();
    for (auto const& [home, all] : questions) {
      told = upcxx::when_all(
          told,
          upcxx::rpc(over, home, &ask, office_here, all).then([&found](std::vector<answer> const& some) {
            found.insert(found.end(), some.begin(), some.end());
          }));
    }
    told.wait();
    // In an order that does not depend on who answered first.
    std::stable_sort(found.begin(), found.end(), [](answer const& a, answer const& b) {
      return a.destination != b.destination ? a.destination < b.destination
                                            : a.source.where.lower < b.source.where.lower;
    });

    inbound in;
    for (answer const& a : found) {
      plain_array<N> const& d = destinations[a.destination];
      domain<N> const common = a.source.where & d.where;
      task t{common.extents(), a.source.offset_of(common.lower),
             a.source.strides, d.offset_of(common.lower),
             d.strides,        false};
      t.packed = a.source.owner != over.rank_me() &&
                 (t.piece(element_bytes) < how.pack_below || !addressed(over[a.source.owner]));
      in.tasks[a.source.owner].push_back(t);
    }
    in.make_inbox(element_bytes);
    told = upcxx::make_future();
    for (auto const& [owner, all] : in.tasks) {
      told = upcxx::when_all(told, upcxx::rpc(over, owner, &order, office_here, over.rank_me(), all));
    }
    told.wait();
    upcxx::barrier(over);
    return replay_of(desk.requests, in, element_bytes, how.always_ready, over);
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

  static std::size_t inbox_bytes(std::vector<task> const& tasks, std::size_t element_bytes) {
    std::size_t bytes = 0;
    for (task const& t : tasks) bytes += t.packed ? t.elements() * element_bytes : 0;
    return round_up(bytes, sizeof(inbox_line));
  }

  /// What comes to this rank.
  struct inbound {
    std::map<upcxx::intrank_t, std::vector<task>> tasks;      ///< for each rank that sends it
    std::map<upcxx::intrank_t, std::vector<task>> unpacking;  ///< what this rank does then
    heap_array<inbox_line> inbox;

    /// Gives what travels packed its places in the inbox, of which each sender has two, one behind the other.
    void make_inbox(std::size_t element_bytes) {
      std::size_t total = 0;
      for (auto const& [owner, all] : tasks) total += 2 * inbox_bytes(all, element_bytes);
      if (total == 0) return;
      inbox = heap_array<inbox_line>(total / sizeof(inbox_line));
      std::uint64_t first = upcxx::detail::global_ptr_access::address(inbox.get());
      for (auto& [owner, all] : tasks) {
        std::uint64_t at = first;
        for (task& t : all) {
          if (!t.packed) continue;
          point<N> const strides = packed_beside(t.dest_strides, t.extents, element_bytes);
          unpacking[owner].push_back({t.extents, at, strides, t.dest, t.dest_strides, false});
          t.dest = at;
          t.dest_strides = strides;
          at += t.elements() * element_bytes;
        }
        first += 2 * inbox_bytes(all, element_bytes);
      }
    }
    /// Strides without gaps, in the order of other ones.
    static point<N> packed_beside(point<N> const& strides, point<N> const& extents,
                                  std::size_t element_bytes) {
      point<N> result{};
      for (int d = 0; d < N; ++d) {
        result[d] = static_cast<std::ptrdiff_t>(element_bytes);
        for (int inner = 0; inner < N; ++inner) {
          std::ptrdiff_t const a = strides[inner] < 0 ? -strides[inner] : strides[inner];
          std::ptrdiff_t const b = strides[d] < 0 ? -strides[d] : strides[d];
          if (a < b || (a == b && inner < d)) result[d] *= extents[inner];
        }
      }
      return result;
    }
  };

  static replay replay_of(std::vector<request>& requests, inbound& in, std::size_t element_bytes,
                          bool always_ready, upcxx::team const& over) {
    upcxx::intrank_t const me = over.rank_me();
    // Neighbours begin with different ones: the next rank first; the distance to oneself is the smallest.
    auto const distance = [&](upcxx::intrank_t r) { return (r - me + over.rank_n()) % over.rank_n(); };
    std::sort(requests.begin(), requests.end(),
              [&](request const& a, request const& b) { return distance(a.from) < distance(b.from); });
    std::vector<upcxx::intrank_t> peers;
    std::vector<replay::link> links;
    std::vector<atl::engine::prepared_box> boxes;
    replay::range local;
    // `region`: what the destinations' offsets count from.
    auto const append = [&](std::vector<task> const& tasks, bool packed, std::byte* region) {
      replay::range added{boxes.size(), 0};
      for (task const& t : tasks) {
        if (t.packed == packed) prepare(boxes, t, region, element_bytes);
      }
      added.count = boxes.size() - added.first;
      return added;
    };
    for (request const& r : requests) {
      if (r.from == me) {
        local = append(r.tasks, false, region_of(over[me]));
        continue;
      }
      replay::link l;
      l.sends = true;
      l.inbox_out = inbox_bytes(r.tasks, element_bytes);
      upcxx::intrank_t const to = over[r.from];
      if (addressed(to)) {
        l.straight = append(r.tasks, false, region_of(to));
        l.packed = append(r.tasks, true, region_of(to));
      } else {
        std::uint64_t const first = r.tasks.front().dest;  // of its inbox, whose places follow in order
        l.remote =
            remote_inbox({static_cast<std::uint32_t>(to), first}, l.inbox_out, region_of(over[me]) + first);
        l.packed = append(r.tasks, true, l.remote.base() - first);
      }
      for (task const& t : r.tasks) l.elements += t.elements();
      peers.push_back(r.from);
      links.push_back(std::move(l));
    }
    for (auto const& [sender, tasks] : in.tasks) {
      if (sender == me) continue;
      auto const at = static_cast<std::size_t>(std::find(peers.begin(), peers.end(), sender) - peers.begin());
      if (at == peers.size()) {
        peers.push_back(sender);
        links.emplace_back();
      }
      replay::link& l = links[at];
      l.receives = true;
      l.receives_straight = std::any_of(tasks.begin(), tasks.end(), [](task const& t) { return !t.packed; });
      l.inbox_in = inbox_bytes(tasks, element_bytes);
      l.unpacked = append(in.unpacking[sender], false, region_of(over[me]));
    }
    return replay(flag_links(std::move(peers), flags_of_transfer, over, "atl::transfer"), std::move(links),
                  std::move(boxes), local, std::move(in.inbox), always_ready);
  }

  /// Does this process address the memory of that rank of the job? It does if that one addresses this one's.
  static bool addressed(upcxx::intrank_t rank) {
    return atl::engine::hosts.is_local(static_cast<std::uint32_t>(rank));
  }
  static std::byte* region_of(upcxx::intrank_t rank) {
    return atl::engine::hosts.to_address(static_cast<std::uint32_t>(rank), 0);
  }

  /// Appends the boxes of a task whose destination is in `region`,
  /// one unless there are more dimensions than a box has.
  static void prepare(std::vector<atl::engine::prepared_box>& boxes, task const& t, std::byte* region,
                      std::size_t element_bytes) {
    std::byte* const own = region_of(atl::engine::job.rank_me);
    std::size_t extents[N];
    for (int d = 0; d < N; ++d) extents[d] = static_cast<std::size_t>(t.extents[d]);
    constexpr int within = N < 4 ? N : 4;
    static_assert(within <= static_cast<int>(atl::engine::prepared_box::most_dimensions));
    domain<N> outer{{}, t.extents};  // indices of the dimensions beyond those of a box
    for (int d = 0; d < within; ++d) outer.upper[d] = 1;
    for (point<N> const& p : outer) {
      std::ptrdiff_t dest = 0;
      std::ptrdiff_t source = 0;
      for (int d = within; d < N; ++d) {
        dest += p[d] * t.dest_strides[d];
        source += p[d] * t.source_strides[d];
      }
      atl::engine::prepared_box box;
      if (atl::engine::prepare_box(box, region + t.dest + dest, t.dest_strides.coordinates,
                                   own + t.source + source, t.source_strides.coordinates, extents, within,
                                   element_bytes)) {
        boxes.push_back(box);
      }
    }
  }
};

}  // namespace atl::inline UPCXX_MODE::detail
