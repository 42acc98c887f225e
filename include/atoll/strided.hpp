#pragma once

/// Strided copies in two forms, neither part of upcxx.hpp.
///
///   copy_strided<Dim>(source, strides, dest, strides, extents)   as rput_strided and rget_strided of the
///       specification, between any two memories: of devices, of hosts, of anybody; also in streams
///   copy_strided(dest, strides, source, strides, counts, dimensions)   of the "naturally grained" multigrid
///       study, between memories of hosts: byte strides for each dimension, counts of which the first is the
///       contiguous bytes, any number of dimensions known at run time

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <atoll/engine/strided.hpp>
#include <atoll/extensions/detail/copy_end.hpp>
#include <atoll/extensions/detail/strided_box.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/completion_now.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/remote_transfer.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE {

namespace detail {

/// Ends of a strided copy. The runs are of `run_bytes`; strides and extents are those of the runs.
template <class T, class Dest, class Source, class Cx>
auto copy_runs(Dest dest, std::ptrdiff_t const* dest_strides, Source source,
               std::ptrdiff_t const* source_strides, std::size_t const* extents, std::size_t dimensions,
               std::size_t run_bytes, Cx&& completions) {
  namespace up = upcxx::detail;
  static_assert(!std::is_const_v<T>, "atl::copy_strided: the destination's elements must not be const");
  static_assert(upcxx::is_trivially_serializable<T>::value,
                "atl::copy_strided: T must be TriviallySerializable; use rpc() for other types");
  up::check_injection("atl::copy_strided");
  T* const to = up::host_address(dest, 0, "destination");
  T const* const from = up::host_address(source, 0, "source");
  if (run_bytes != 0) {
    detail::check_strided_end(dest, dest_strides, dest_strides, extents, dimensions, run_bytes, "destination",
                              "destination's box");
    detail::check_strided_end(source, source_strides, dest_strides, extents, dimensions, run_bytes, "source",
                              "source's box");
    if constexpr (!std::is_pointer_v<Dest> || !std::is_pointer_v<Source>) {
      if ((!std::is_pointer_v<Dest> && to == nullptr) || (!std::is_pointer_v<Source> && from == nullptr))
          [[unlikely]] {
        return up::take_in(up::transfer_box_remotely<up::copy_events>(
            "atl::copy_strided", up::owner_word(dest), up::address_word(dest), dest_strides,
            up::owner_word(source), up::address_word(source), source_strides, extents, dimensions, run_bytes,
            detail::rank_of_end(dest), up::handed_over<Cx>(completions)));
      }
    }
    atl::engine::copy_strided(reinterpret_cast<std::byte*>(to), dest_strides,
                              reinterpret_cast<std::byte const*>(from), source_strides, extents, dimensions,
                              run_bytes);
  }
  up::send_remote_completions(detail::rank_of_end(dest), completions);
  return up::complete_now<up::copy_events>(std::forward<Cx>(completions));
}

template <class T, class Dest, class Source, class Cx>
auto copy_counted(Dest dest, std::ptrdiff_t const* dest_strides, Source source,
                  std::ptrdiff_t const* source_strides, std::size_t const* counts, int dimensions,
                  Cx&& completions) {
  ATOLL_CHECK(dimensions >= 1,
              "atl::copy_strided: %d dimensions; there is at least one, whose count is the contiguous bytes",
              dimensions);
  ATOLL_CHECK(
      counts[0] % sizeof(T) == 0,
      "atl::copy_strided: counts[0] is %zu; it is contiguous bytes, a multiple of the %zu of an element",
      counts[0], sizeof(T));
  return detail::copy_runs<T>(dest, dest_strides, source, source_strides, counts + 1,
                              static_cast<std::size_t>(dimensions) - 1, counts[0],
                              std::forward<Cx>(completions));
}

}  // namespace detail

