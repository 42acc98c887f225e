#pragma once

/// Transit memory of one rank: what other ranks of the host read in place, written here by its owner.
///
/// Buffers of messages are handed back by whoever read them, in any order: by clearing a flag in the line
/// before the buffer. Reserved blocks have no flag and stay until their owner gives them up.
///
/// Each reader may hold as much as is still free beside what it holds: one that gives nothing back has half of the
/// memory in the end, two have a third each, and there is always some for the others (dynamic thresholds:
/// Choudhury and Hahne, 1998).
///
/// Large blocks rest when they are handed back, until others have been used for long enough that the caches of
/// two cores have lost them: lines that the last reader still has make the next copy into them two to four times
/// as slow. Ranks that share cores want the opposite.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <atoll/base/round_up.hpp>

#include "memory/segment_allocator.hpp"

namespace atl::memory {

inline constexpr std::size_t block_flag_bytes = 64;
/// Blocks of this size rest; smaller ones are best used again at once, while they are in our own cache.
inline constexpr std::size_t resting_from = 16384;

class arena {
 public:
  static constexpr std::uint64_t npos = ~std::uint64_t{0};

  /// Do large blocks rest?
  enum class rest : bool { no, yes };

  /// `base` is this process's address of the arena. `memory`: what is behind it, by offsets; null: all is there.
  arena(std::byte* base, std::size_t bytes, reservation* memory = nullptr, rest of_large = rest::yes)
      : base_(base),
        bytes_(bytes),
        most_resting_(of_large == rest::yes ? bytes / 8 * 3 : 0),
        allocator_(0, bytes, segment_allocator::locking::none, memory) {}

  /// How many blocks that are out may be looked at for one that is wanted.
  enum class effort : std::uint8_t {
    few,  ///< for who asks over and over
    all,
  };

  /// Offset in the arena of a buffer of `bytes` for one reader, aligned; npos if there is no room for it now.
  std::uint64_t take(std::size_t bytes, std::size_t alignment, std::uint32_t reader = 0,
                     effort spent = effort::all) {
    // Early, so that the block freed last is used again while it is in our cache.
    reclaim(few_flags);
    if (reader >= held_by_.size()) held_by_.resize(reader + 1);
    std::size_t const padded = bytes + (alignment > 64 ? alignment : block_flag_bytes);
    std::uint64_t block = allocate_for(reader, padded);
    if (block == segment_allocator::npos) {
      if (spent == effort::all) reclaim_all();
      if (has_its_share(reader, padded)) return npos;
      end_rest(0);
      block = allocator_.allocate(padded, 64);
      if (block == segment_allocator::npos) return npos;
    }
    held_by_[reader] += padded;
    auto const address = reinterpret_cast<std::uintptr_t>(base_) + block + block_flag_bytes;
    std::uint64_t const buffer = align_up(address, alignment) - reinterpret_cast<std::uintptr_t>(base_);
    flag_of(base_ + buffer).store(1, std::memory_order_relaxed);
    used_.push_back({block, buffer, padded, reader});
    return buffer;
  }

  /// A block that stays until `unreserve`; npos if there is no room now. All of them together are at most half of
  /// the memory.
  std::uint64_t reserve(std::size_t bytes) {
    if (reserved_ + bytes > bytes_ / 2) return npos;
    std::uint64_t block = allocator_.allocate(bytes, 64);
    if (block == segment_allocator::npos) {
      reclaim_all();
      end_rest(0);
      block = allocator_.allocate(bytes, 64);
    }
    if (block == segment_allocator::npos) return npos;
    reserved_ += allocator_.size_of(block);
    return block;
  }
  void unreserve(std::uint64_t block) {
    std::size_t const bytes = allocator_.size_of(block);
    reserved_ -= bytes;
    give_back(block, bytes);
  }

  /// Called by whoever read the buffer (or by the owner to cancel); `buffer` in the caller's address space.
  static void hand_back(std::byte* buffer) {
    // Pairs with the acquire in reclaim(): the reads of the buffer are over before it is reused.
    flag_of(buffer).store(0, std::memory_order_release);
  }

  /// Should a block of that size be given back before it is written again?
  [[nodiscard]] bool rests(std::size_t bytes) const { return bytes >= resting_from && most_resting_ != 0; }
  std::byte* address(std::uint64_t buffer) const { return base_ + buffer; }
  std::size_t bytes() const { return bytes_; }
  bool idle() {
    reclaim_all();
    return used_.empty();
  }

 private:
  static constexpr std::size_t few_flags = 8;
  struct used_block {
    std::uint64_t block;
    std::uint64_t buffer;
    std::size_t bytes;
    std::uint32_t reader;
  };

  /// Would a reader have more than what is left for all then? What rests counts as left.
  bool has_its_share(std::uint32_t reader, std::size_t bytes) const {
    std::size_t const held = held_by_[reader];
    return held != 0 && held + bytes > bytes_ - allocator_.bytes_used() + resting_bytes_;
  }
  std::uint64_t allocate_for(std::uint32_t reader, std::size_t bytes) {
    return has_its_share(reader, bytes) ? segment_allocator::npos : allocator_.allocate(bytes, 64);
  }

  static std::atomic<std::uint32_t>& flag_of(std::byte* buffer) {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(buffer - block_flag_bytes);
  }

  /// Takes back what was handed back, of the next `most` blocks that are out: a flag that its reader has not cleared
  /// costs a look each time.
  void reclaim(std::size_t most) {
    for (; most != 0 && !used_.empty(); --most) {
      if (next_look_ >= used_.size()) next_look_ = 0;
      used_block& next = used_[next_look_];
      if (flag_of(base_ + next.buffer).load(std::memory_order_acquire) == 0) {
        held_by_[next.reader] -= next.bytes;
        give_back(next.block, next.bytes);
        next = used_.back();
        used_.pop_back();
      } else {
        ++next_look_;
      }
    }
  }

  void reclaim_all() {
    next_look_ = 0;
    reclaim(used_.size());
  }

  void give_back(std::uint64_t block, std::size_t bytes) {
    if (!rests(bytes)) {
      allocator_.deallocate(block);
      return;
    }
    resting_.push_back(block);
    resting_bytes_ += allocator_.size_of(block);
    end_rest(most_resting_);
  }
  /// First in, first out, until at most so many bytes rest.
  void end_rest(std::size_t most) {
    while (resting_bytes_ > most) {
      resting_bytes_ -= allocator_.size_of(resting_.front());
      allocator_.deallocate(resting_.front());
      resting_.pop_front();
    }
  }

  std::byte* base_;
  std::size_t bytes_;
  std::size_t most_resting_;
  segment_allocator allocator_;
  std::vector<used_block> used_;
  std::vector<std::size_t> held_by_;  ///< bytes, by reader
  std::deque<std::uint64_t> resting_;
  std::size_t resting_bytes_ = 0;
  std::size_t reserved_ = 0;
  std::size_t next_look_ = 0;
};

}  // namespace atl::memory
