#pragma once

/// Blocks of this rank's transit memory in which its part of a flat collective stands, for the other ranks of
/// the host to read.

#include <cstddef>
#include <cstdint>

#include "engine/host/host_domain.hpp"

namespace atl::engine {

/// Reductions to all need two, used in turn;
/// the root of a broadcast is ahead of the others by as many as there are.
class staging_blocks {
 public:
  static constexpr std::uint64_t none = host_domain::no_room;
  static constexpr std::uint64_t later = ~std::uint64_t{0} - 1;  ///< peers still read all there are

  explicit staging_blocks(host_domain const& host) : host_(host) {}
  staging_blocks(staging_blocks const&) = delete;
  staging_blocks& operator=(staging_blocks const&) = delete;
  ~staging_blocks();

  /// A block of at least `bytes` that was used in no step after `all_left`: its offset in the region.
  std::uint64_t next(std::size_t bytes, std::uint64_t all_left);
  /// Peers read what next() gave in this step.
  void used_in(std::uint64_t step) { blocks_[current_].used = step; }
  /// The first step in which a block was used that is used still.
  std::uint64_t first_use() const;

 private:
  static constexpr unsigned count = 4;
  struct block {
    std::uint64_t offset = none;
    std::size_t bytes = 0;
    std::uint64_t used = 0;
  };
  host_domain const& host_;
  block blocks_[count];
  unsigned current_ = 0;
};

}  // namespace atl::engine
