#pragma once

/// Allocation of blocks from a range of addresses whose memory is never touched.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace atl::memory {

/// Good-fit allocator over segregated bins, with immediate coalescing; all of its records are private memory.
///
/// Sizes and addresses are multiples of `granule`. Not thread-safe. Throws std::bad_alloc when private memory
/// for records is exhausted, and has changed nothing then.
class block_allocator {
 public:
  static constexpr std::uint64_t granule = 16;
  static constexpr std::uint64_t npos = ~std::uint64_t{0};

  /// `first` and `capacity` are multiples of `granule`.
  block_allocator(std::uint64_t first, std::uint64_t capacity);

  /// Start of a block of exactly `size` bytes (a positive multiple of `granule`) aligned to a power of two,
  /// or npos if there is no such room anywhere.
  std::uint64_t allocate(std::uint64_t size, std::uint64_t alignment);
  /// False, and no change, unless `offset` is the start of an allocated block.
  bool deallocate(std::uint64_t offset) noexcept;
  /// 0 unless `offset` is the start of an allocated block.
  [[nodiscard]] std::uint64_t size_of(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t largest_free() const noexcept;
  /// Whether [offset, offset + size) lies in one allocated block. Looks at the one that it found last, and
  /// then at all of them.
  [[nodiscard]] bool covers(std::uint64_t offset, std::uint64_t size) const noexcept;

 private:
  using index = std::uint32_t;
  static constexpr index none = ~index{0};

  /// One stretch of the range, allocated or free. Neighbours in the range are linked; free ones do not touch.
  struct block {
    std::uint64_t offset;
    std::uint64_t size;
    index before;
    index after;
    index bin_next;  ///< free blocks: others of about this size; unused records: the next one
    index bin_previous;
    bool free;
  };

  // 32 exact bins for the smallest sizes, then 32 for each power of two, so that sizes in a bin differ by 3%.
  static constexpr unsigned bins_log = 5;
  static constexpr std::size_t bins = std::size_t{1} << bins_log << 6;

  static std::size_t bin_of(std::uint64_t size) noexcept;
  [[nodiscard]] std::size_t occupied_bin(std::size_t from) const noexcept;
  [[nodiscard]] index find(std::uint64_t size, std::uint64_t alignment, unsigned patience) const noexcept;
  [[nodiscard]] bool fits(block const& candidate, std::uint64_t size, std::uint64_t alignment) const noexcept;
  void put_in_bin(index which) noexcept;
  void take_from_bin(index which) noexcept;
  index new_record() noexcept;
  void drop_record(index which) noexcept;
  void reserve_records();

  // Allocated blocks by offset: open addressing, linear probing, at most half full.
  [[nodiscard]] std::size_t slot_of(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::size_t find_slot(std::uint64_t offset) const noexcept;
  void insert_slot(index which) noexcept;
  void erase_slot(std::size_t slot) noexcept;

  std::vector<block> blocks_;
  mutable index covered_ = none;  ///< found by `covers`
  index unused_ = none;
  std::vector<index> slots_;
  std::size_t slots_used_ = 0;
  unsigned slot_shift_ = 0;
  std::array<index, bins> bin_heads_;
  std::array<std::uint64_t, bins / 64> occupied_{};
  std::uint32_t occupied_words_ = 0;
  static_assert(bins / 64 == 32, "one bit of occupied_words_ for each word of occupied_");
};

}  // namespace atl::memory
