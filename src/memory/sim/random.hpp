#pragma once

/// What simulated devices do next.

#include <cstdint>

namespace atl::memory::sim {

/// splitmix64.
inline std::uint64_t random(std::uint64_t& state) noexcept {
  std::uint64_t x = state += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

}  // namespace atl::memory::sim
