// Two layers under one lock. Requests up to 1 KiB get an object of a slab: 16 KiB of objects of one size
// class, aligned to its size, so that the slab of any address is found in a table by page.
// Everything else, and slabs themselves, are blocks. A slab that runs empty is given back,
// except one of each class, which is kept against toggling and given back when room runs short.
// Where no room is left for a slab, small requests become blocks.

#include "memory/segment_allocator.hpp"

#include <bit>
#include <new>
#include <utility>

#include <atoll/base/round_up.hpp>

#include "memory/host/reservation.hpp"

namespace atl::memory {
namespace {

constexpr std::uint16_t taken = 0xffff;  // in slab::next: the object is allocated
constexpr std::uint16_t end_of_list = 0xfffe;

constexpr std::array<std::uint16_t, 20> class_bytes{16,  32,  48,  64,  80,  96,  112, 128, 160, 192,
                                                    224, 256, 320, 384, 448, 512, 640, 768, 896, 1024};
constexpr std::uint64_t largest_small = class_bytes.back();
constexpr std::uint64_t smallest_segment_with_slabs = std::uint64_t{1} << 20;

/// Class of a size, by granules.
constexpr auto class_of_granules = [] {
  std::array<std::uint8_t, largest_small / segment_allocator::granule + 1> table{};
  std::uint8_t which = 0;
  for (std::size_t granules = 0; granules < table.size(); ++granules) {
    while (class_bytes[which] < granules * segment_allocator::granule) ++which;
    table[granules] = which;
  }
  return table;
}();

/// 2^32 / size, rounded up: dividing a distance below 2^14 by multiplication is exact.
constexpr auto class_inverse = [] {
  std::array<std::uint64_t, class_bytes.size()> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = ((std::uint64_t{1} << 32) + class_bytes[i] - 1) / class_bytes[i];
  }
  return table;
}();

/// The part of a range that whole granules fill.
constexpr std::uint64_t usable_capacity(std::uint64_t first, std::uint64_t capacity) noexcept {
  std::uint64_t const skipped = align_up(first, segment_allocator::granule) - first;
  return capacity <= skipped ? 0
                             : (capacity - skipped) / segment_allocator::granule * segment_allocator::granule;
}

}  // namespace

/// Holds the lock if the allocator needs one. Sections are tens of nanoseconds, so waiting spins at first.
class segment_allocator::guard {
 public:
  explicit guard(segment_allocator const& of) noexcept : lock_(of.lock_needed_ ? &of.lock_ : nullptr) {
    if (lock_ != nullptr) lock_->lock();
  }
  guard(guard const&) = delete;
  guard& operator=(guard const&) = delete;
  ~guard() {
    if (lock_ != nullptr) lock_->unlock();
  }

 private:
  spin_lock* lock_;
};

segment_allocator::segment_allocator(std::uint64_t first, std::uint64_t capacity, locking mode,
                                     reservation* memory)
    : first_(align_up(first, granule)),
      capacity_(usable_capacity(first, capacity)),
      lock_needed_(mode == locking::spin),
      slabs_wanted_(capacity_ >= smallest_segment_with_slabs),
      blocks_(first_, capacity_),
      memory_(memory) {
  with_room_.fill(none);
  empty_.fill(none);
  if (!slabs_wanted_) return;
  // Zeroed lazily by the system where it is large: a table for a device of 80 GiB would be 20 MiB.
  std::uint64_t const pages = (first_ + capacity_ - 1) / slab_bytes - first_ / slab_bytes + 1;
  slab_of_page_.reset(static_cast<index*>(std::calloc(pages, sizeof(index))));
  if (slab_of_page_ == nullptr) throw std::bad_alloc();
}

std::uint64_t segment_allocator::allocate(std::uint64_t size, std::uint64_t alignment) noexcept {
  if (!std::has_single_bit(alignment) || size > capacity_) return npos;
  size = size == 0 ? granule : align_up(size, granule);
  if (alignment < granule) alignment = granule;
  guard const lock(*this);
  if (slabs_wanted_ && size <= largest_small && alignment <= largest_small) {
    std::size_t object_class = class_of_granules[size / granule];
    // Slabs are aligned to more than any class, so an object is aligned to what divides its size.
    while (object_class < classes && class_bytes[object_class] % alignment != 0) ++object_class;
    if (object_class < classes) {
      if (std::uint64_t const found = allocate_small(object_class); found != npos) return found;
    }
  }
  return allocate_block(size, alignment);
}

std::uint64_t segment_allocator::allocate_small(std::size_t object_class) noexcept {
  if (with_room_[object_class] == none && !open_slab(object_class)) return npos;
  index const which = with_room_[object_class];
  slab& s = slabs_[which];
  std::uint16_t object = s.free_head;
  if (object != end_of_list) {
    s.free_head = s.next[object];
  } else {
    object = s.fresh++;
  }
  s.next[object] = taken;
  if (s.live++ == 0) empty_[object_class] = none;
  std::uint64_t const bytes = class_bytes[object_class];
  if (s.live == slab_bytes / bytes) list_remove(which);
  used_ += bytes;
  ++live_;
  return s.offset + object * bytes;
}

std::uint64_t segment_allocator::allocate_block(std::uint64_t size, std::uint64_t alignment) noexcept {
  try {
    std::uint64_t found = take_block(size, alignment);
    if (found == npos && close_empty_slabs()) found = take_block(size, alignment);
    if (found == npos) return npos;
    used_ += size;
    ++live_;
    return found;
  } catch (std::bad_alloc const&) {
    return npos;
  }
}