/// Copies a box of bytes between two places of host memory: shared memory of any rank (global pointers) or
/// memory of this process (raw pointers). Both ends may belong to other ranks.
///
/// @param dest,source  index 0 in all dimensions; neither null.
/// @param dest_strides,source_strides  bytes, of any sign, from one index to the next, for the dimensions 1
///                     to dimensions - 1: `strides[d - 1]` goes with `counts[d]`. Those of the source may be
///                     0. With one dimension they are not looked at.
/// @param counts       counts[0]: contiguous bytes, a multiple of sizeof(T); the others: how often what is
///                     inside them is repeated. A 0 makes the box empty; notifications are still delivered.
/// @param dimensions   number of counts, at least 1.
/// @param completions  source, remote (on the master persona of the destination's owner; here for memory of
///                     this process) and operation completion.
/// @return    by the completions asked for. Copies between memories that this process addresses (all of one
///            host) are complete when the call returns.
/// @progress  internal. Strides and counts are read before the call returns.
///
/// No byte is written twice, and none is written where another is read. Errors: memory outside of its owner's
/// heap ends the job, in checked builds before anything is copied.
template <typename T, typename Cx = decltype(upcxx::operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy_strided(upcxx::global_ptr<T> dest, std::ptrdiff_t const* dest_strides,
                                         upcxx::global_ptr<std::type_identity_t<T> const> source,
                                         std::ptrdiff_t const* source_strides, std::size_t const* counts,
                                         int dimensions,
                                         Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_counted<T>(dest, dest_strides, source, source_strides, counts, dimensions,
                                 std::forward<Cx>(completions));
}
template <typename T, typename Cx = decltype(upcxx::operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy_strided(upcxx::global_ptr<T> dest, std::ptrdiff_t const* dest_strides,
                                         std::type_identity_t<T> const* source,
                                         std::ptrdiff_t const* source_strides, std::size_t const* counts,
                                         int dimensions,
                                         Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_counted<T>(dest, dest_strides, source, source_strides, counts, dimensions,
                                 std::forward<Cx>(completions));
}
template <typename T, typename Cx = decltype(upcxx::operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy_strided(T* dest, std::ptrdiff_t const* dest_strides,
                                         upcxx::global_ptr<std::type_identity_t<T> const> source,
                                         std::ptrdiff_t const* source_strides, std::size_t const* counts,
                                         int dimensions,
                                         Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_counted<T>(dest, dest_strides, source, source_strides, counts, dimensions,
                                 std::forward<Cx>(completions));
}
template <typename T, typename Cx = decltype(upcxx::operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy_strided(T* dest, std::ptrdiff_t const* dest_strides,
                                         std::type_identity_t<T> const* source,
                                         std::ptrdiff_t const* source_strides, std::size_t const* counts,
                                         int dimensions,
                                         Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_counted<T>(dest, dest_strides, source, source_strides, counts, dimensions,
                                 std::forward<Cx>(completions));
}

/// Copies a box of elements between any two memories: whoever owns them, on devices of any kind or on hosts.
///
///     // A column of a matrix on this rank's device into one on the neighbour's.
///     atl::copy_strided<1>(mine + 7, {{row}}, theirs, {{row}}, {{rows}}).wait();
///
/// @tparam Dim              dimensions of the box; with 0 one element is copied, and strides and extents are not
///                          looked at.
/// @param src_base          raw pointer to memory of this process, or global pointer of any kind, to the element
///                          with index 0 in all dimensions. Not null, even if the box is empty.
/// @param dest_base         the same, to elements of the same type, not const.
/// @param src_strides,dest_strides  for each dimension the bytes, of any sign, from one element to the next. Those
///                          of the source may be 0. The order of the dimensions does not matter.
/// @param extents           for each dimension the number of elements; one of 0 makes the box empty, of which all
///                          completions still tell.
/// @param completions       those of upcxx::copy: source, remote (on the master persona of the destination's owner;
///                          here for a raw pointer) and operation completion. With on_stream() (atoll/stream.hpp)
///                          the copy happens in the order of a stream, which may also give signals.
/// @return    by the completions asked for: a future by default.
/// @progress  internal. Strides and extents are read before the call returns. Copies between host memories of one
///            host are complete then; where a device or another host is concerned, progress completes them later.
///            Both memories live until then.
///
/// No byte is written twice, and none is written where another is read. Errors: a null base, elements of the
/// destination that overlap and a box that leaves its owner's heap, or on this rank's device one allocation, end
/// the job in checked builds; one that leaves its segment on a device of this host in all.
///
/// Between CUDA devices of one host that reach each other a box of up to four dimensions beyond what is
/// contiguous is one kernel of the library, put or get: of the source's device, else of the destination's, one of
/// which is this rank's, or of the stream's. Elsewhere each contiguous run is a copy of its own, started together
/// as in a copy_batch; where just one end is on a device and this process addresses the other, runs are what is
/// contiguous on the device. Between memories of hosts the box is one transfer.
template <std::size_t Dim, detail::copy_end Source, detail::copy_end Dest,
          typename Cx = decltype(upcxx::operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy_strided(Source src_base, std::ptrdiff_t const* src_strides, Dest dest_base,
                                         std::ptrdiff_t const* dest_strides, std::size_t const* extents,
                                         Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_strided_box<Dim>(src_base, src_strides, dest_base, dest_strides, extents,
                                       std::forward<Cx>(completions));
}
template <std::size_t Dim, detail::copy_end Source, detail::copy_end Dest,
          typename Cx = decltype(upcxx::operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy_strided(Source src_base, std::array<std::ptrdiff_t, Dim> const& src_strides,
                                         Dest dest_base, std::array<std::ptrdiff_t, Dim> const& dest_strides,
                                         std::array<std::size_t, Dim> const& extents,
                                         Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_strided_box<Dim>(src_base, src_strides.data(), dest_base, dest_strides.data(),
                                       extents.data(), std::forward<Cx>(completions));
}

}  // namespace atl::inline UPCXX_MODE
