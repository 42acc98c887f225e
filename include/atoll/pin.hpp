#pragma once

/// Pinning private memory of the program, so that GPUs reach it as they reach the shared heap. Not part of
/// upcxx.hpp.
///
///     std::vector<double> field(n);
///     auto const pinned = atl::pin(field.data(), n * sizeof(double));
///     for (int step = 0; step < steps; ++step) {
///       upcxx::copy(field.data(), on_gpu, n).wait();   // at the speed of pinned memory
///       ...
///     }                                                // unpinned here, before `field` goes

#include <cstddef>
#include <cstdint>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/engine/pins.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE {

/// Keeps private memory pinned. Made by pin(); an object that was default-constructed or moved from pins
/// nothing.
class [[nodiscard]] pinned_memory {
 public:
  pinned_memory() noexcept = default;
  pinned_memory(pinned_memory&& other) noexcept : pin_(std::exchange(other.pin_, {})) {}
  pinned_memory& operator=(pinned_memory&& other) noexcept {
    if (this != &other) {
      unpin();
      pin_ = std::exchange(other.pin_, {});
    }
    return *this;
  }
  /// As unpin().
  ~pinned_memory() { unpin(); }

  /// Ends the pin, which finalize does, too. Waits for the copies of this rank that concern the memory and
  /// are under way; not for those in streams (on_stream), which must have come by, as before the memory
  /// itself goes. A driver does it only when streams and kernels that wait for signals have gone on.
  ///
  /// @progress  internal, while there are such copies.
  void unpin() {
    if (pin_.number != 0) engine::unpin_memory(std::exchange(pin_, {}));
  }

  /// Whether all devices that this rank uses reach all of the memory directly: false before it has made its
  /// first device allocator, where there is no device, where the driver has refused (a warning says why), and
  /// after finalize.
  [[nodiscard]] bool is_pinned() const { return engine::is_pinned(pin_); }

 private:
  friend pinned_memory pin(void const* memory, std::size_t bytes);
  explicit pinned_memory(engine::pin_name pin) noexcept : pin_(pin) {}

  engine::pin_name pin_;
};

/// Pins private memory that is copied to and from devices again and again: for all devices of this rank, also
/// those that it opens later. It takes about as long as one copy of the memory unpinned, so it is not worth
/// it for memory that is copied once. A driver may wait meanwhile until streams and kernels that wait for signals
/// go on, as at the end of a pin it does: pin before they do. Without a device, and for memory of shared heaps,
/// which is pinned anyway, it costs nothing. What a driver refuses to pin is copied all the same, more slowly.
///
/// @param memory  stays allocated while the object lives: devices would go on reaching the old pages, not
///                what is allocated there next. Whole pages are pinned; what lies beside it on them is so in
///                part, which copies by the driver's own interface refuse, unlike the library's. Pins may
///                overlap. While streams have copies of memory to do, no pin may end that shares a page with
///                it.
/// @param bytes   zero pins nothing.
/// @progress      none.
inline pinned_memory pin(void const* memory, std::size_t bytes) {
  upcxx::detail::check_injection("atl::pin");
  ATOLL_CHECK(memory != nullptr || bytes == 0, "atl::pin: %zu bytes at a null pointer", bytes);
  ATOLL_CHECK(reinterpret_cast<std::uintptr_t>(memory) + bytes >= reinterpret_cast<std::uintptr_t>(memory),
              "atl::pin: %zu bytes at %p reach beyond the end of all addresses", bytes, memory);
  return pinned_memory(engine::pin_memory(const_cast<void*>(memory), bytes));
}

}  // namespace atl::inline UPCXX_MODE
