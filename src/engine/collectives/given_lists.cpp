#include "engine/collectives/given_lists.hpp"

#include <algorithm>
#include <cstddef>

#include "base/error.hpp"

namespace atl::engine {
namespace {

std::uint64_t check_of(std::uint64_t parent, std::uint32_t number, std::uint32_t count,
                       std::int32_t const* ranks) {
  std::uint64_t h = parent * 0x9e3779b97f4a7c15U ^ (std::uint64_t{number} << 32U | count);
  for (std::uint32_t i = 0; i < std::min(count, shown_ranks); ++i)
    h = (h ^ static_cast<std::uint32_t>(ranks[i])) * 0xc2b2ae3d27d4eb4fU;
  return h + 1;
}

}  // namespace

void show_list(host_domain const& host, std::uint64_t parent, std::uint32_t number,
               std::vector<std::int32_t> const& ranks) noexcept {
  given_list& shown = host.own_page().list;
  auto const count = static_cast<std::uint32_t>(ranks.size());
  shown.parent.store(parent, std::memory_order_relaxed);
  shown.number.store(number, std::memory_order_relaxed);
  shown.count.store(count, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < std::min(count, shown_ranks); ++i)
    shown.ranks[i].store(ranks[i], std::memory_order_relaxed);
  shown.check.store(check_of(parent, number, count, ranks.data()), std::memory_order_relaxed);
}

std::string list_of(host_domain const& host, std::int32_t world_rank, std::uint64_t parent,
                    std::uint32_t number) {
  if (!host.has(world_rank)) return {};
  given_list const& shown = host.page(host.local_rank(world_rank)).list;
  std::uint32_t const count = shown.count.load(std::memory_order_relaxed);
  std::int32_t ranks[shown_ranks];
  for (std::uint32_t i = 0; i < shown_ranks; ++i) ranks[i] = shown.ranks[i].load(std::memory_order_relaxed);
  if (shown.check.load(std::memory_order_relaxed) != check_of(parent, number, count, ranks)) return {};
  std::string text = "{";
  for (std::uint32_t i = 0; i < std::min(count, shown_ranks); ++i)
    text += format(i == 0 ? "%d" : ", %d", ranks[i]);
  return text + (count > shown_ranks ? format(", ...: %u ranks}", count) : "}");
}

}  // namespace atl::engine
