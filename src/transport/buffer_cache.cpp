#include "transport/buffer_cache.hpp"

#include <bit>
#include <cstdlib>
#include <mutex>

#include <atoll/base/round_up.hpp>

namespace atl::transport {
namespace {

constexpr std::size_t page = 4096;

/// Sizes are rounded to quarters of powers of two, so that a buffer serves messages of about its size.
std::size_t room_for(std::size_t bytes) {
  std::size_t const step = std::bit_floor(bytes) / 4;
  return round_up(bytes, step);
}

}  // namespace

buffer_cache::~buffer_cache() {
  for (std::size_t i = 0; i < count_; ++i) std::free(kept_[i].buffer);
}

std::byte* buffer_cache::take(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes < smallest_kept) {
    return static_cast<std::byte*>(std::aligned_alloc(alignment, align_up(bytes, alignment)));
  }
  std::size_t const room = room_for(bytes);
  if (alignment > page) {
    return static_cast<std::byte*>(std::aligned_alloc(alignment, align_up(room, alignment)));
  }
  {
    std::lock_guard const held(lock_);
    for (std::size_t i = count_; i-- > 0;) {
      if (kept_[i].room < room || kept_[i].room > 2 * room) continue;
      std::byte* const found = kept_[i].buffer;
      kept_bytes_ -= kept_[i].room;
      kept_[i] = kept_[--count_];
      return found;
    }
  }
  return static_cast<std::byte*>(std::aligned_alloc(page, room));
}

void buffer_cache::give(std::byte* buffer, std::size_t bytes) noexcept {
  if (bytes >= smallest_kept) {
    // The buffer may be larger, if its message turned out shorter; so much is certain.
    std::size_t const room = room_for(bytes);
    std::lock_guard const held(lock_);
    if (count_ < slots && kept_bytes_ + room <= most_kept) {
      kept_[count_++] = {buffer, room};
      kept_bytes_ += room;
      return;
    }
  }
  std::free(buffer);
}

}  // namespace atl::transport
