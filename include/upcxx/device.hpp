#pragma once

/// Devices: GPUs that this process has opened. Specification chapter "Memory kinds".
///
/// All device types exist in every build; which devices there are is found out when the program runs. Without
/// a device of a type no number is valid, and all objects of the type are inactive.

#include <string>
#include <utility>

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/device_runtime.hpp>
#include <upcxx/fwd.hpp>
#include <upcxx/team.hpp>

// Kinds are opened at run time, so programs can always be compiled for all of them; device_n() says whether
// there are any.
#define UPCXX_KIND_CUDA 202309L
#define UPCXX_KIND_HIP 202309L
#define UPCXX_KIND_ZE 202309L
/// Name of UPCXX_KIND_CUDA in programs of before 2021.
#define UPCXX_CUDA_ENABLED 1

namespace upcxx::inline UPCXX_MODE {

namespace detail {
struct device_access;
}

/// Any device object, whatever its vendor.
///
/// Constructing one (except by default or from another one) and destroying it with destroy() are collective
/// over world(); processes without a device take part with an inactive object. An active object must be
/// destroyed, or the library finalized, before its destructor runs.
class gpu_device {
 public:
  using id_type = int;
  template <typename T>
  using pointer = T*;

  static constexpr id_type invalid_device_id = atl::rt::invalid_device;
  /// One of the devices there are, spread over the processes of a host; none where there is none.
  static constexpr id_type auto_device_id = atl::rt::auto_device;

  gpu_device(gpu_device const&) = delete;
  gpu_device& operator=(gpu_device const&) = delete;
  /// @progress  none. Any time.
  virtual ~gpu_device() { atl::rt::check_forgotten(state_.get(), "device"); }

  /// What memory there is on this device.
  [[nodiscard]] memory_kind kind() const { return kind_; }
  /// invalid_device_id if inactive.
  [[nodiscard]] id_type device_id() const { return atl::rt::device_number(state_.get()); }
  /// True from construction with a valid number until the object is moved from or destroyed.
  [[nodiscard]] bool is_active() const { return device_id() != invalid_device_id; }

  /// Deactivates the device and its allocator, and frees the segment. Collective over world(),
  /// inactive objects included. After the barrier (on entry for `none`) all operations on this device's
  /// memory must be complete.
  ///
  /// @param lev  what the entry barrier does meanwhile; the same on all ranks.
  /// @progress   user for entry_barrier::user, else internal; user in any case in a process that has used streams
  ///             (atoll/stream.hpp), which may wait for it.
  virtual void destroy(entry_barrier lev = entry_barrier::user) = 0;

  template <typename T>
  static constexpr pointer<T> null_pointer() {
    return nullptr;
  }
  /// Bytes; what transfers like best.
  template <typename T>
  static constexpr std::size_t default_alignment() {
    return alignof(T) > 256 ? alignof(T) : 256;
  }

 protected:
  gpu_device(memory_kind kind, atl::rt::device_handle state) : state_(std::move(state)), kind_(kind) {}
  gpu_device(gpu_device&& other) noexcept : state_(std::move(other.state_)), kind_(other.kind_) {}
  gpu_device& operator=(gpu_device&& other) noexcept {
    if (this != &other) {
      ATOLL_CHECK(!is_active(), "a device is assigned to that is still open; destroy() it first");
      state_ = std::move(other.state_);
    }
    return *this;
  }

 private:
  friend struct detail::device_access;
  atl::rt::device_handle state_;
  memory_kind kind_;
};

namespace detail {

struct device_access {
  static atl::rt::device_handle const& state(gpu_device const& device) { return device.state_; }
};

/// What the device types have in common.
template <memory_kind Kind>
class device_of_kind : public gpu_device {
 public:
  static constexpr memory_kind kind = Kind;

  void destroy(entry_barrier lev = entry_barrier::user) override {
    atl::rt::close_device(device_access::state(*this), detail::progress_of(lev), "device::destroy");
  }

  /// Devices of this type that this process can open: numbers 0 to device_n() - 1.
  [[nodiscard]] static id_type device_n() { return atl::rt::device_count(static_cast<unsigned>(Kind)); }
  /// What there is, for people.
  [[nodiscard]] static std::string kind_info() { return atl::rt::device_report(static_cast<unsigned>(Kind)); }
  /// Names the piece of hardware; the same in all processes.
  [[nodiscard]] static std::string uuid(id_type device_id) {
    return atl::rt::device_uuid(static_cast<unsigned>(Kind), device_id);
  }

 protected:
  device_of_kind() : gpu_device(Kind, nullptr) {}
  explicit device_of_kind(id_type device_id)
      : gpu_device(Kind, atl::rt::open_device(static_cast<unsigned>(Kind), device_id)) {}
  device_of_kind(device_of_kind&&) noexcept = default;
  device_of_kind& operator=(device_of_kind&&) noexcept = default;
};

}  // namespace detail

/// A CUDA device.
class cuda_device final : public detail::device_of_kind<memory_kind::cuda_device> {
 public:
  /// Inactive. Any time.
  cuda_device() = default;
  /// Opens a device. Collective over world(); `device_id` may differ between ranks. Inactive for
  /// invalid_device_id. The same device may be opened several times. Ends the job if there is no such device.
  ///
  /// @progress  user.
  cuda_device(id_type device_id) : device_of_kind(device_id) {}  // NOLINT: implicit by the specification
};

/// A HIP device; see cuda_device.
class hip_device final : public detail::device_of_kind<memory_kind::hip_device> {
 public:
  hip_device() = default;
  hip_device(id_type device_id) : device_of_kind(device_id) {}  // NOLINT
};

/// A oneAPI Level Zero device; see cuda_device.
class ze_device final : public detail::device_of_kind<memory_kind::ze_device> {
 public:
  ze_device() = default;
  ze_device(id_type device_id) : device_of_kind(device_id) {}  // NOLINT
};

/// The device type of programs that do not care about vendors: cuda_device, unless the program defines
/// UPCXX_GPU_DEFAULT_DEVICE_HIP or UPCXX_GPU_DEFAULT_DEVICE_ZE to 1 before it includes the library.
#if defined(UPCXX_GPU_DEFAULT_DEVICE_HIP) && UPCXX_GPU_DEFAULT_DEVICE_HIP
using gpu_default_device = hip_device;
#elif defined(UPCXX_GPU_DEFAULT_DEVICE_ZE) && UPCXX_GPU_DEFAULT_DEVICE_ZE
using gpu_default_device = ze_device;
#else
using gpu_default_device = cuda_device;
#endif

}  // namespace upcxx::inline UPCXX_MODE
