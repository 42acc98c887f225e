// From which size on a network's own operations are used.

#include <algorithm>

#include "engine/rma/direct.hpp"

namespace atl::engine::remote {

/// Where the target takes part an operation is a message whose data are copied twice less. Below that is nothing beside the rest.
constexpr std::size_t dear_copies_from = 8192;

std::size_t direct_put_from(transport::abilities const& what, transport::limits const& sizes,
                            bool more) noexcept {
  if (what.put.how != transport::support::native) return ~std::size_t{0};
  if (what.put.needs_target) return more ? remote_piece_bytes + 1 : dear_copies_from;
  return std::max(sizes.inline_bytes + 1, std::size_t{4096});
}

std::size_t direct_get_from(transport::abilities const& what) noexcept {
  if (what.get.how != transport::support::native) return ~std::size_t{0};
  return what.get.needs_target ? dear_copies_from : 4096;
}

std::size_t direct_run_from(transport::abilities const& what, bool puts) noexcept {
  transport::ability const& can = puts ? what.put_pieces : what.get_pieces;
  if (can.how != transport::support::native) return ~std::size_t{0};
  return can.needs_target ? dear_copies_from : 2048;
}

}  // namespace atl::engine::remote
