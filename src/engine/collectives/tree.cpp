#include "engine/collectives/tree.hpp"

#include <algorithm>
#include <bit>

#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/streams.hpp"

namespace atl::engine {

namespace {

/// The binomial tree over `n` places relative to place `root`: the parent of v is v without its lowest set bit.
/// Calls `child` with places, smallest subtree first; returns the parent's place, or -1.
template <class Child>
std::int32_t visit(std::int32_t n, std::int32_t root, std::int32_t me, Child child) {
  auto const place_of = [&](std::int32_t relative) { return (relative + root) % n; };
  std::int32_t const v = (me - root + n) % n;
  for (std::int32_t step = 1; (v & step) == 0 && step < n - v; step *= 2) child(place_of(v + step));
  return v == 0 ? -1 : place_of(v & (v - 1));
}

/// The same of a chain.
template <class Child>
std::int32_t visit_chain(std::int32_t n, std::int32_t root, std::int32_t me, Child child) {
  std::int32_t const after = (me + 1) % n;
  if (after != root) child(after);
  return me == root ? -1 : (me + n - 1) % n;
}

template <class List>
std::int32_t size_of(List const& ranks) {
  return static_cast<std::int32_t>(ranks.size());
}

}  // namespace

// The last host of a chain has the first segment after as many steps as there are hosts before it, but then one segment
// after each other; the root of a binomial tree sends each segment to all of its children. A step takes about twice as
// long as a segment takes at an adapter.
between_hosts way_of_array(team_data const& team, std::size_t bytes) {
  std::size_t const hosts = team.hosts == nullptr ? 1 : team.hosts->leaders.size();
  if (hosts < 3) return between_hosts::binomial;
  auto const rounds = static_cast<std::size_t>(std::bit_width(hosts - 1));
  std::size_t const segments = bytes / segment_bytes;
  bool const pays = segments >= 4 && segments * (rounds - 1) > 2 * (hosts - 1 - rounds);
  return pays ? between_hosts::chain : between_hosts::binomial;
}

tree::tree(team_data const& team, std::int32_t root, between_hosts how) {
  team_hosts const* const over = team.hosts.get();
  if (over == nullptr) {
    parent_ = visit(team.rank_n, root, team.rank_me, [&](std::int32_t rank) { add(rank); });
    return;
  }
  grow_inside(*over, over->head_place(team, root));
  if (parent_ < 0) grow_between(team, root, how);
}

tree::tree(team_hosts const& over) { grow_inside(over, 0); }

tree tree::of_heads(team_data const& team, std::int32_t root, between_hosts how) {
  tree heads;
  heads.grow_between(team, root, how);
  return heads;
}

void tree::grow_between(team_data const& team, std::int32_t root, between_hosts how) {
  team_hosts const& over = *team.hosts;
  std::int32_t const root_host = over.host_of_member(team, root);
  auto const head_of = [&](std::int32_t host) {
    return host == root_host ? root : over.leaders[static_cast<std::size_t>(host)];
  };
  std::int32_t const n = size_of(over.leaders);
  auto const below = [&](std::int32_t host) { add(head_of(host)); };
  std::int32_t const above = how == between_hosts::chain ? visit_chain(n, root_host, over.my_host, below)
                                                         : visit(n, root_host, over.my_host, below);
  if (above >= 0) parent_ = head_of(above);
}

void tree::grow_inside(team_hosts const& over, std::int32_t head_place) {
  auto const rank_of = [&](std::int32_t place) { return over.here[static_cast<std::size_t>(place)]; };
  std::int32_t const above =
      visit(size_of(over.here), head_place, over.my_place, [&](std::int32_t place) { add(rank_of(place)); });
  if (above >= 0) parent_ = rank_of(above);
}

}  // namespace atl::engine
