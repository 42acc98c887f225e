#include "memory/host/host_heap.hpp"

#include <utility>

namespace atl::memory {
namespace {

constinit shared_heap heap;

}  // namespace

void shared_heap::initialise(std::uint64_t begin, std::uint64_t bytes, std::byte* region,
                             reservation::taker take) {
  reset();
  // Values of the allocator are addresses, so that any alignment holds for them.
  bias_ = reinterpret_cast<std::uintptr_t>(region);
  if (take) {
    reservation_ = new reservation(
        bias_ + begin, bytes, [bias = bias_, take = std::move(take)](std::uint64_t first, std::uint64_t n) {
          return take(first - bias, n);
        });
  }
  allocator_ = new segment_allocator(bias_ + begin, bytes, segment_allocator::locking::spin, reservation_);
}

void shared_heap::reset() noexcept {
  delete allocator_;
  allocator_ = nullptr;
  delete reservation_;
  reservation_ = nullptr;
}

std::uint64_t shared_heap::allocate(std::uint64_t size, std::uint64_t alignment) noexcept {
  if (allocator_ == nullptr) return 0;
  std::uint64_t const found = allocator_->allocate(size, alignment);
  return found == segment_allocator::npos ? 0 : found - bias_;
}

bool shared_heap::deallocate(std::uint64_t offset) noexcept {
  return allocator_ != nullptr && allocator_->deallocate(offset + bias_);
}

std::uint64_t shared_heap::size_of(std::uint64_t offset) const noexcept {
  return allocator_ == nullptr ? 0 : allocator_->size_of(offset + bias_);
}

bool shared_heap::covers(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  return allocator_ != nullptr && allocator_->covers(offset + bias_, bytes);
}

std::uint64_t shared_heap::size() const noexcept {
  return allocator_ == nullptr ? 0 : allocator_->capacity();
}
std::uint64_t shared_heap::used() const noexcept {
  return allocator_ == nullptr ? 0 : allocator_->bytes_used();
}
std::uint64_t shared_heap::largest_free() const noexcept {
  return allocator_ == nullptr ? 0 : allocator_->largest_free();
}

std::string shared_heap::reserve_all() {
  if (allocator_ == nullptr) return "there is no shared heap.";
  return allocator_->reserve_all() ? "" : refusal();
}

std::uint64_t shared_heap::reserved() const noexcept {
  return reservation_ == nullptr ? size() : reservation_->bytes();
}

std::string shared_heap::refusal() const { return reservation_ == nullptr ? "" : reservation_->refusal(); }

std::uint64_t shared_heap::allocations() const noexcept {
  return allocator_ == nullptr ? 0 : allocator_->allocations();
}

shared_heap& host_heap() noexcept { return heap; }

}  // namespace atl::memory
