#pragma once

/// Reductions of arrays in streams by hosts.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/extensions/device/operations.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/future.hpp>
#include <upcxx/promise.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::device {

/// What hosts do where devices do not reach each other: rank 0 of the team has it all. Of the master persona, whose rpcs change it, so there
/// is no lock.
struct host_reductions {
  explicit host_reductions(std::int32_t of) : ranks(static_cast<std::size_t>(of)) {}
  using combination = std::function<std::vector<char>(std::vector<std::vector<char>> const&)>;
  struct gathered {
    std::vector<std::vector<char>> parts;
    std::size_t come = 0;
    combination combine;
    std::int32_t root = -1;  ///< negative: all want the result
  };
  std::size_t ranks;
  std::unordered_map<std::uint64_t, gathered> open;                             ///< by number, at rank 0
  std::unordered_map<std::uint64_t, upcxx::promise<std::vector<char>>> wanted;  ///< by number
};
using shared_reductions = upcxx::dist_object<host_reductions>;

inline void finish_by_hosts(shared_reductions& all, std::uint64_t number) {
  auto const found = all->open.find(number);
  host_reductions::gathered& g = found->second;
  if (g.come != all->ranks || !g.combine) return;
  for (std::size_t r = 1; r < g.parts.size(); ++r) {
    if (g.parts[r].size() == g.parts[0].size()) continue;
    check_failed(
        "stream_reduction::reduce_all: rank %d gives %zu bytes, and rank %d gives %zu: all arrays must have one "
        "size",
        static_cast<int>(all.team()[0]), g.parts[0].size(),
        static_cast<int>(all.team()[static_cast<upcxx::intrank_t>(r)]), g.parts[r].size());
  }
  std::vector<char> const result = g.combine(g.parts);
  std::int32_t const root = g.root;
  all->open.erase(found);
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(all->ranks); ++r) {
    upcxx::rpc_ff(
        all.team(), r,
        [](shared_reductions& here, std::uint64_t which, std::vector<char> const& bytes) {
          auto const asked = here->wanted.find(which);
          upcxx::promise<std::vector<char>> answer = asked->second;
          here->wanted.erase(asked);
          answer.fulfill_result(bytes);
        },
        all, number, has_result(r, root) ? result : std::vector<char>());
  }
}

/// Nothing where the result is not wanted. By the master persona.
inline upcxx::future<std::vector<char>> reduce_by_hosts(shared_reductions& all, std::uint64_t number,
                                                        std::int32_t root, std::vector<char> part,
                                                        host_reductions::combination combine) {
  upcxx::promise<std::vector<char>> const answer;
  all->wanted.emplace(number, answer);
  if (all.team().rank_me() == 0) {
    all->open[number].combine = std::move(combine);
    all->open[number].root = root;
    all->open[number].parts.resize(all->ranks);
  }
  upcxx::rpc_ff(
      all.team(), 0,
      [](shared_reductions& here, std::uint64_t which, std::int32_t from, std::vector<char> const& bytes) {
        host_reductions::gathered& g = here->open[which];
        g.parts.resize(here->ranks);
        g.parts[static_cast<std::size_t>(from)] = bytes;
        ++g.come;
        finish_by_hosts(here, which);
      },
      all, number, all.team().rank_me(), std::move(part));
  return answer.get_future();
}

}  // namespace atl::inline UPCXX_MODE::device
