#pragma once

/// The allocator of shared heaps and device segments. Its records lie outside the memory that it hands out.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/spin_lock.hpp"
#include "memory/block_allocator.hpp"

namespace atl::memory {

class reservation;

/// Hands out parts of the address range [first, first + capacity) without ever touching memory there: device
/// memory cannot hold an allocator's records, and a program that writes past its array cannot damage them.
///
/// Small requests come from slabs of equal objects (some 10 ns), others from a block allocator. Freed memory
/// is reused last in, first out. No function throws.
class segment_allocator {
 public:
  static constexpr std::uint64_t npos = block_allocator::npos;  ///< no room
  /// Every address and size is a multiple.
  static constexpr std::uint64_t granule = block_allocator::granule;
  /// Whether several threads may call at once.
  enum class locking : bool { none, spin };

  /// `first` is an address or offset of the caller's choice; alignment is that of the resulting values.
  /// With `memory`, what is handed out has been taken from there first, and want of it is want of room.
  /// Throws std::bad_alloc if there is no private memory for the records.
  segment_allocator(std::uint64_t first, std::uint64_t capacity, locking mode = locking::spin,
                    reservation* memory = nullptr);
  segment_allocator(segment_allocator const&) = delete;
  segment_allocator& operator=(segment_allocator const&) = delete;

  /// Start of at least `size` bytes, aligned to `alignment`, a power of two. A size of 0 is one granule. npos
  /// if there is no such room, or if `alignment` is no power of two.
  std::uint64_t allocate(std::uint64_t size, std::uint64_t alignment = granule) noexcept;

  /// Gives back what `allocate` returned. False, and no change, if that is not an allocation (freed already,
  /// never allocated, or its middle).
  bool deallocate(std::uint64_t offset) noexcept;

  /// Bytes that the allocation at `offset` may use, at least those asked for; 0 if there is none.
  [[nodiscard]] std::uint64_t size_of(std::uint64_t offset) const noexcept;

  /// Whether [offset, offset + size) lies in one allocation. For checks: the time grows with the number of
  /// large allocations where the one asked for is not that of the last call.
  [[nodiscard]] bool covers(std::uint64_t offset, std::uint64_t size) const noexcept;

  [[nodiscard]] std::uint64_t bytes_used() const noexcept;   ///< sum of size_of over all allocations
  [[nodiscard]] std::uint64_t allocations() const noexcept;  ///< that were not given back
  /// Largest size that can be allocated now (with the alignment of a granule).
  [[nodiscard]] std::uint64_t largest_free() noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  /// Takes memory for all of the range; false if there is not enough.
  bool reserve_all() noexcept;

 private:
  using index = std::uint32_t;
  static constexpr index none = ~index{0};
  static constexpr std::size_t classes = 20;
  static constexpr std::uint64_t slab_bytes = 16384;

  /// Equal objects in one aligned block. Free ones are chained by number in `next`, outside the block.
  struct slab {
    std::uint64_t offset = 0;
    std::unique_ptr<std::uint16_t[]> next;  ///< of each object: the next free one, or `taken`
    std::uint16_t free_head = 0;
    std::uint16_t fresh = 0;  ///< objects from this number on were never used, and are not chained
    std::uint16_t live = 0;
    std::uint16_t object_class = 0;
    index list_next = none;  ///< slabs of the class with room; unused records: the next one
    index list_previous = none;
  };

  class guard;
  struct free_memory {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };

  std::uint64_t allocate_small(std::size_t object_class) noexcept;
  std::uint64_t allocate_block(std::uint64_t size, std::uint64_t alignment) noexcept;
  std::uint64_t take_block(std::uint64_t size, std::uint64_t alignment);
  bool open_slab(std::size_t object_class) noexcept;
  void close_slab(index which) noexcept;
  bool close_empty_slabs() noexcept;
  void list_push(index which) noexcept;
  void list_remove(index which) noexcept;
  [[nodiscard]] index slab_at(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint32_t object_at(slab const& s, std::uint64_t offset) const noexcept;

  std::uint64_t first_;
  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
  std::uint64_t live_ = 0;
  bool lock_needed_;
  bool slabs_wanted_;
  mutable spin_lock lock_;
  std::array<index, classes> with_room_;  ///< slab lists
  std::array<index, classes> empty_;      ///< one unused slab kept of each class, or none
  std::vector<slab> slabs_;
  index unused_slab_ = none;
  std::unique_ptr<index[], free_memory> slab_of_page_;  ///< number + 1, by page of slab_bytes; 0: no slab
  block_allocator blocks_;
  reservation* memory_;
};

}  // namespace atl::memory
