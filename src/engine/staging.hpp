#pragma once

/// Blocks of this rank's transit memory in which its contributions to reductions of arrays stand, for the
/// other ranks of the host to read.

#include <cstddef>
#include <cstdint>

namespace atl::engine {

/// Two, used in turn: who uses one again has completed the reduction in the other, which everybody has
/// started, hence left the one before.
class staging_blocks {
 public:
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  staging_blocks() = default;
  staging_blocks(staging_blocks const&) = delete;
  staging_blocks& operator=(staging_blocks const&) = delete;
  ~staging_blocks();

  /// The next block, of at least `bytes`. Returns its offset in the region, `none` if there is no room.
  std::uint64_t next(std::size_t bytes);

 private:
  struct block {
    std::uint64_t offset = none;
    std::size_t bytes = 0;
  };
  block blocks_[2];
  unsigned turn_ = 0;
};

}  // namespace atl::engine
