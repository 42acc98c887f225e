#pragma once

/// Transit memory of one rank: what other ranks of the host read in place, written here by its owner.
///
/// Buffers of messages are handed back by whoever read them, in any order: by clearing a flag in the line
/// before the buffer. Reserved blocks have no flag and stay until their owner gives them up.
///
/// Each reader may hold as much as is still free beside what it holds: one that gives nothing back has half of the
/// memory in the end, two have a third each, and there is always some for the others (dynamic thresholds:
/// Choudhury and Hahne, 1998).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <atoll/base/round_up.hpp>

#include "memory/segment_allocator.hpp"

namespace atl::memory {

inline constexpr std::size_t block_flag_bytes = 64;

class arena {
 public:
  static constexpr std::uint64_t npos = ~std::uint64_t{0};

  /// `base` is this process's address of the arena. `memory`: what is behind it, by offsets; null: all is there.
  arena(std::byte* base, std::size_t bytes, reservation* memory = nullptr)
      : base_(base), bytes_(bytes), allocator_(0, bytes, segment_allocator::locking::none, memory) {}

  /// Offset in the arena of a buffer of `bytes` for one reader, aligned; npos if there is no room for it now.
  std::uint64_t take(std::size_t bytes, std::size_t alignment, std::uint32_t reader = 0) {
    // Early, so that the block freed last is used again while it is in our cache; but a flag that its reader
    // has not cleared costs a look each time, so with many blocks out only now and then.
    if (used_.size() <= 8 || ++takes_ % 8 == 0) reclaim();
    if (reader >= held_by_.size()) held_by_.resize(reader + 1);
    std::size_t const padded = bytes + (alignment > 64 ? alignment : block_flag_bytes);
    std::uint64_t block = allocate_for(reader, padded);
    if (block == segment_allocator::npos) {
      reclaim();
      block = allocate_for(reader, padded);
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
      reclaim();
      block = allocator_.allocate(bytes, 64);
    }
    if (block == segment_allocator::npos) return npos;
    reserved_ += allocator_.size_of(block);
    return block;
  }
  void unreserve(std::uint64_t block) {
    reserved_ -= allocator_.size_of(block);
    allocator_.deallocate(block);
  }

  /// Called by whoever read the buffer (or by the owner to cancel); `buffer` in the caller's address space.
  static void hand_back(std::byte* buffer) {
    // Pairs with the acquire in reclaim(): the reads of the buffer are over before it is reused.
    flag_of(buffer).store(0, std::memory_order_release);
  }

  std::byte* address(std::uint64_t buffer) const { return base_ + buffer; }
  std::size_t bytes() const { return bytes_; }
  bool idle() {
    reclaim();
    return used_.empty();
  }

 private:
  struct used_block {
    std::uint64_t block;
    std::uint64_t buffer;
    std::size_t bytes;
    std::uint32_t reader;
  };

  std::uint64_t allocate_for(std::uint32_t reader, std::size_t bytes) {
    std::size_t const held = held_by_[reader];
    if (held != 0 && held + bytes > bytes_ - allocator_.bytes_used()) return segment_allocator::npos;
    return allocator_.allocate(bytes, 64);
  }

  static std::atomic<std::uint32_t>& flag_of(std::byte* buffer) {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(buffer - block_flag_bytes);
  }

  void reclaim() {
    for (std::size_t i = 0; i < used_.size();) {
      if (flag_of(base_ + used_[i].buffer).load(std::memory_order_acquire) == 0) {
        allocator_.deallocate(used_[i].block);
        held_by_[used_[i].reader] -= used_[i].bytes;
        used_[i] = used_.back();
        used_.pop_back();
      } else {
        ++i;
      }
    }
  }

  std::byte* base_;
  std::size_t bytes_;
  segment_allocator allocator_;
  std::vector<used_block> used_;
  std::vector<std::size_t> held_by_;  ///< bytes, by reader
  std::size_t reserved_ = 0;
  std::uint32_t takes_ = 0;
};

}  // namespace atl::memory
