#pragma once

/// Which parts of a rank's heap have memory behind them: taken in blocks when the allocator first needs them.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace atl::memory {

/// A bit for each block of a range of offsets. Memory that was taken stays until the end of the reservation.
///
/// `ensure` is for one thread at a time (the allocator's lock); queries are for all, at any time.
class reservation {
 public:
  /// Small enough that ranks which allocate little take little; a huge page, so that one can serve a block.
  static constexpr std::uint64_t block_log = 21;
  static constexpr std::uint64_t block_bytes = std::uint64_t{1} << block_log;

  /// Takes memory for [offset, offset + bytes); empty, or in words why there is none, and then nothing is taken.
  using taker = std::function<std::string(std::uint64_t offset, std::uint64_t bytes)>;

  /// The range is [begin, begin + bytes), of which nothing has been taken. Throws std::bad_alloc.
  reservation(std::uint64_t begin, std::uint64_t bytes, taker take);
  reservation(reservation const&) = delete;
  reservation& operator=(reservation const&) = delete;

  /// Whether there is memory behind [offset, offset + bytes), bytes > 0, inside the range; takes it if not.
  bool ensure(std::uint64_t offset, std::uint64_t bytes) noexcept {
    std::uint64_t const first = offset >> block_log;
    std::uint64_t const last = (offset + bytes - 1) >> block_log;
    if (first == last) [[likely]]
      return has(first) || grow(first, last);
    return has_all(first, last) || grow(first, last);
  }

  /// Whether there is memory behind [offset, offset + bytes), bytes > 0, inside the range. Takes none. Also while `ensure` runs: who was
  /// told of an allocation sees its memory.
  [[nodiscard]] bool backs(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    std::uint64_t const first = offset >> block_log;
    std::uint64_t const last = (offset + bytes - 1) >> block_log;
    return first == last ? has(first) : has_all(first, last);
  }

  /// Bytes taken so far.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return taken_.load(std::memory_order_relaxed); }
  /// Why the last request was refused; empty if it was not.
  [[nodiscard]] std::string refusal() const;

 private:
  // Bits are numbered from the block in which the range begins.
  [[nodiscard]] bool has(std::uint64_t block) const noexcept {
    std::uint64_t const bit = block - first_block_;
    // Acquire: pairs with take().
    return (bits_[bit / 64].load(std::memory_order_acquire) >> bit % 64 & 1) != 0;
  }
  [[nodiscard]] bool has_all(std::uint64_t first, std::uint64_t last) const noexcept;
  bool grow(std::uint64_t first, std::uint64_t last) noexcept;
  std::string take(std::uint64_t first, std::uint64_t last);
  void refuse(std::string why) noexcept;

  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t first_block_;
  taker take_;
  std::vector<std::atomic<std::uint64_t>> bits_;  ///< written under the allocator's lock
  std::atomic<std::uint64_t> taken_{0};           ///< relaxed: a figure
  mutable std::mutex refusal_lock_;
  std::string refusal_;
};

}  // namespace atl::memory
