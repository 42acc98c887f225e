#pragma once

/// What exchanges between devices have in common, and agree on before they begin.

#include <algorithm>
#include <atoll/device.cuh>
#include <string>
#include <upcxx/upcxx.hpp>

#include "exchanges/communicator.hpp"
#include "exchanges/upcxx_all_or_none.hpp"

namespace heat3d {

/// Ends with `told`, after the ranks of the first pair, unless `reaches` is true for all neighbours of all ranks. Collective.
template <class Reaches>
void require_neighbors(block const& own, std::string const& exchange, char const* told, Reaches&& reaches) {
  auto const lacks = [&](int rank) { return rank >= 0 && !reaches(rank); };
  auto const found = std::ranges::find_if(own.neighbor, lacks);
  // The lowest rank that has one, and which one.
  std::int64_t const none = std::int64_t{upcxx::rank_n()} * upcxx::rank_n();
  std::int64_t pair = none;
  if (found != own.neighbor.end()) pair = std::int64_t{upcxx::rank_me()} * upcxx::rank_n() + *found;
  auto const first = upcxx::reduce_all(pair, upcxx::op_fast_min).wait();
  if (first == none) return;
  throw failure{"--exchange " + exchange + ": devices reach only those of their own host, but ranks " +
                std::to_string(first / upcxx::rank_n()) + " and " + std::to_string(first % upcxx::rank_n()) +
                ", which are neighbours, " + told};
}

/// Devices reach memory of their own host only. Collective.
inline void require_one_host(block const& own, std::string const& exchange) {
  require_neighbors(own, exchange, "are on two; use rma",
                    [](int rank) { return upcxx::local_team_contains(rank); });
}

/// Ends where it is last used, also by a failure. Collective.
struct owned_team : atl::device_team {
  explicit owned_team(atl::device_team const& made) : device_team(made) {}
  ~owned_team() { destroy(); }
  owned_team(owned_team const&) = delete;
  owned_team& operator=(owned_team const&) = delete;
};

}  // namespace heat3d
