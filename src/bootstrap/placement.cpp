#include "bootstrap/placement.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace atl::bootstrap {

host_ranks::host_ranks(rank_table const& table, std::int32_t me) noexcept
    : first_(me),
      run_(1),
      count_(static_cast<std::uint32_t>(table.members.size())),
      host_(table.host_of[static_cast<std::size_t>(me)]) {
  std::vector<std::int32_t> const& members = table.members;
  auto begin =
      static_cast<std::size_t>(std::lower_bound(members.begin(), members.end(), me) - members.begin());
  std::size_t end = begin + 1;
  while (begin > 0 && members[begin - 1] == members[begin] - 1) --begin;
  while (end < members.size() && members[end] == members[end - 1] + 1) ++end;
  first_ = members[begin];
  run_ = static_cast<std::uint32_t>(end - begin);
  run_begin_ = static_cast<std::uint32_t>(begin);
  if (!consecutive()) table_ = &table;
}

std::uint32_t host_ranks::look_up(std::int32_t world_rank) const noexcept {
  if (table_ == nullptr) return none;
  auto const index = static_cast<std::size_t>(static_cast<std::uint32_t>(world_rank));
  if (index >= table_->host_of.size() || table_->host_of[index] != host_) return none;
  std::vector<std::int32_t> const& members = table_->members;
  // Ranks that were dealt out in turn are evenly spaced. There are two at least, else the run were all.
  auto const guess = static_cast<std::size_t>((world_rank - members[0]) / (members[1] - members[0]));
  if (guess < members.size() && members[guess] == world_rank) return static_cast<std::uint32_t>(guess);
  auto const found = std::lower_bound(members.begin(), members.end(), world_rank);
  return static_cast<std::uint32_t>(found - members.begin());
}

std::vector<std::int32_t> placement::first_ranks() const {
  if (table == nullptr) return {0};
  std::vector<std::int32_t> first(static_cast<std::size_t>(hosts), -1);
  for (std::int32_t r = 0; r < size; ++r) {
    std::int32_t& of_host = first[static_cast<std::size_t>(host_of(r))];
    if (of_host < 0) of_host = r;
  }
  return first;
}

std::vector<std::int32_t> placement::counterparts() const {
  if (table == nullptr) return {local_size == 1 ? -1 : rank};
  auto const count = static_cast<std::size_t>(hosts);
  std::vector<std::int32_t> left(count);
  for (std::int32_t const each : table->host_of) ++left[static_cast<std::size_t>(each)];
  for (std::int32_t& each : left) each = each == 1 ? -1 : local_rank % each;
  std::vector<std::int32_t> found(count, -1);
  for (std::int32_t r = 0; r < size; ++r) {
    auto const there = static_cast<std::size_t>(host_of(r));
    if (left[there]-- == 0) found[there] = r;
  }
  return found;
}

placement place(std::int32_t rank, std::vector<std::int32_t> const& host_of) {
  placement here;
  here.rank = rank;
  here.size = static_cast<std::int32_t>(host_of.size());
  here.host = host_of[static_cast<std::size_t>(rank)];
  here.hosts = *std::max_element(host_of.begin(), host_of.end()) + 1;
  std::vector<std::int32_t> ranks_on(static_cast<std::size_t>(here.hosts));
  for (std::int32_t const host : host_of) ++ranks_on[static_cast<std::size_t>(host)];
  here.largest_host = *std::max_element(ranks_on.begin(), ranks_on.end());
  rank_table all{host_of, {}};
  for (std::size_t r = 0; r < host_of.size(); ++r) {
    if (host_of[r] != here.host) continue;
    if (static_cast<std::int32_t>(r) == rank) here.local_rank = static_cast<std::int32_t>(all.members.size());
    all.members.push_back(static_cast<std::int32_t>(r));
  }
  here.local_size = static_cast<std::int32_t>(all.members.size());
  if (here.hosts > 1) here.table = std::make_shared<rank_table const>(std::move(all));
  return here;
}

}  // namespace atl::bootstrap
