#include "bootstrap/placement.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace atl::bootstrap {

host_ranks::host_ranks(rank_table const& table, std::int32_t me) noexcept
    : first_(me),
      run_(1),
      count_(static_cast<std::uint32_t>(table.members.size())),
      host_(table.places[static_cast<std::size_t>(me)].host) {
  std::vector<std::int32_t> const& members = table.members;
  auto begin = static_cast<std::size_t>(table.places[static_cast<std::size_t>(me)].local_rank);
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
  if (index >= table_->places.size()) return none;
  rank_place const found = table_->places[index];
  return found.host == host_ ? static_cast<std::uint32_t>(found.local_rank) : none;
}

placement place(std::int32_t rank, std::vector<std::int32_t> const& host_of) {
  placement here;
  here.rank = rank;
  here.size = static_cast<std::int32_t>(host_of.size());
  here.host = host_of[static_cast<std::size_t>(rank)];
  here.hosts = *std::max_element(host_of.begin(), host_of.end()) + 1;
  rank_table all;
  all.places.reserve(host_of.size());
  std::vector<std::int32_t> sizes(static_cast<std::size_t>(here.hosts));
  for (std::size_t r = 0; r < host_of.size(); ++r) {
    all.places.push_back({host_of[r], sizes[static_cast<std::size_t>(host_of[r])]++});
    if (host_of[r] == here.host) all.members.push_back(static_cast<std::int32_t>(r));
  }
  here.local_rank = all.places[static_cast<std::size_t>(rank)].local_rank;
  here.local_size = sizes[static_cast<std::size_t>(here.host)];
  if (here.hosts > 1) here.table = std::make_shared<rank_table const>(std::move(all));
  return here;
}

}  // namespace atl::bootstrap
