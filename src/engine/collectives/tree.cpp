#include "engine/collectives/tree.hpp"

#include <algorithm>

#include "engine/collectives/hierarchy.hpp"

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

template <class List>
std::int32_t size_of(List const& ranks) {
  return static_cast<std::int32_t>(ranks.size());
}

}  // namespace

tree::tree(team_data const& team, std::int32_t root) {
  team_hosts const* const over = team.hosts.get();
  if (over == nullptr) {
    parent_ = visit(team.rank_n, root, team.rank_me, [&](std::int32_t rank) { add(rank); });
    return;
  }
  grow_inside(*over, over->head_place(team, root));
  if (parent_ < 0) grow_between(team, root);
}

tree::tree(team_hosts const& over) { grow_inside(over, 0); }

tree tree::between_hosts(team_data const& team, std::int32_t root) {
  tree heads;
  heads.grow_between(team, root);
  return heads;
}

void tree::grow_between(team_data const& team, std::int32_t root) {
  team_hosts const& over = *team.hosts;
  std::int32_t const root_host = over.host_of_member(team, root);
  auto const head_of = [&](std::int32_t host) {
    return host == root_host ? root : over.leaders[static_cast<std::size_t>(host)];
  };
  std::int32_t const above =
      visit(size_of(over.leaders), root_host, over.my_host, [&](std::int32_t host) { add(head_of(host)); });
  if (above >= 0) parent_ = head_of(above);
}

void tree::grow_inside(team_hosts const& over, std::int32_t head_place) {
  auto const rank_of = [&](std::int32_t place) { return over.here[static_cast<std::size_t>(place)]; };
  std::int32_t const above =
      visit(size_of(over.here), head_place, over.my_place, [&](std::int32_t place) { add(rank_of(place)); });
  if (above >= 0) parent_ = rank_of(above);
}

}  // namespace atl::engine
