#pragma once
// header check: needs <Kokkos_Core.hpp>

/// Streams in which kernels of Kokkos run, for copies and signals in their order.

#include <Kokkos_Core.hpp>

#include <cstdint>

#include <atoll/stream.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::kokkos::inline UPCXX_MODE {

/// Says of which stream an execution space's instances are. `of(instance)` gives what an atl::stream is made of: a
/// cudaStream_t, a hipStream_t or an atl::stream. Known for Kokkos' CUDA back end; programs may specialise it for other
/// back ends on devices, and for spaces of their own. Spaces without such a function have no stream.
template <class ExecutionSpace>
struct execution_stream {};
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct execution_stream<Kokkos::Cuda> {
  static auto of(Kokkos::Cuda const& instance) { return instance.cuda_stream(); }
};
#endif

/// The stream in which an instance runs its kernels. What is put there comes after the kernels that were started before,
/// and kernels started later come after that, so that neither needs a fence:
///
///     auto const s = atl::kokkos::stream_of(instance);
///     Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::Cuda>(instance, 0, n), fill);
///     atl::kokkos::copy(plane, theirs, atl::on_stream(s) | atl::remote_cx::as_signal(their_news, step));
///     atl::wait(s, news, step);
///     Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::Cuda>(instance, 0, n), next);
///     atl::wait(s);   // instead of instance.fence(), during which nobody is served
///
/// Does not compile for spaces that compute on the host: their kernels have ended when parallel_for returns, or after
/// fence(instance).
///
/// @param instance  lives until what is in the stream has been done.
/// @progress        none.
template <std::uintptr_t Null = atl::detail::null_stream, class ExecutionSpace>
requires Kokkos::is_execution_space<ExecutionSpace>::value atl::stream stream_of(
    ExecutionSpace const& instance) {
  constexpr bool known = requires { execution_stream<ExecutionSpace>::of(instance); };
  static_assert(known,
                "atl::kokkos::stream_of: kernels of this execution space are in no stream of a device: call "
                "fence(instance) before copies, or give copy() the instance; or specialise "
                "atl::kokkos::execution_stream for a back end on devices");
  return atl::stream(execution_stream<ExecutionSpace>::of(instance));
}

}  // namespace atl::kokkos::inline UPCXX_MODE