/// A block with memory behind it, or npos.
std::uint64_t segment_allocator::take_block(std::uint64_t size, std::uint64_t alignment) {
  std::uint64_t const found = blocks_.allocate(size, alignment);
  if (memory_ == nullptr || found == npos || memory_->ensure(found, size)) return found;
  blocks_.deallocate(found);
  return npos;
}

bool segment_allocator::reserve_all() noexcept {
  guard const lock(*this);
  return memory_ == nullptr || capacity_ == 0 || memory_->ensure(first_, capacity_);
}

bool segment_allocator::deallocate(std::uint64_t offset) noexcept {
  guard const lock(*this);
  index const which = slab_at(offset);
  if (which == none) {
    std::uint64_t const size = blocks_.size_of(offset);
    if (size == 0) return false;
    blocks_.deallocate(offset);
    used_ -= size;
    --live_;
    return true;
  }
  slab& s = slabs_[which];
  std::uint32_t const object = object_at(s, offset);
  if (object == none) return false;
  std::uint64_t const bytes = class_bytes[s.object_class];
  s.next[object] = s.free_head;
  s.free_head = static_cast<std::uint16_t>(object);
  used_ -= bytes;
  --live_;
  if (s.live-- == slab_bytes / bytes) list_push(which);
  if (s.live == 0) {
    index& kept = empty_[s.object_class];
    if (kept == none) {
      kept = which;
    } else {
      close_slab(which);
    }
  }
  return true;
}

std::uint64_t segment_allocator::size_of(std::uint64_t offset) const noexcept {
  guard const lock(*this);
  index const which = slab_at(offset);
  if (which == none) return blocks_.size_of(offset);
  slab const& s = slabs_[which];
  return object_at(s, offset) == none ? 0 : class_bytes[s.object_class];
}

bool segment_allocator::covers(std::uint64_t offset, std::uint64_t size) const noexcept {
  guard const lock(*this);
  index const which = slab_at(offset);
  if (which == none) return blocks_.covers(offset, size);
  slab const& s = slabs_[which];
  std::uint64_t const bytes = class_bytes[s.object_class];
  std::uint64_t const within = (offset - s.offset) % bytes;
  return object_at(s, offset - within) != none && size <= bytes - within;
}

std::uint64_t segment_allocator::bytes_used() const noexcept {
  guard const lock(*this);
  return used_;
}

std::uint64_t segment_allocator::allocations() const noexcept {
  guard const lock(*this);
  return live_;
}

std::uint64_t segment_allocator::largest_free() noexcept {
  guard const lock(*this);
  close_empty_slabs();
  return blocks_.largest_free();
}

bool segment_allocator::open_slab(std::size_t object_class) noexcept {
  try {
    std::size_t const objects = slab_bytes / class_bytes[object_class];
    std::unique_ptr<std::uint16_t[]> next(new std::uint16_t[objects]);
    if (unused_slab_ == none) {
      slabs_.emplace_back();
      slabs_.back().list_next = none;
      unused_slab_ = static_cast<index>(slabs_.size() - 1);
    }
    std::uint64_t const offset = take_block(slab_bytes, slab_bytes);
    if (offset == npos) return false;
    index const which = unused_slab_;
    slab& s = slabs_[which];
    unused_slab_ = s.list_next;
    s.offset = offset;
    s.next = std::move(next);
    s.free_head = end_of_list;
    s.fresh = 0;
    s.live = 0;
    s.object_class = static_cast<std::uint16_t>(object_class);
    slab_of_page_[offset / slab_bytes - first_ / slab_bytes] = which + 1;
    list_push(which);
    empty_[object_class] = which;
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

void segment_allocator::close_slab(index which) noexcept {
  slab& s = slabs_[which];
  list_remove(which);
  slab_of_page_[s.offset / slab_bytes - first_ / slab_bytes] = 0;
  blocks_.deallocate(s.offset);
  s.next.reset();
  s.list_next = unused_slab_;
  unused_slab_ = which;
}

bool segment_allocator::close_empty_slabs() noexcept {
  bool any = false;
  for (index& which : empty_) {
    if (which == none) continue;
    close_slab(which);
    which = none;
    any = true;
  }
  return any;
}

void segment_allocator::list_push(index which) noexcept {
  slab& s = slabs_[which];
  index& head = with_room_[s.object_class];
  s.list_previous = none;
  s.list_next = head;
  if (head != none) slabs_[head].list_previous = which;
  head = which;
}

void segment_allocator::list_remove(index which) noexcept {
  slab const& s = slabs_[which];
  if (s.list_next != none) slabs_[s.list_next].list_previous = s.list_previous;
  (s.list_previous != none ? slabs_[s.list_previous].list_next : with_room_[s.object_class]) = s.list_next;
}

segment_allocator::index segment_allocator::slab_at(std::uint64_t offset) const noexcept {
  if (!slabs_wanted_ || offset - first_ >= capacity_) return none;
  return slab_of_page_[offset / slab_bytes - first_ / slab_bytes] - 1;  // 0 becomes none
}

std::uint32_t segment_allocator::object_at(slab const& s, std::uint64_t offset) const noexcept {
  std::uint64_t const distance = offset - s.offset;
  auto const object = static_cast<std::uint32_t>(distance * class_inverse[s.object_class] >> 32);
  bool const allocated = object * std::uint64_t{class_bytes[s.object_class]} == distance &&
                         object < s.fresh && s.next[object] == taken;
  return allocated ? object : none;
}

}  // namespace atl::memory
