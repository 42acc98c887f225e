#include "engine/progress/passing_on.hpp"

#include <utility>
#include <vector>

#include "engine/progress/messages.hpp"

namespace atl::engine {
namespace {

void take_passed(message* m) {
  network_messages::here().take_passed({m->payload(), m->bytes - header_bytes});
  release(m);
}

}  // namespace

void bundle_by_host(network_messages::shape& what, bootstrap::placement const& here) {
  what.rank = here.rank;
  what.counterpart_of = [&here, there = here.counterparts()](std::int32_t rank) {
    std::int32_t const host = here.host_of(rank);
    return host == here.host ? -1 : there[static_cast<std::size_t>(host)];
  };
  what.pass_on = [](std::int32_t rank, std::span<std::byte const> part, std::uint32_t& kept_back) {
    am_counted(rank, token_cache<&take_passed>::get(), part.data(), part.size(), kept_back);
  };
}

}  // namespace atl::engine
