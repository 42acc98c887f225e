#pragma once

/// Bytes that tell which rank wrote them, and where.

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/group.hpp"

namespace atl::bench {

inline unsigned char pattern_byte(int rank, std::size_t at, unsigned round = 0) {
  return static_cast<unsigned char>(at * 31 + at / 251 + static_cast<unsigned>(rank) * 97 + round * 57 + 1);
}

inline void fill_pattern(void* to, std::size_t bytes, int rank, unsigned round = 0) {
  auto* const out = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = pattern_byte(rank, i, round);
}

inline void check_pattern(void const* from, std::size_t bytes, int rank, char const* what,
                          unsigned round = 0) {
  auto const* const in = static_cast<unsigned char const*>(from);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (in[i] != pattern_byte(rank, i, round)) {
      wrong_data(std::string(what) + ", byte " + std::to_string(i) + " of " + std::to_string(bytes));
    }
  }
}

}  // namespace atl::bench
