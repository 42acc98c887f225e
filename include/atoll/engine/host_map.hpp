#pragma once

/// Where the host memory of the ranks on this host lies in this process, and translation both ways.
///
/// All ranks of a host map one memory object once, their regions at equal stride in the order of their ranks.
/// A host global address is a rank and an offset in that rank's region. World ranks of a host are usually
/// consecutive, so translating is an add, and the inverse is a division (an add for one's own region): that is
/// inline, because put, get and local() are. Where they are not, that is how the run of consecutive ranks around
/// this one is found, and a table knows the others.

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

/// Owner and offset of an address in the heap of a rank outside the run of the map; offset 0: there is none.
[[gnu::pure]] ATOLL_EXPORT host_address find_outside_run(void const* pointer) noexcept;

/// Set by init, cleared by finalize. All zero means that no memory is local and no address is shared.
struct host_map {
  std::byte* base;           ///< region of rank `first` in this process
  std::size_t stride;        ///< bytes from one rank's region to the next one's
  std::size_t region_bytes;  ///< bytes of a region in use, at most `stride`
  std::uint32_t first;       ///< first of the consecutive world ranks of this host around this one: the run
  std::uint32_t count;       ///< length of the run; usually the run is all
  std::uint32_t me;          ///< place of this process in the run
  std::uint64_t heap_begin;  ///< offset of the shared heap in every region; never 0, so that 0 can mean null
  std::uint64_t heap_end;    ///< offset of the first byte after the heap
  // Only where the run is not all; else null and 0.
  std::int32_t const* distances =
      nullptr;                   ///< of each rank of the job: its region's from `base` / 64 KiB; 0: elsewhere
  std::uint32_t distance_n = 0;  ///< ranks of the job

  /// How much of the map is used: all of it, or, if all zero, nothing. Who looks with one that he keeps has a choice that
  /// costs no branch of its own.
  struct reach {
    std::uint32_t count = 0;
    std::uint32_t distance_n = 0;
  };
  [[nodiscard]] reach whole() const noexcept { return {count, distance_n}; }

  /// World rank of this process.
  [[nodiscard]] std::uint32_t own_rank() const noexcept { return first + me; }

  /// True if this process has load and store access to the host memory of world rank `rank`.
  [[nodiscard]] bool is_local(std::uint32_t rank) const noexcept {
    if (rank - first < count) [[likely]]
      return true;
    return distance_outside_run(rank, distance_n) != 0;
  }

  /// Address in this process of an offset in the region of a rank of this host, else null: is_local() and
  /// to_address() in one look.
  [[nodiscard]] std::byte* find_address(std::uint32_t rank, std::uint64_t offset) const noexcept {
    return find_address(rank, offset, *this);
  }
  /// `Reach`: that of who asks, or the map, where nothing is read that is not needed.
  template <class Reach>
  [[nodiscard]] std::byte* find_address(std::uint32_t rank, std::uint64_t offset,
                                        Reach const& used) const noexcept {
    // Summed up like this, nothing but the last sum waits for the product.
    std::uintptr_t const origin = reinterpret_cast<std::uintptr_t>(base) + offset;
    std::uint64_t distance;
    if (rank - first < used.count) [[likely]] {
      distance = static_cast<std::uint64_t>(rank - first) * stride;
    } else {
      distance = distance_outside_run(rank, used.distance_n);
      if (distance == 0) return nullptr;
    }
    auto* const found = reinterpret_cast<std::byte*>(origin + distance);
    if (found == nullptr) __builtin_unreachable();  // lets callers test for null without an instruction
    return found;
  }

  /// Address in this process. Requires is_local(rank).
  [[nodiscard]] std::byte* to_address(std::uint32_t rank, std::uint64_t offset) const noexcept {
    std::uintptr_t const origin = reinterpret_cast<std::uintptr_t>(base) + offset;
    std::uint64_t distance;
    if (rank - first < count) [[likely]] {
      distance = static_cast<std::uint64_t>(rank - first) * stride;
    } else {
      distance = distance_outside_run(rank, distance_n);
    }
    return reinterpret_cast<std::byte*>(origin + distance);
  }

  /// Owner and offset of `pointer` if it lies in the shared heap of a rank on this host, else empty.
  [[nodiscard]] std::optional<host_address> from_address(void const* pointer) const noexcept {
    auto const distance = reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(base);
    std::uint64_t const heap_bytes = heap_end - heap_begin;
    // Own memory first: it is the common case and needs no division.
    std::uint64_t offset = distance - static_cast<std::uint64_t>(me) * stride;
    if (offset - heap_begin < heap_bytes) return host_address{first + me, offset};
    if (distance >= static_cast<std::uint64_t>(count) * stride) {
      if (distances == nullptr) return std::nullopt;
      host_address const found = find_outside_run(pointer);
      return found.offset == 0 ? std::nullopt : std::optional(found);
    }
    std::uint64_t const index = distance / stride;  // count > 0 implies stride > 0
    offset = distance - index * stride;
    if (offset - heap_begin >= heap_bytes) return std::nullopt;
    return host_address{first + static_cast<std::uint32_t>(index), offset};
  }

  // Not in functions of the library: a call, though it is hardly ever made, would cost what surrounds it registers.

  /// Of the region of a rank that the run does not have, from `base`, modulo 2^64; 0 if it is of another host, or not among
  /// the first `known`.
  [[nodiscard]] std::uint64_t distance_outside_run(std::uint32_t rank, std::uint32_t known) const noexcept {
    if (rank >= known) return 0;
    return static_cast<std::uint64_t>(std::int64_t{distances[rank]}) << distance_log2;
  }
  static constexpr unsigned distance_log2 = 16;  ///< regions begin at multiples
};

/// The map of this process. Written only while no other thread may use the library (init, finalize).
extern ATOLL_EXPORT constinit host_map hosts;

}  // namespace atl::engine
