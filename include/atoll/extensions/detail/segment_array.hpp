#pragma once

/// Objects in the segment of a device allocator, freed with their owner.

#include <cstddef>
#include <cstdio>
#include <type_traits>
#include <utility>

#include <upcxx/detail/config.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// The device type whose memory is of a kind; void for the host's, and for `any`.
template <upcxx::memory_kind Kind>
using device_of = std::conditional_t<
    Kind == upcxx::memory_kind::cuda_device, upcxx::cuda_device,
    std::conditional_t<Kind == upcxx::memory_kind::hip_device, upcxx::hip_device,
                       std::conditional_t<Kind == upcxx::memory_kind::ze_device, upcxx::ze_device, void>>>;
template <upcxx::memory_kind Kind>
inline constexpr bool is_device = !std::is_void_v<device_of<Kind>>;

/// Memory that has no values yet. Moves; empty by default, and after it was moved from. The allocator stays where it is. May outlive the
/// segment, if not the allocator.
template <class T, upcxx::memory_kind Kind>
class segment_array {
  static_assert(std::is_trivially_destructible_v<T>,
                "atl: what is in device memory must be trivially destructible");

 public:
  using allocator = upcxx::device_allocator<device_of<Kind>>;

  segment_array() = default;
  /// `call`: what the program has called. @throws upcxx::bad_shared_alloc
  segment_array(allocator& from, std::size_t count, char const* call) : from_(&from) {
    if (count == 0) return;
    if (from.is_active()) first_ = from.template allocate<T>(count);
    if (first_) return;
    char text[200];
    std::snprintf(
        text, sizeof text,
        "%s: no room for %zu elements of %zu bytes in the device segment: %zu of its %zu bytes are in use",
        call, count, sizeof(T), from.segment_used(), from.segment_size());
    throw upcxx::bad_shared_alloc(from.is_active() ? text : inactive(call, text));
  }
  segment_array(segment_array&& other) noexcept
      : from_(other.from_), first_(std::exchange(other.first_, nullptr)) {}
  segment_array& operator=(segment_array&& other) noexcept {
    std::swap(from_, other.from_);
    std::swap(first_, other.first_);
    return *this;
  }
  ~segment_array() {
    if (first_ && from_->is_active()) from_->deallocate(first_);
  }
  upcxx::global_ptr<T, Kind> get() const { return first_; }

 private:
  template <std::size_t Size>
  static char const* inactive(char const* call, char (&text)[Size]) {
    std::snprintf(text, Size, "%s: the allocator is inactive: this rank has no device, or it was destroyed",
                  call);
    return text;
  }

  allocator* from_ = nullptr;
  upcxx::global_ptr<T, Kind> first_;
};

}  // namespace atl::inline UPCXX_MODE::detail
