#pragma once

/// The shared heap of this process: the part of its region that programs allocate from.

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/host/reservation.hpp"
#include "memory/segment_allocator.hpp"

namespace atl::memory {

/// Allocation in this process' own region, by offsets into it. Safe to call from several threads between
/// `initialise` and `reset`, which the engine calls at init and finalize.
class shared_heap {
 public:
  /// The heap is [begin, begin + bytes) of the region at `region`; begin > 0, so that no object has offset 0.
  /// Without the address, alignment holds for offsets only, which suffices up to the region's own alignment.
  /// `take` gets memory for a part of the region, by offsets; without it, all of the heap has memory.
  void initialise(std::uint64_t begin, std::uint64_t bytes, std::byte* region = nullptr,
                  reservation::taker take = nullptr);
  void reset() noexcept;
  [[nodiscard]] bool ready() const noexcept { return allocator_ != nullptr; }

  /// Offset in the region; 0 on exhaustion, before init and for an alignment that is no power of two.
  std::uint64_t allocate(std::uint64_t size, std::uint64_t alignment) noexcept;
  /// False if no allocation starts there.
  bool deallocate(std::uint64_t offset) noexcept;
  /// Usable bytes of the allocation at `offset`; 0 if there is none.
  [[nodiscard]] std::uint64_t size_of(std::uint64_t offset) const noexcept;

  /// Whether [offset, offset + bytes) lies in one allocation. For checks: see segment_allocator.
  [[nodiscard]] bool covers(std::uint64_t offset, std::uint64_t bytes) const noexcept;

  /// Whether [offset, offset + bytes), inside the heap, has memory behind it, so that it may be touched. Asked for each put and get
  /// of other hosts, and so without the lock, which another thread may hold while the system gives it memory.
  [[nodiscard]] bool backed(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return allocator_ != nullptr &&
           (reservation_ == nullptr || bytes == 0 || reservation_->backs(offset + bias_, bytes));
  }

  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] std::uint64_t used() const noexcept;
  [[nodiscard]] std::uint64_t largest_free() const noexcept;
  /// Takes memory for all of the heap. Empty, or in words why there is not enough.
  [[nodiscard]] std::string reserve_all();
  /// Bytes that have memory behind them.
  [[nodiscard]] std::uint64_t reserved() const noexcept;
  /// If the last allocation for which memory had to be taken found none: why, in words.
  [[nodiscard]] std::string refusal() const;
  /// Number of allocations that were not given back.
  [[nodiscard]] std::uint64_t allocations() const noexcept;

 private:
  segment_allocator* allocator_ = nullptr;
  reservation* reservation_ = nullptr;  ///< null: all of the heap has memory
  std::uint64_t bias_ = 0;              ///< what the allocator's values exceed offsets by
};

/// The one heap of the process. Never destroyed: destructors of statics may still ask for it.
shared_heap& host_heap() noexcept;

}  // namespace atl::memory
