#pragma once

/// One copy of several that are one call.

#include <cstddef>

#include <atoll/engine/memory_copy.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Contiguous at both ends.
struct copy_piece {
  engine::memory_place to;
  engine::memory_place from;
  std::size_t bytes;
};

}  // namespace atl::inline UPCXX_MODE::detail
