#pragma once

/// Lists of pieces whose cuts differ between the sides, as runs that are whole on both.

#include <algorithm>
#include <cstddef>
#include <span>

#include "transport/network_types.hpp"

namespace atl::transport {

inline std::size_t sum(std::span<remote_piece const> list) {
  std::size_t all = 0;
  for (remote_piece const& each : list) all += each.bytes;
  return all;
}

/// Calls `move(remote_place, local_place, bytes)` for the largest of them, one after the other, while it returns true.
template <class Move>
void for_each_run(std::span<remote_piece const> far, std::span<local_piece const> near, Move&& move) {
  std::size_t i = 0;
  std::size_t j = 0;
  std::size_t far_done = 0;
  std::size_t near_done = 0;
  while (i < far.size() && j < near.size()) {
    std::size_t const bytes = std::min(far[i].bytes - far_done, near[j].bytes - near_done);
    if (bytes != 0) {
      remote_place const& there = far[i].place;
      local_place const& here = near[j].place;
      auto* const address = static_cast<std::byte*>(here.address) + near_done;
      if (!move(remote_place{there.key, there.offset + far_done}, local_place{address, here.memory}, bytes))
        return;
    }
    far_done += bytes;
    near_done += bytes;
    if (far_done == far[i].bytes) {
      ++i;
      far_done = 0;
    }
    if (near_done == near[j].bytes) {
      ++j;
      near_done = 0;
    }
  }
}

}  // namespace atl::transport
