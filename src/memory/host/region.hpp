#pragma once

/// The host memory that all ranks of a host share: one memory object, one mapping, a region for each rank.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "bootstrap/bootstrap.hpp"

namespace atl::memory {

/// Bytes from one region to the next for regions of `bytes`: a multiple of the huge page size, or of 64 KiB
/// for small ones, so that tests with many ranks stay small.
std::size_t region_stride(std::size_t bytes) noexcept;

/// Mapping of the regions of all ranks of a host, at equal stride.
///
/// The own part is reserved for real before the constructor returns, so that storing into it cannot fail
/// later for want of memory; the parts of peers are reserved by them and need a barrier before use.
/// Nothing of it has a name in a file system: it is gone when the last process that maps it is gone,
/// however that ends.
class host_region {
 public:
  struct shape {
    std::size_t bytes = 0;    ///< of one rank's region; the same on all ranks of the host
    std::uint32_t count = 1;  ///< ranks on this host
    std::uint32_t me = 0;     ///< local rank of this process; 0 creates the memory
  };
  /// Collective over the host: local rank 0 gives a descriptor (others -1) and every rank gets one.
  using share_function = std::function<int(int descriptor)>;

  host_region() = default;
  /// Collective over the ranks of the host. Throws startup_error, with the numbers and what to try.
  host_region(shape const& wanted, share_function const& share);
  /// The same through the bootstrap: count and own index come from its placement.
  host_region(bootstrap::channel& channel, std::size_t bytes);
  host_region(host_region&& other) noexcept;
  host_region& operator=(host_region&& other) noexcept;
  ~host_region();

  [[nodiscard]] std::byte* base() const noexcept { return base_; }  ///< null when nothing is mapped
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return shape_.bytes; }
  [[nodiscard]] std::uint32_t count() const noexcept { return shape_.count; }
  [[nodiscard]] std::uint32_t me() const noexcept { return shape_.me; }
  /// Start of the region of a local rank.
  [[nodiscard]] std::byte* part(std::uint32_t local_rank) const noexcept {
    return base_ + local_rank * stride_;
  }

  /// Enters `bytes` of every peer's region from `offset` into this process' page tables, so that first use
  /// does not fault. For control areas: entering all of everything costs 0.1 s for each GiB and process.
  /// Requires that peers have reserved their parts (a barrier since construction).
  void populate_peers(std::size_t offset, std::size_t bytes) const noexcept;

  void unmap() noexcept;
  /// Leaves everything mapped until the process ends: somebody reads in it.
  void abandon() noexcept { base_ = nullptr; }

 private:
  void map(int descriptor);
  void reserve_own(int descriptor);

  std::byte* base_ = nullptr;
  std::size_t stride_ = 0;
  shape shape_{};
};

}  // namespace atl::memory
