#pragma once
// header check: needs <Kokkos_Core.hpp>

/// Kinds of memory and the spaces of Kokkos, where Kokkos computes, and fences.

#include <Kokkos_Core.hpp>

#include <type_traits>

#include <upcxx/detail/config.hpp>
#include <upcxx/device.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/team.hpp>

namespace atl::kokkos::inline UPCXX_MODE {

using upcxx::memory_kind;

/// The memory space of Kokkos for memory of a kind; void where this Kokkos has none. Programs may specialise
/// it for kinds whose type is void: for instance as Kokkos::HostSpace for simulated devices, whose Views can
/// then be made and copied, but not touched.
template <memory_kind Kind>
struct kokkos_space {
  using type = void;
};
template <>
struct kokkos_space<memory_kind::host> {
  using type = Kokkos::HostSpace;
};
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct kokkos_space<memory_kind::cuda_device> {
  using type = Kokkos::CudaSpace;
};
#endif

/// The kind of memory that kernels of an execution space work on.
template <class ExecutionSpace>
requires Kokkos::is_execution_space<ExecutionSpace>::value inline constexpr memory_kind kind_of =
    memory_kind::host;
#if defined(KOKKOS_ENABLE_CUDA)
template <>
inline constexpr memory_kind kind_of<Kokkos::Cuda> = memory_kind::cuda_device;
#endif

/// Starts Kokkos. With its CUDA back end on the device that the first make_gpu_allocator() of this process
/// chooses, so that the ranks of a host are spread over its devices. Kokkos::finalize() ends it.
///
/// @progress none.
inline void initialize() {
#if defined(KOKKOS_ENABLE_CUDA)
  int const devices = upcxx::cuda_device::device_n();
  int const device = devices > 0 ? upcxx::local_team().rank_me() % devices : 0;
#if KOKKOS_VERSION >= 30700
  Kokkos::initialize(Kokkos::InitializationSettings().set_device_id(device));
#else
  Kokkos::InitArguments arguments;
  arguments.device_id = device;
  Kokkos::initialize(arguments);
#endif
#else
  Kokkos::initialize();
#endif
}

/// Number of the device that Kokkos computes on, for device allocators whose memory its kernels use; where it
/// computes on the host, auto_device_id.
inline int device_id() {
#if defined(KOKKOS_ENABLE_CUDA)
  return Kokkos::Cuda().cuda_device();
#else
  return upcxx::gpu_device::auto_device_id;
#endif
}

namespace detail {

template <memory_kind Kind>
using device_of_kind = std::conditional_t<
    Kind == memory_kind::cuda_device, upcxx::cuda_device,
    std::conditional_t<Kind == memory_kind::hip_device, upcxx::hip_device, upcxx::ze_device>>;

template <class Space>
struct memory_space_of {
  using type = typename Space::memory_space;
};
template <>
struct memory_space_of<void> {
  using type = void;
};

/// Ends compilation, in our words, if a View in `Space` cannot be over memory of this kind.
/// void: the kind's own.
template <memory_kind Kind, class Space>
constexpr bool check_space() {
  using own = typename kokkos_space<Kind>::type;
  using asked = typename memory_space_of<Space>::type;
  static_assert(Kind != memory_kind::any,
                "the View's memory must be of a known kind, not memory_kind::any; use static_kind_cast or "
                "dynamic_kind_cast first");
  static_assert(Kind == memory_kind::any || !std::is_void_v<own>,
                "Kokkos has no back end here for this kind of device; build Kokkos with one, or specialise "
                "atl::kokkos::kokkos_space");
  static_assert(
      std::is_void_v<own> || std::is_void_v<asked> || std::is_same_v<own, asked> || Kind != memory_kind::host,
      "a View over host memory must be in Kokkos::HostSpace; for memory of a device use a pointer "
      "from device_allocator");
  static_assert(
      std::is_void_v<own> || std::is_void_v<asked> || std::is_same_v<own, asked> || Kind == memory_kind::host,
      "a View over device memory must be in the memory space of that device's execution space, "
      "not on the host");
  return true;
}

}  // namespace detail

/// Waits for the kernels of one instance of an execution space, and for no others: with CUDA for one stream.
template <class Space>
requires Kokkos::is_execution_space<Space>::value void fence(Space const& instance) { instance.fence(); }

}  // namespace atl::kokkos::inline UPCXX_MODE
