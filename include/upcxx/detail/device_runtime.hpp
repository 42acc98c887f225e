#pragma once

/// Devices and device segments as the library keeps them: every template parameter erased.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <upcxx/detail/config.hpp>

namespace atl::rt {

/// One opened device and its segment. Shared by the device object and its allocator; the library makes it
/// inactive at destroy or finalize.
struct device_state;
ATOLL_EXPORT void hold_device(device_state* device) noexcept;
ATOLL_EXPORT void drop_device(device_state* device) noexcept;

/// A share in a device; null in inactive objects. Not std::shared_ptr, whose header costs every file of every
/// program a third of a second.
class device_handle {
 public:
  constexpr device_handle(std::nullptr_t = nullptr) noexcept {}
  device_handle(device_handle const& other) noexcept : device_(other.device_) { hold_device(device_); }
  device_handle(device_handle&& other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
  device_handle& operator=(device_handle other) noexcept {
    std::swap(device_, other.device_);
    return *this;
  }
  ~device_handle() {
    if (device_ != nullptr) drop_device(device_);
  }

  /// Takes over a share that was counted already.
  static device_handle adopt(device_state* device) noexcept {
    device_handle result;
    result.device_ = device;
    return result;
  }

  device_state* get() const noexcept { return device_; }
  device_state* operator->() const noexcept { return device_; }
  device_state& operator*() const noexcept { return *device_; }
  explicit operator bool() const noexcept { return device_ != nullptr; }

 private:
  device_state* device_ = nullptr;
};

inline constexpr int invalid_device = -1;
inline constexpr int auto_device = -2;

// Kinds are values of upcxx::memory_kind.

/// Devices of the kind that this process can open.
ATOLL_EXPORT int device_count(unsigned kind);
ATOLL_EXPORT std::string device_report(unsigned kind);
ATOLL_EXPORT std::string device_uuid(unsigned kind, int device);

/// Collective. Null, the handle of inactive objects, for invalid_device, and for auto_device
/// where there is none.
ATOLL_EXPORT device_handle open_device(unsigned kind, int device);
/// Number of the device; invalid_device if inactive.
ATOLL_EXPORT int device_number(device_state const* device) noexcept;
/// Collective: meets all ranks, calling `progress` meanwhile; null: does not meet them. Null and inactive handles
/// take part.
ATOLL_EXPORT void close_device(device_handle const& device, bool (*progress)(), char const* caller);
/// An object that should have been destroyed goes: ends the job, unless the library is not initialised, an
/// exception is on its way, or the device is inactive.
ATOLL_EXPORT void check_forgotten(device_state const* device, char const* what) noexcept;

/// Collective. Makes the device's segment; over `memory` if that is not null. Number of the segment, 0 if the
/// device is inactive. Throws bad_segment_alloc on all ranks if it failed on any.
ATOLL_EXPORT std::uint16_t open_segment(device_handle const& device, std::size_t bytes, void* memory);
/// The same for a segment; also closes the device if `with_device`.
ATOLL_EXPORT void close_segment(device_handle const& device, std::uint16_t segment, bool with_device,
                                bool (*progress)());
/// Whether this is a segment of an active device.
ATOLL_EXPORT bool segment_active(device_state const* device, std::uint16_t segment) noexcept;

/// Address of at least `bytes` bytes, 0 if there is no room. Ends the job if the segment is inactive.
ATOLL_EXPORT std::uint64_t segment_allocate(device_state const* device, std::uint16_t segment,
                                            std::size_t bytes, std::size_t alignment);
/// Ends the job over what is no allocation in this segment. `owner` and `address` as in global pointers.
ATOLL_EXPORT void segment_deallocate(device_state const* device, std::uint16_t segment, std::uint64_t owner,
                                     std::uint64_t address);
/// The same address, after a look whether it lies in the segment: ends the job if not.
ATOLL_EXPORT std::uint64_t segment_place(device_state const* device, std::uint16_t segment,
                                         void const* address);
ATOLL_EXPORT std::size_t segment_size(device_state const* device, std::uint16_t segment) noexcept;
ATOLL_EXPORT std::size_t segment_used(device_state const* device, std::uint16_t segment) noexcept;

/// Device of a pointer into memory of this process; ends the job if it is none.
ATOLL_EXPORT int device_of_pointer(std::uint64_t owner, std::uint64_t address);
/// False if [address, +bytes) is device memory of this process, but not in one live allocation; of memory
/// that the program gave, if it leaves the segment.
ATOLL_EXPORT bool is_live_device_range(std::uint64_t owner, std::uint64_t address,
                                       std::size_t bytes) noexcept;

}  // namespace atl::rt
