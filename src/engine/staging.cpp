#include "engine/staging.hpp"

#include <algorithm>
#include <bit>

#include "engine/world.hpp"

namespace atl::engine {

staging_blocks::~staging_blocks() {
  if (world == nullptr) return;
  for (block const& b : blocks_) {
    if (b.offset != none) world->shm->give_staging(b.offset);
  }
}

std::uint64_t staging_blocks::next(std::size_t bytes) {
  block& b = blocks_[turn_++ & 1U];
  if (b.bytes < bytes) {
    if (b.offset != none) world->shm->give_staging(b.offset);
    std::size_t const enough = std::bit_ceil(std::max(bytes, std::size_t{1024}));
    b.offset = world->shm->take_staging(enough);
    b.bytes = b.offset == none ? 0 : enough;
  }
  return b.offset;
}

}  // namespace atl::engine
