#pragma once

/// How a planned transfer between arrays in the hosts' shared memory is replayed.

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
#include <atoll/extensions/detail/allocate_together.hpp>
#include <atoll/extensions/detail/flag_links.hpp>
#include <atoll/extensions/detail/heap_array.hpp>
#include <atoll/extensions/detail/planned_copy.hpp>
#include <atoll/extensions/detail/replay.hpp>
#include <atoll/extensions/detail/transfer_plan.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// The plan of a transfer between arrays in the hosts' shared memory: what goes straight, what packed, and through which inboxes.
template <int N>
class replay_plan {
  using plan = transfer_plan<N>;
  using task = typename plan::task;
  using arrays = typename plan::arrays;

 public:
  struct options {
    bool always_ready;
    std::size_t pack_below;
    bool by_host;
  };

  /// Collective over `over`; user-level progress. No array is empty.
  static replay make(arrays const& sources, arrays const& destinations, std::size_t element_bytes,
                     options const& how, upcxx::team const& over) {
    inbox in;
    typename plan::agreement agreed = plan::agree(sources, destinations, over, [&](auto& inbound) {
      for (auto& [owner, all] : inbound) {
        for (task& t : all) {
          t.packed =
              owner != over.rank_me() && (t.piece(element_bytes) < how.pack_below || !addressed(over[owner]));
        }
      }
      detail::allocate_together([&] { in.make(inbound, element_bytes); }, over, "atl::transfer",
                                "room for its inbox");
    });
    // What takes longest leaves first: it is under way while others are copied to within the host.
    std::stable_partition(agreed.requests.begin(), agreed.requests.end(),
                          [&](typename plan::request const& r) { return !addressed(over[r.from]); });
    return replay_of(agreed, in, element_bytes, how, over);
  }

 private:
  static std::size_t inbox_bytes(std::vector<task> const& tasks, std::size_t element_bytes) {
    std::size_t bytes = 0;
    for (task const& t : tasks) bytes += t.packed ? t.elements() * element_bytes : 0;
    return round_up(bytes, sizeof(inbox_line));
  }

  /// For what comes to this rank packed.
  struct inbox {
    std::map<upcxx::intrank_t, std::vector<task>> unpacking;  ///< what this rank does then
    heap_array<inbox_line> lines;

    /// Gives what travels packed its places, of which each sender has two, one behind the other.
    void make(std::map<upcxx::intrank_t, std::vector<task>>& tasks, std::size_t element_bytes) {
      std::size_t total = 0;
      for (auto const& [owner, all] : tasks) total += 2 * inbox_bytes(all, element_bytes);
      if (total == 0) return;
      lines = heap_array<inbox_line>(total / sizeof(inbox_line));
      std::uint64_t first = upcxx::detail::global_ptr_access::address(lines.get());
      for (auto& [owner, all] : tasks) {
        std::uint64_t at = first;
        for (task& t : all) {
          if (!t.packed) continue;
          point<N> const strides = packed_beside(t.dest_strides, t.extents, element_bytes);
          unpacking[owner].push_back({t.extents, at, strides, t.dest, t.dest_strides, 0, 0, false});
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

  static replay replay_of(typename plan::agreement const& agreed, inbox& in, std::size_t element_bytes,
                          options const& how, upcxx::team const& over) {
    upcxx::intrank_t const me = over.rank_me();
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
    for (typename plan::request const& r : agreed.requests) {
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
    for (auto const& [sender, tasks] : agreed.inbound) {
      if (sender == me) continue;
      replay::link& l = detail::link_with(sender, peers, links);
      l.receives = true;
      l.receives_straight = std::any_of(tasks.begin(), tasks.end(), [](task const& t) { return !t.packed; });
      l.inbox_in = inbox_bytes(tasks, element_bytes);
      if (!addressed(over[sender])) l.raises = remote_inbox::raises(l.inbox_in);
      l.unpacked = append(in.unpacking[sender], false, region_of(over[me]));
    }
    std::vector<joint_links> joint;
    if (how.by_host) joint = join(links, peers, over);
    return replay(flag_links(std::move(peers), flags_of_transfer, over, "atl::transfer"), std::move(links),
                  std::move(joint), std::move(boxes), local, std::move(in.lines), how.always_ready);
  }

  /// Which links to ranks of other hosts share messages.
  static std::vector<joint_links> join(std::vector<replay::link>& links,
                                       std::vector<upcxx::intrank_t> const& peers, upcxx::team const& over) {
    std::vector<joint_links::candidate> all;
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (replay::link const& l = links[i]; l.remote)
        all.push_back({i, static_cast<std::uint32_t>(over[peers[i]]), l.inbox_out});
    }
    std::vector<joint_links> joint = joint_links::of(std::move(all));
    for (joint_links const& each : joint) {
      for (std::size_t const i : each.links) links[i].joint = true;
    }
    return joint;
  }

  /// Does this process address the memory of that rank of the job? It does if that one addresses this one's.
  static bool addressed(upcxx::intrank_t rank) {
    return atl::engine::hosts.is_local(static_cast<std::uint32_t>(rank));
  }
  static std::byte* region_of(upcxx::intrank_t rank) {
    return atl::engine::hosts.to_address(static_cast<std::uint32_t>(rank), 0);
  }

  /// Appends the boxes of a task whose destination is in `region`.
  static void prepare(std::vector<atl::engine::prepared_box>& boxes, task const& t, std::byte* region,
                      std::size_t element_bytes) {
    std::byte* const own = region_of(atl::engine::job.rank_me);
    detail::for_each_box(t, [&](std::ptrdiff_t dest, std::ptrdiff_t source, std::size_t const* extents,
                                std::size_t dimensions) {
      atl::engine::prepared_box box;
      if (atl::engine::prepare_box(box, region + t.dest + dest, t.dest_strides.coordinates,
                                   own + t.source + source, t.source_strides.coordinates, extents, dimensions,
                                   element_bytes)) {
        boxes.push_back(box);
      }
    });
  }
};

}  // namespace atl::inline UPCXX_MODE::detail
