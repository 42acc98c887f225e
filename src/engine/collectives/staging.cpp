#include "engine/collectives/staging.hpp"

#include <algorithm>
#include <bit>

namespace atl::engine {

staging_blocks::~staging_blocks() {
  for (block const& b : blocks_) {
    if (b.offset != none) host_.give_staging(b.offset);
  }
}

std::uint64_t staging_blocks::next(std::size_t bytes, std::uint64_t all_left) {
  bool const rests = host_.staging_rests(bytes);
  unsigned free = count;
  bool wait = false;
  for (unsigned i = 0; i < count; ++i) {
    block const& b = blocks_[i];
    if (b.used > all_left) {
      wait = true;
    } else if (b.bytes >= bytes && !rests) {
      current_ = i;
      return b.offset;
    } else if (free == count) {
      free = i;
    }
  }
  if (free == count) return later;
  block& b = blocks_[free];
  if (b.offset != none) host_.give_staging(b.offset);
  std::size_t const enough = std::bit_ceil(std::max(bytes, std::size_t{1024}));
  b.offset = host_.take_staging(enough);
  b.bytes = b.offset == none ? 0 : enough;
  current_ = free;
  return b.offset == none && wait ? later : b.offset;
}

std::uint64_t staging_blocks::first_use() const {
  // A block that nobody reads any more has a step that all have left: it does no harm here.
  return std::min_element(blocks_, blocks_ + count,
                          [](block const& a, block const& b) { return a.used < b.used; })
      ->used;
}

}  // namespace atl::engine
