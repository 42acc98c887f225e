// The range is cut into blocks; each has a record in `blocks_`, linked to its neighbours, so that freeing
// merges without a search. Free blocks hang in bins by size, the most recently freed first. An allocation
// looks at a few blocks of its own bin (the best fit is there) and then takes any block of the next occupied
// bin, found by two bit scans: constant time. Only when that fails are the bins that might hold a fit
// searched to the end, so that what fits is found: linear in free blocks, but met near exhaustion only.

#include "memory/block_allocator.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include <atoll/base/round_up.hpp>

namespace atl::memory {
namespace {

constexpr unsigned few = 8;  // blocks of a bin looked at before a larger bin is tried

}  // namespace

block_allocator::block_allocator(std::uint64_t first, std::uint64_t capacity)
    : slots_(64, none), slot_shift_(58) {
  bin_heads_.fill(none);
  if (capacity == 0) return;
  blocks_.push_back({first, capacity, none, none, none, none, true});
  put_in_bin(0);
}

std::uint64_t block_allocator::allocate(std::uint64_t size, std::uint64_t alignment) {
  index chosen = find(size, alignment, few);
  if (chosen == none) chosen = find(size, alignment, ~0u);
  if (chosen == none) return npos;
  reserve_records();  // the last thing that can fail

  take_from_bin(chosen);
  std::uint64_t const start = align_up(blocks_[chosen].offset, alignment);
  if (std::uint64_t const skipped = start - blocks_[chosen].offset; skipped > 0) {
    index const front = new_record();
    block& b = blocks_[chosen];
    blocks_[front] = {b.offset, skipped, b.before, chosen, none, none, true};
    if (b.before != none) blocks_[b.before].after = front;
    b.before = front;
    b.offset = start;
    b.size -= skipped;
    put_in_bin(front);
  }
  if (std::uint64_t const rest = blocks_[chosen].size - size; rest > 0) {
    index const back = new_record();
    block& b = blocks_[chosen];
    blocks_[back] = {start + size, rest, chosen, b.after, none, none, true};
    if (b.after != none) blocks_[b.after].before = back;
    b.after = back;
    b.size = size;
    put_in_bin(back);
  }
  blocks_[chosen].free = false;
  insert_slot(chosen);
  return start;
}

bool block_allocator::deallocate(std::uint64_t offset) noexcept {
  std::size_t const slot = find_slot(offset);
  index which = slots_[slot];
  if (which == none) return false;
  erase_slot(slot);
  if (index const before = blocks_[which].before; before != none && blocks_[before].free) {
    take_from_bin(before);
    blocks_[before].size += blocks_[which].size;
    blocks_[before].after = blocks_[which].after;
    if (blocks_[which].after != none) blocks_[blocks_[which].after].before = before;
    drop_record(which);
    which = before;
  }
  if (index const after = blocks_[which].after; after != none && blocks_[after].free) {
    take_from_bin(after);
    blocks_[which].size += blocks_[after].size;
    blocks_[which].after = blocks_[after].after;
    if (blocks_[after].after != none) blocks_[blocks_[after].after].before = which;
    drop_record(after);
  }
  blocks_[which].free = true;
  put_in_bin(which);
  return true;
}

std::uint64_t block_allocator::size_of(std::uint64_t offset) const noexcept {
  index const which = slots_[find_slot(offset)];
  return which == none ? 0 : blocks_[which].size;
}

std::uint64_t block_allocator::largest_free() const noexcept {
  if (occupied_words_ == 0) return 0;
  auto const word = static_cast<std::size_t>(std::bit_width(occupied_words_) - 1);
  std::size_t const bin = word * 64 + static_cast<std::size_t>(std::bit_width(occupied_[word]) - 1);
  std::uint64_t largest = 0;
  for (index i = bin_heads_[bin]; i != none; i = blocks_[i].bin_next) {
    if (blocks_[i].size > largest) largest = blocks_[i].size;
  }
  return largest;
}

bool block_allocator::covers(std::uint64_t offset, std::uint64_t size) const noexcept {
  auto const has = [&](index which) { return offset - blocks_[which].offset < blocks_[which].size; };
  // The record may have become that of another block.
  bool const again =
      covered_ != none && has(covered_) && slots_[find_slot(blocks_[covered_].offset)] == covered_;
  if (!again) {
    auto const found =
        std::find_if(slots_.begin(), slots_.end(), [&](index which) { return which != none && has(which); });
    if (found == slots_.end()) return false;
    covered_ = *found;
  }
  block const& b = blocks_[covered_];
  return size <= b.size - (offset - b.offset);
}

std::size_t block_allocator::bin_of(std::uint64_t size) noexcept {
  std::uint64_t const granules = size / granule;
  if (granules < std::uint64_t{1} << bins_log) return granules;
  auto const top = static_cast<unsigned>(std::bit_width(granules) - 1);
  std::uint64_t const below_top = granules >> (top - bins_log) & ((std::uint64_t{1} << bins_log) - 1);
  return ((top - bins_log + std::size_t{1}) << bins_log) + below_top;
}

std::size_t block_allocator::occupied_bin(std::size_t from) const noexcept {
  std::size_t word = from / 64;
  if (word >= occupied_.size()) return bins;
  std::uint64_t bits = occupied_[word] & ~std::uint64_t{0} << from % 64;
  if (bits == 0) {
    std::uint32_t const words = word + 1 < 32 ? occupied_words_ & ~std::uint32_t{0} << (word + 1) : 0;
    if (words == 0) return bins;
    word = static_cast<std::size_t>(std::countr_zero(words));
    bits = occupied_[word];
  }
  return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
}

bool block_allocator::fits(block const& candidate, std::uint64_t size,
                           std::uint64_t alignment) const noexcept {
  std::uint64_t const start = align_up(candidate.offset, alignment);
  std::uint64_t const skipped = start - candidate.offset;
  // A start that wrapped around lies before the block.
  return start >= candidate.offset && skipped <= candidate.size && candidate.size - skipped >= size;
}

block_allocator::index block_allocator::find(std::uint64_t size, std::uint64_t alignment,
                                             unsigned patience) const noexcept {
  // Any block of a bin above its own serves an unaligned request; an aligned one may have to look further.
  for (std::size_t bin = occupied_bin(bin_of(size)); bin < bins; bin = occupied_bin(bin + 1)) {
    unsigned left = patience;
    for (index i = bin_heads_[bin]; i != none && left > 0; i = blocks_[i].bin_next, --left) {
      if (fits(blocks_[i], size, alignment)) return i;
    }
  }
  return none;
}

void block_allocator::put_in_bin(index which) noexcept {
  block& b = blocks_[which];
  std::size_t const bin = bin_of(b.size);
  b.bin_previous = none;
  b.bin_next = bin_heads_[bin];
  if (b.bin_next != none) blocks_[b.bin_next].bin_previous = which;
  bin_heads_[bin] = which;
  occupied_[bin / 64] |= std::uint64_t{1} << bin % 64;
  occupied_words_ |= std::uint32_t{1} << bin / 64;
}

void block_allocator::take_from_bin(index which) noexcept {
  block const& b = blocks_[which];
  if (b.bin_next != none) blocks_[b.bin_next].bin_previous = b.bin_previous;
  if (b.bin_previous != none) {
    blocks_[b.bin_previous].bin_next = b.bin_next;
    return;
  }
  std::size_t const bin = bin_of(b.size);
  bin_heads_[bin] = b.bin_next;
  if (b.bin_next != none) return;
  occupied_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
  if (occupied_[bin / 64] == 0) occupied_words_ &= ~(std::uint32_t{1} << bin / 64);
}

block_allocator::index block_allocator::new_record() noexcept {
  if (unused_ != none) {
    index const which = unused_;
    unused_ = blocks_[which].bin_next;
    return which;
  }
  blocks_.push_back({});  // within the capacity that reserve_records has seen to
  return static_cast<index>(blocks_.size() - 1);
}

void block_allocator::drop_record(index which) noexcept {
  blocks_[which].bin_next = unused_;
  unused_ = which;
}

void block_allocator::reserve_records() {
  // A split needs two records at most.
  if (blocks_.capacity() - blocks_.size() < 2) blocks_.reserve(blocks_.size() * 2 + 16);
  if ((slots_used_ + 1) * 2 <= slots_.size()) return;
  std::vector<index> larger(slots_.size() * 2, none);
  larger.swap(slots_);
  --slot_shift_;
  for (index const which : larger) {
    if (which != none) slots_[find_slot(blocks_[which].offset)] = which;
  }
}

std::size_t block_allocator::slot_of(std::uint64_t offset) const noexcept {
  return offset / granule * 0x9e3779b97f4a7c15u >> slot_shift_;
}

std::size_t block_allocator::find_slot(std::uint64_t offset) const noexcept {
  std::size_t slot = slot_of(offset);
  while (slots_[slot] != none && blocks_[slots_[slot]].offset != offset)
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void block_allocator::insert_slot(index which) noexcept {
  slots_[find_slot(blocks_[which].offset)] = which;
  ++slots_used_;
}

void block_allocator::erase_slot(std::size_t slot) noexcept {
  // Entries behind the gap move up unless they are where they belong, so that searches never meet a hole.
  std::size_t const mask = slots_.size() - 1;
  for (std::size_t next = (slot + 1) & mask; slots_[next] != none; next = (next + 1) & mask) {
    std::size_t const home = slot_of(blocks_[slots_[next]].offset);
    if (((next - home) & mask) < ((next - slot) & mask)) continue;
    slots_[slot] = slots_[next];
    slot = next;
  }
  slots_[slot] = none;
  --slots_used_;
}

}  // namespace atl::memory
