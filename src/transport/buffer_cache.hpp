#pragma once

/// Large private buffers for messages, kept for reuse: fresh ones cost a page fault every 4 KiB, which takes
/// longer than copying the message. Any thread may take and give.

#include <cstddef>

#include "base/spin_lock.hpp"

namespace atl::transport {

class buffer_cache {
 public:
  buffer_cache() = default;
  buffer_cache(buffer_cache const&) = delete;
  buffer_cache& operator=(buffer_cache const&) = delete;
  ~buffer_cache();

  /// Memory for `bytes`, aligned; null if there is none.
  std::byte* take(std::size_t bytes, std::size_t alignment) noexcept;
  /// Gives back what take() returned; `bytes` as then, or less.
  void give(std::byte* buffer, std::size_t bytes) noexcept;

 private:
  struct entry {
    std::byte* buffer;
    std::size_t room;
  };
  static constexpr std::size_t slots = 16;
  static constexpr std::size_t most_kept = std::size_t{64} << 20;
  static constexpr std::size_t smallest_kept = std::size_t{64} << 10;

  spin_lock lock_;
  entry kept_[slots] = {};
  std::size_t count_ = 0;
  std::size_t kept_bytes_ = 0;
};

}  // namespace atl::transport
