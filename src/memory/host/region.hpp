#pragma once

/// The host memory that all ranks of a host share: one memory object, one mapping, a region for each rank.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/os/memory.hpp"
#include "base/os/unique_fd.hpp"
#include "bootstrap/bootstrap.hpp"

namespace atl::memory {

/// What pages the memory is made of. `pool`: huge ones that the administrator has set aside (hugetlbfs).
enum class page_kind { small, transparent, pool };

/// Bytes from one region to the next for regions of `bytes`: a multiple of the huge page size, or of 64 KiB
/// for small ones, so that tests with many ranks stay small.
std::size_t region_stride(std::size_t bytes, page_kind pages = page_kind::transparent) noexcept;

/// Mapping of the regions of all ranks of a host, at equal stride.
///
/// Address space is laid out at once, memory is taken when it is asked for: the start of each region (`eager`)
/// before the constructor returns, the rest by `claim` and `reserve`. Each rank does so for its own part; what a rank has
/// reserved can be used by all without failing for want of memory. Peers' starts need a barrier before use.
/// Nothing of it has a name in a file system: it is gone when the last process that maps it is gone,
/// however that ends.
class host_region {
 public:
  struct shape {
    std::size_t bytes = 0;     ///< of one rank's region; the same on all ranks of the host
    std::uint32_t count = 1;   ///< ranks on this host
    std::uint32_t me = 0;      ///< local rank of this process; 0 creates the memory
    std::size_t eager = 0;     ///< bytes from the start of every region that are reserved at once
    std::size_t promised = 0;  ///< bytes behind those for which every rank's part is sure to find memory
    page_kind pages = page_kind::transparent;  ///< the same on all ranks of the host
    std::uint32_t on_machine =
        0;  ///< ranks that this memory must be enough for, if not `count`: of all simulated hosts
    /// Stands in for the system's figures in tests.
    os::memory_limits (*limits)() = [] { return os::read_memory_limits(); };
  };
  /// Collective over the host: local rank 0 gives a descriptor (others -1) and every rank gets one.
  using share_function = std::function<int(int descriptor)>;

  host_region() = default;
  /// Collective over the ranks of the host. Throws startup_error, with the numbers and what to try.
  host_region(shape const& wanted, share_function const& share);
  /// The same through the bootstrap: count and own index come from its placement, pages from the settings.
  host_region(bootstrap::channel& channel, std::size_t bytes, std::size_t eager, std::size_t promised);
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

  /// Takes memory for `bytes` of the own region from `offset` on. Empty, or in words why that failed: then
  /// nothing of this part has memory. One thread at a time; the ranks of the host wait for each other, so
  /// that together they stay within their control group's limit.
  [[nodiscard]] std::string reserve(std::size_t offset, std::size_t bytes) const;
  /// The same for what was promised, which others leave free: it is not asked whether there is enough.
  [[nodiscard]] std::string claim(std::size_t offset, std::size_t bytes) const;
  /// Gives the memory of a part of the own region back; it reads as zero from then on.
  void release(std::size_t offset, std::size_t bytes) const noexcept;

  /// Enters `bytes` of every region from `offset` into this process' page tables, so that first use does not
  /// fault. For control areas: entering all of everything costs 0.1 s for each GiB and process.
  /// Requires that peers have reserved their parts (a barrier since construction).
  void populate(std::size_t offset, std::size_t bytes) const noexcept;

  void unmap() noexcept;
  /// Leaves everything mapped until the process ends: somebody reads in it.
  void abandon() noexcept { base_ = nullptr; }

 private:
  void map();
  [[nodiscard]] std::uint32_t sharers() const noexcept { return std::max(shape_.count, shape_.on_machine); }
  [[nodiscard]] std::string explain(int code, std::size_t bytes) const;

  os::unique_fd descriptor_;
  std::byte* base_ = nullptr;
  std::size_t stride_ = 0;
  shape shape_{};
};

}  // namespace atl::memory
