#pragma once

/// Device segments and allocation in them. Specification chapter "Memory kinds".

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/device_runtime.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/device.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/team.hpp>

namespace upcxx::inline UPCXX_MODE {

/// An allocator of device memory, whatever the kind. Pointers are of kind `any` here; device_allocator, which
/// knows the kind, has the same functions with typed ones.
class heap_allocator {
 public:
  heap_allocator(heap_allocator const&) = delete;
  heap_allocator& operator=(heap_allocator const&) = delete;
  /// @progress  none. Any time.
  virtual ~heap_allocator() {
    if (owns_device_) atl::rt::check_forgotten(device_.get(), "device_allocator");
  }

  [[nodiscard]] memory_kind kind() const { return kind_; }
  /// True from construction on an active device until the allocator is moved from or destroyed,
  /// or its device is.
  [[nodiscard]] bool is_active() const { return atl::rt::segment_active(device_.get(), segment_); }
  /// Number of the device; invalid_device_id if inactive.
  [[nodiscard]] int device_id() const {
    return is_active() ? atl::rt::device_number(device_.get()) : atl::rt::invalid_device;
  }
  /// Bytes of the segment, and bytes of it in use now, rounding included; 0 if inactive.
  [[nodiscard]] std::size_t segment_size() const { return atl::rt::segment_size(device_.get(), segment_); }
  [[nodiscard]] std::size_t segment_used() const { return atl::rt::segment_used(device_.get(), segment_); }

  /// Deactivates the allocator and frees the segment; also the device if make_gpu_allocator opened it.
  /// Collective over world(), inactive allocators included. After the barrier (on entry for `none`) all
  /// operations on the memory must be complete; those that this process started are waited for. Pointers into
  /// it are invalid.
  ///
  /// @param lev  what the entry barrier does meanwhile; the same on all ranks.
  /// @progress   user for entry_barrier::user, else internal; user in any case in a process that has used streams
  ///             (atoll/stream.hpp), which may wait for it.
  virtual void destroy(entry_barrier lev = entry_barrier::user) {
    atl::rt::close_segment(device_, segment_, owns_device_, detail::progress_of(lev));
  }

  /// Memory for `n` objects, not constructed; null when the segment is exhausted. Must be active.
  ///
  /// @param alignment  power of two, in bytes.
  /// @progress         none. From any thread.
  template <typename T>
  ATOLL_NODISCARD_MEMORY global_ptr<T, memory_kind::any> allocate(
      std::size_t n = 1, std::size_t alignment = gpu_device::default_alignment<T>()) {
    return allocate_as<T, memory_kind::any>(n, alignment);
  }
  /// Frees what allocate of this allocator returned; runs no destructors. Null is ignored.
  template <typename T>
  void deallocate(global_ptr<T, memory_kind::any> pointer) {
    deallocate_any(pointer);
  }
  /// Global pointer to memory of this segment. Null gives null.
  template <typename T>
  [[nodiscard]] global_ptr<T, memory_kind::any> to_global_ptr(T* pointer) const {
    return to_pointer<T, memory_kind::any>(pointer);
  }

 protected:
  explicit heap_allocator(memory_kind kind) : kind_(kind) {}
  heap_allocator(memory_kind kind, atl::rt::device_handle device, std::size_t bytes, void* memory,
                 bool owns_device)
      : device_(std::move(device)), kind_(kind) {
    segment_ = atl::rt::open_segment(device_, bytes, memory);
    owns_device_ = owns_device;
  }
  heap_allocator(heap_allocator&& other) noexcept
      : device_(std::move(other.device_)),
        kind_(other.kind_),
        segment_(std::exchange(other.segment_, std::uint16_t{0})),
        owns_device_(std::exchange(other.owns_device_, false)) {}
  heap_allocator& operator=(heap_allocator&& other) noexcept {
    if (this != &other) {
      ATOLL_CHECK(!is_active(), "an allocator is assigned to that is still active; destroy() it first");
      device_ = std::move(other.device_);
      segment_ = std::exchange(other.segment_, std::uint16_t{0});
      owns_device_ = std::exchange(other.owns_device_, false);
    }
    return *this;
  }

  template <typename T, memory_kind Kind>
  global_ptr<T, Kind> allocate_as(std::size_t n, std::size_t alignment) {
    detail::check_heap_use("device_allocator::allocate");
    ATOLL_CHECK(alignment != 0 && (alignment & (alignment - 1)) == 0,
                "device_allocator::allocate: the alignment of %zu bytes is no power of two", alignment);
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(n, sizeof(T), &bytes)) bytes = SIZE_MAX;
    return pointer_to<T, Kind>(atl::rt::segment_allocate(device_.get(), segment_, bytes, alignment));
  }
  template <typename T, memory_kind Kind>
  void deallocate_any(global_ptr<T, Kind> pointer) {
    if (pointer.is_null()) return;
    detail::check_heap_use("device_allocator::deallocate");
    atl::rt::segment_deallocate(device_.get(), segment_, detail::global_ptr_access::owner(pointer),
                                detail::global_ptr_access::address(pointer));
  }
  template <typename T, memory_kind Kind>
  global_ptr<T, Kind> to_pointer(T* pointer) const {
    if (pointer == nullptr) return nullptr;
    return pointer_to<T, Kind>(atl::rt::segment_place(device_.get(), segment_, pointer));
  }

 private:
  template <typename T, memory_kind Kind>
  global_ptr<T, Kind> pointer_to(std::uint64_t address) const {
    return detail::global_ptr_access::make_device<T, Kind>(static_cast<std::uint32_t>(rank_me()), segment_,
                                                           kind_, address);
  }

