#pragma once

/// Where the host memory of the ranks on this host lies in this process, and translation both ways.
///
/// All ranks of a host map one memory object once: the region of local rank i begins at `base + i * stride`.
/// A host global address is a rank and an offset in that rank's region, so translating is an add, and the
/// inverse is a division (an add for one's own region). Everything here is inline because put,
/// get and local() are.

#include <cstddef>
#include <cstdint>
#include <optional>

#include <atoll/base/config.hpp>

namespace atl::engine {

/// A place in the host memory of the job: meaningful in every process.
struct host_address {
  std::uint32_t rank;    ///< world rank of the owner
  std::uint64_t offset;  ///< bytes from the start of the owner's region

  friend constexpr bool operator==(host_address const&, host_address const&) = default;
};

/// Set by init, cleared by finalize. All zero means that no memory is local and no address is shared.
struct host_map {
  std::byte* base;           ///< region of local rank 0 in this process
  std::size_t stride;        ///< bytes from one rank's region to the next one's
  std::size_t region_bytes;  ///< bytes of a region in use, at most `stride`
  std::uint32_t first;       ///< world rank of local rank 0
  std::uint32_t count;       ///< ranks on this host
  std::uint32_t me;          ///< local rank of this process
  std::uint64_t heap_begin;  ///< offset of the shared heap in every region; never 0, so that 0 can mean null
  std::uint64_t heap_end;    ///< offset of the first byte after the heap

  /// True if this process has load and store access to the host memory of world rank `rank`.
  [[nodiscard]] bool is_local(std::uint32_t rank) const noexcept { return rank - first < count; }

  /// Address in this process. Requires is_local(rank).
  [[nodiscard]] std::byte* to_address(std::uint32_t rank, std::uint64_t offset) const noexcept {
    return base + static_cast<std::size_t>(rank - first) * stride + offset;
  }

  /// Owner and offset of `pointer` if it lies in the shared heap of a rank on this host, else empty.
  [[nodiscard]] std::optional<host_address> from_address(void const* pointer) const noexcept {
    auto const distance = reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(base);
    std::uint64_t const heap_bytes = heap_end - heap_begin;
    // Own memory first: it is the common case and needs no division.
    std::uint64_t offset = distance - static_cast<std::uint64_t>(me) * stride;
    if (offset - heap_begin < heap_bytes) return host_address{first + me, offset};
    if (distance >= static_cast<std::uint64_t>(count) * stride) return std::nullopt;
    std::uint64_t const index = distance / stride;  // count > 0 implies stride > 0
    offset = distance - index * stride;
    if (offset - heap_begin >= heap_bytes) return std::nullopt;
    return host_address{first + static_cast<std::uint32_t>(index), offset};
  }
};

/// The map of this process. Written only while no other thread may use the library (init, finalize).
extern ATOLL_EXPORT constinit host_map hosts;

}  // namespace atl::engine
