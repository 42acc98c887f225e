#pragma once

/// The trees that values go up and down, as one of their members sees them.

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/collectives/teams.hpp"

namespace atl::engine {

/// How a tree goes on from host to host: as a binomial tree, or to one after the other.
enum class between_hosts : std::uint8_t { binomial, chain };

/// Which is faster for an array that goes from one rank to all, or from all to one, in segments.
between_hosts way_of_array(team_data const& team, std::size_t bytes);

class tree {
 public:
  /// Nobody else.
  tree() = default;
  /// Of all members: binomial; over several hosts, `how` among one member of each host (the root, and the
  /// lowest of each other host), and below each of these binomial inside its host.
  tree(team_data const& team, std::int32_t root, between_hosts how = between_hosts::binomial);
  /// Of the members on this host, under the lowest.
  explicit tree(team_hosts const& hosts);
  /// Of one member of each host, this one among them: the first as above without what is inside the hosts.
  static tree of_heads(team_data const& team, std::int32_t root, between_hosts how);

  [[nodiscard]] bool is_root() const noexcept { return parent_ < 0; }
  /// Team rank; negative at the root.
  [[nodiscard]] std::int32_t parent() const noexcept { return parent_; }
  /// Team ranks. Smallest subtrees first, those of this host before others: with their subtrees they are in the
  /// order of ranks, where the root is the lowest rank and those of a host are consecutive.
  [[nodiscard]] std::int32_t const* begin() const noexcept { return children_.data(); }
  [[nodiscard]] std::size_t children() const noexcept { return count_; }

 private:
  /// Among the hosts.
  void grow_between(team_data const& team, std::int32_t root, between_hosts how);
  /// Inside this host, under one of its members.
  void grow_inside(team_hosts const& hosts, std::int32_t head_place);
  void add(std::int32_t team_rank) noexcept { children_[count_++] = team_rank; }

  std::array<std::int32_t, 62> children_;
  std::size_t count_ = 0;
  std::int32_t parent_ = -1;
};

}  // namespace atl::engine
