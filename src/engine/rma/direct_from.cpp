// From which size on a network's own operations are used.

#include <algorithm>

#include "engine/rma/direct.hpp"

namespace atl::engine::remote {

// Where the target takes part an operation is a message whose data are copied twice less. Below some 8 KiB that is
// nothing beside the rest.

std::size_t direct_put_from(transport::abilities const& what, transport::limits const& sizes) noexcept {
  if (what.put.how != transport::support::native) return ~std::size_t{0};
  // What one message holds leaves its source at once, and takes its notice along.
  if (what.put.needs_target) return remote_piece_bytes + 1;
  return std::max(sizes.inline_bytes + 1, std::size_t{4096});
}

std::size_t direct_get_from(transport::abilities const& what) noexcept {
  if (what.get.how != transport::support::native) return ~std::size_t{0};
  return what.get.needs_target ? 8192 : 4096;
}

std::size_t direct_run_from(transport::abilities const& what, bool puts) noexcept {
  transport::ability const& can = puts ? what.put_pieces : what.get_pieces;
  if (can.how != transport::support::native) return ~std::size_t{0};
  return can.needs_target ? 8192 : 2048;
}

}  // namespace atl::engine::remote