  atl::rt::device_handle device_;
  memory_kind kind_;
  std::uint16_t segment_ = 0;
  bool owns_device_ = false;
};

template <typename Device>
class device_allocator;
template <typename Device = gpu_default_device>
device_allocator<Device> make_gpu_allocator(std::size_t size,
                                            typename Device::id_type device_id = Device::auto_device_id,
                                            void* base = nullptr);

/// The allocator of one segment on a device of type `Device`.
///
/// Construction on a device is collective over world(), P:user: calls of others are served meanwhile. Where
/// the device is inactive, so is the allocator. Sizes and forms may differ between ranks.
template <typename Device>
class device_allocator final : public heap_allocator {
  static_assert(std::is_base_of_v<gpu_device, Device>,
                "device_allocator<Device>: Device must be cuda_device, hip_device or ze_device");

 public:
  using device_type = Device;
  using id_type = typename Device::id_type;
  template <typename T>
  using pointer = typename Device::template pointer<T>;

  /// Inactive. Any time.
  device_allocator() : heap_allocator(Device::kind) {}
  /// Makes a segment of `sz_in_bytes`, not 0, on `device`, which has no allocator yet.
  /// @throws bad_segment_alloc on all ranks if it fails on any; the devices stay open.
  device_allocator(Device& device, std::size_t sz_in_bytes)
      : device_allocator(device, sz_in_bytes, pointer<void>(nullptr)) {}
  /// The same over memory of this device that the program owns, and keeps until the segment ends. Null means
  /// that the library allocates.
  device_allocator(Device& device, std::size_t sz_in_bytes, pointer<void> device_memory)
      : heap_allocator(Device::kind, detail::device_access::state(device), sz_in_bytes, device_memory,
                       false) {}
  /// The same in the order of arguments of before 2022.
  device_allocator(Device& device, pointer<void> device_memory, std::size_t sz_in_bytes)
      : device_allocator(device, sz_in_bytes, device_memory) {}
  device_allocator(device_allocator&&) noexcept = default;
  device_allocator& operator=(device_allocator&&) noexcept = default;

  /// See heap_allocator.
  template <typename T>
  ATOLL_NODISCARD_MEMORY global_ptr<T, Device::kind> allocate(
      std::size_t n = 1, std::size_t alignment = Device::template default_alignment<T>()) {
    return this->template allocate_as<T, Device::kind>(n, alignment);
  }
  /// The same, as older programs give the alignment.
  template <typename T, std::size_t Alignment>
  ATOLL_NODISCARD_MEMORY global_ptr<T, Device::kind> allocate(std::size_t n = 1) {
    return allocate<T>(n, Alignment);
  }
  template <typename T>
  void deallocate(global_ptr<T, Device::kind> g) {
    this->deallocate_any(g);
  }
  template <typename T>
  [[nodiscard]] global_ptr<T, Device::kind> to_global_ptr(T* ptr) const {
    return this->template to_pointer<T, Device::kind>(ptr);
  }

  using heap_allocator::device_id;
  /// Address on the device, for kernels, of memory that this process allocated. Null gives null.
  template <typename T>
  [[nodiscard]] static pointer<T> local(global_ptr<T, Device::kind> g) {
    if (g.is_null()) return Device::template null_pointer<T>();
    check_own(g, "device_allocator::local");
    return reinterpret_cast<T*>(detail::global_ptr_access::address(g));
  }
  /// Device of memory that this process allocated; invalid_device_id for null.
  template <typename T>
  [[nodiscard]] static id_type device_id(global_ptr<T, Device::kind> g) {
    if (g.is_null()) return Device::invalid_device_id;
    check_own(g, "device_allocator::device_id");
    return atl::rt::device_of_pointer(detail::global_ptr_access::owner(g),
                                      detail::global_ptr_access::address(g));
  }

 private:
  friend device_allocator make_gpu_allocator<Device>(std::size_t, id_type, void*);

  device_allocator(atl::rt::device_handle device, std::size_t bytes, void* memory)
      : heap_allocator(Device::kind, std::move(device), bytes, memory, true) {}

  template <typename T>
  static void check_own([[maybe_unused]] global_ptr<T, Device::kind> g, [[maybe_unused]] char const* call) {
    ATOLL_CHECK(g.where() == rank_me(),
                "%s: device memory of rank %d has no address here; use copy() or rpc()", call, g.where());
    ATOLL_CHECK(atl::rt::is_live_device_range(detail::global_ptr_access::owner(g),
                                              detail::global_ptr_access::address(g), 1),
                "%s: the memory was freed, or its device or allocator was destroyed", call);
  }
};

using gpu_heap_allocator = device_allocator<gpu_default_device>;

/// Opens a device and makes a segment of `size` bytes on it. Collective over world(), P:user. The allocator
/// keeps the device; its destroy() closes both. Inactive where there is no device.
///
/// @param device_id  auto_device_id chooses: the ranks of a host start at different devices,
///                   later calls go on from there.
/// @param base       memory of the program on that device, which must be named then;
///                   null: the library allocates.
/// @throws           bad_segment_alloc on all ranks if it fails on any; the devices are closed then.
template <typename Device>
device_allocator<Device> make_gpu_allocator(std::size_t size, typename Device::id_type device_id,
                                            void* base) {
  static_assert(std::is_base_of_v<gpu_device, Device>,
                "make_gpu_allocator<Device>: Device must be cuda_device, hip_device or ze_device");
  ATOLL_CHECK(base == nullptr || device_id != Device::auto_device_id,
              "make_gpu_allocator: memory of the program is on one device; give its number");
  return device_allocator<Device>(atl::rt::open_device(static_cast<unsigned>(Device::kind), device_id), size,
                                  base);
}

}  // namespace upcxx::inline UPCXX_MODE
