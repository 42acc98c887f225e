#pragma once

/// One-sided transfers of memory that is not contiguous.
/// Specification chapter "Non-contiguous one-sided communication".
///
///   irregular  runs of any length, listed with their lengths
///   regular    runs of one length on each end, listed
///   strided    boxes of elements inside arrays, given by strides
///
/// Common to all: T is TriviallySerializable, the shared end is host memory of one rank, no two elements
/// are written to one place and none where another is read; null pointers are not allowed, even for nothing.
/// Puts have source, remote (on the master persona of the destination's owner) and operation completion,
/// gets have operation completion; none has values. Transfers to memory of this host are complete
/// when the call returns; those to other hosts complete during progress. Lists are read before the call returns
/// here; portable programs keep them until the completion that each function names.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <atoll/engine/strided.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/completion_now.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/remote_transfer.hpp>
#include <upcxx/detail/runs.hpp>
#include <upcxx/detail/transfer.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace atl::rt {
/// Ends the job if the box leaves the shared heap of its owner, whose end is given by the two words of a
/// global pointer and its strides, or if elements of the destination overlap. For checked builds. `role`: what the box is.
ATOLL_EXPORT void check_strided(char const* call, char const* role, std::uint64_t owner,
                                std::uint64_t address, std::ptrdiff_t const* shared_strides,
                                std::ptrdiff_t const* dest_strides, std::size_t const* extents,
                                std::size_t dimensions, std::size_t element_bytes) noexcept;
}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE {

namespace detail {

template <class T>
ATOLL_INLINE void check_strided([[maybe_unused]] char const* call, [[maybe_unused]] char const* role,
                                [[maybe_unused]] global_ptr<T> shared,
                                [[maybe_unused]] std::ptrdiff_t const* shared_strides,
                                [[maybe_unused]] std::ptrdiff_t const* dest_strides,
                                [[maybe_unused]] std::size_t const* extents,
                                [[maybe_unused]] std::size_t dimensions) {
#if ATOLL_CHECKED
  atl::rt::check_strided(call, role, global_ptr_access::owner(shared), global_ptr_access::address(shared),
                         shared_strides, dest_strides, extents, dimensions, sizeof(T));
#endif
}

using vis_put_events = operation_events<true, true, true>;
using vis_get_events = operation_events<false, false, true>;

/// Starts a transfer of runs whose shared end this process does not address.
template <class Events, class T, template <class> class DestEnd, template <class> class SourceEnd, class Runs,
          class SrcIter, class DestIter, class Cx>
ATOLL_COLD auto move_runs_remotely(char const* call, intrank_t target, SrcIter src_begin, SrcIter src_end,
                                   Runs src_runs, DestIter dest_begin, DestIter dest_end, Runs dest_runs,
                                   Cx&& completions) {
  listed_runs const dest =
      detail::list_runs(DestEnd<T>{call, "destination"}, std::move(dest_begin), dest_end, dest_runs);
  listed_runs const source =
      detail::list_runs(SourceEnd<T const>{call, "source"}, std::move(src_begin), src_end, src_runs);
  check_lists(call, source, dest);
  return detail::transfer_runs_remotely<Events>(call, dest.owner, dest.runs, source.owner, source.runs,
                                                target, std::forward<Cx>(completions));
}

template <class Runs, class SrcIter, class DestIter, class Cx>
auto start_put(char const* call, SrcIter src_begin, SrcIter src_end, Runs src_runs, DestIter dest_begin,
               DestIter dest_end, Runs dest_runs, Cx&& completions) {
  using source = run_pointer<Runs, SrcIter>;
  using dest = run_pointer<Runs, DestIter>;
  static_assert(
      requires { typename run_element<dest>::type; },
      "rput_irregular, rput_regular: the destination's runs must begin with global_ptr<T>");
  using T = typename run_element<dest>::type;
  static_assert(std::is_same_v<dest, global_ptr<T>>,
                "rput_irregular, rput_regular: destinations must be global_ptr<T> to host memory, not const");
  static_assert(is_trivially_serializable<T>::value,
                "rput_irregular, rput_regular: T must be TriviallySerializable; use rpc() for other types");
  static_assert(std::is_convertible_v<source, T const*>,
                "rput_irregular, rput_regular: sources must convert to T const*, for destinations "
                "of global_ptr<T>");
  check_injection(call);
  // Read before the walk. Nobody receives an empty list, so the initiator is told.
  intrank_t const target = dest_begin == dest_end ? rank_me() : Runs::pointer(*dest_begin).where();
  if (!atl::engine::hosts.is_local(static_cast<std::uint32_t>(target))) [[unlikely]] {
    return detail::take_in(detail::move_runs_remotely<vis_put_events, T, remote_end, private_end>(
        call, target, std::move(src_begin), std::move(src_end), src_runs, std::move(dest_begin),
        std::move(dest_end), dest_runs, detail::handed_over<Cx>(completions)));
  }
  detail::copy_between_ends<T, shared_end, private_end>(call, std::move(src_begin), std::move(src_end),
                                                        src_runs, std::move(dest_begin), std::move(dest_end),
                                                        dest_runs);
  detail::send_remote_completions(target, completions);
  return detail::complete_now<vis_put_events>(std::forward<Cx>(completions));
}

template <class Runs, class SrcIter, class DestIter, class Cx>
auto start_get(char const* call, SrcIter src_begin, SrcIter src_end, Runs src_runs, DestIter dest_begin,
               DestIter dest_end, Runs dest_runs, Cx&& completions) {
  using source = run_pointer<Runs, SrcIter>;
  using dest = run_pointer<Runs, DestIter>;
  static_assert(std::is_pointer_v<dest>,
                "rget_irregular, rget_regular: the destination's runs must begin with raw pointers, T*");
  using T = std::remove_pointer_t<dest>;
  static_assert(!std::is_const_v<T>, "rget_irregular, rget_regular: destinations must not be const");
  static_assert(is_trivially_serializable<T>::value,
                "rget_irregular, rget_regular: T must be TriviallySerializable; use rpc() for other types");
  static_assert(std::is_convertible_v<source, global_ptr<T const>>,
                "rget_irregular, rget_regular: sources must convert to global_ptr<T const> in host memory, "
                "for destinations of T*");
  check_injection(call);
  intrank_t const owner = src_begin == src_end ? rank_me() : Runs::pointer(*src_begin).where();
  if (!atl::engine::hosts.is_local(static_cast<std::uint32_t>(owner))) [[unlikely]] {
    return detail::take_in(detail::move_runs_remotely<vis_get_events, T, private_end, remote_end>(
        call, rank_me(), std::move(src_begin), std::move(src_end), src_runs, std::move(dest_begin),
        std::move(dest_end), dest_runs, detail::handed_over<Cx>(completions)));
  }
  detail::copy_between_ends<T, private_end, shared_end>(call, std::move(src_begin), std::move(src_end),
                                                        src_runs, std::move(dest_begin), std::move(dest_end),
                                                        dest_runs);
  return detail::complete_now<vis_get_events>(std::forward<Cx>(completions));
}

}  // namespace detail

/// Copies runs of private memory into runs of one rank's shared memory.
///
/// @param src_runs_begin   sequence of pair-likes: get<0> converts to T const*, get<1> is the number
///                         of objects.
/// @param dest_runs_begin  sequence of pair-likes: get<0> is a global_ptr<T>, get<1> the number of objects.
/// @return  by the completions asked for (source, remote, operation). Remote completion of an empty list of
///          destinations is delivered to the initiator.
/// @progress  internal. The lists must stay as they are until source completion.
///
/// The objects of the first sequence go, in order, to the places of the second; both have equally many
/// objects, but may be cut into runs differently.
template <typename SrcIter, typename DestIter, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rput_irregular(SrcIter src_runs_begin, SrcIter src_runs_end,
                                           DestIter dest_runs_begin, DestIter dest_runs_end,
                                           Cx&& completions = operation_cx::as_future()) {
  return detail::start_put("rput_irregular", std::move(src_runs_begin), std::move(src_runs_end),
                           detail::irregular_runs{}, std::move(dest_runs_begin), std::move(dest_runs_end),
                           detail::irregular_runs{}, std::forward<Cx>(completions));
}

/// Copies runs of one rank's shared memory into runs of private memory.
///
/// @param src_runs_begin   sequence of pair-likes of global_ptr<T const> (or global_ptr<T>) and number.
/// @param dest_runs_begin  sequence of pair-likes of T* and number.
/// @progress  internal. The lists must stay as they are until operation completion.
template <typename SrcIter, typename DestIter, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rget_irregular(SrcIter src_runs_begin, SrcIter src_runs_end,
                                           DestIter dest_runs_begin, DestIter dest_runs_end,
                                           Cx&& completions = operation_cx::as_future()) {
  return detail::start_get("rget_irregular", std::move(src_runs_begin), std::move(src_runs_end),
                           detail::irregular_runs{}, std::move(dest_runs_begin), std::move(dest_runs_end),
                           detail::irregular_runs{}, std::forward<Cx>(completions));
}

/// Like rput_irregular, with runs of one length on each end: the sequences are of pointers, T const* and
/// global_ptr<T>. Lengths are objects; the products of length and number of runs are equal.
template <typename SrcIter, typename DestIter, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rput_regular(SrcIter src_runs_begin, SrcIter src_runs_end,
                                         std::size_t src_run_length, DestIter dest_runs_begin,
                                         DestIter dest_runs_end, std::size_t dest_run_length,
                                         Cx&& completions = operation_cx::as_future()) {
  return detail::start_put("rput_regular", std::move(src_runs_begin), std::move(src_runs_end),
                           detail::regular_runs{src_run_length}, std::move(dest_runs_begin),
                           std::move(dest_runs_end), detail::regular_runs{dest_run_length},
                           std::forward<Cx>(completions));
}

/// Like rget_irregular, with runs of one length on each end: the sequences are of pointers,
/// global_ptr<T const> and T*.
template <typename SrcIter, typename DestIter, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rget_regular(SrcIter src_runs_begin, SrcIter src_runs_end,
                                         std::size_t src_run_length, DestIter dest_runs_begin,
                                         DestIter dest_runs_end, std::size_t dest_run_length,
                                         Cx&& completions = operation_cx::as_future()) {
  return detail::start_get("rget_regular", std::move(src_runs_begin), std::move(src_runs_end),
                           detail::regular_runs{src_run_length}, std::move(dest_runs_begin),
                           std::move(dest_runs_end), detail::regular_runs{dest_run_length},
                           std::forward<Cx>(completions));
}

/// Copies a box of elements from private memory into shared memory.
///
/// @param src_base,dest_base        the element with index 0 in all dimensions.
/// @param src_strides,dest_strides  for each dimension the bytes (of any sign) from one element to the next.
/// @param extents                    for each dimension the number of elements; one of 0 makes the box empty.
/// @return    by the completions asked for (source, remote, operation).
/// @progress  internal. Strides and extents are read before the call returns.
///
/// The order of the dimensions does not matter. With Dim == 0 one element is copied, and strides and extents
/// are not looked at.
template <std::size_t Dim, typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rput_strided(T const* src_base, std::ptrdiff_t const* src_strides,
                                         global_ptr<T> dest_base, std::ptrdiff_t const* dest_strides,
                                         std::size_t const* extents,
                                         Cx&& completions = operation_cx::as_future()) {
  static_assert(is_trivially_serializable<T>::value,
                "rput_strided: T must be TriviallySerializable; use rpc() to send other types");
  detail::check_injection("rput_strided");
  detail::check_buffer(src_base, "rput_strided", "source");
  T* const dest = detail::address_here(dest_base, 0, "rput_strided", "destination");
  detail::check_strided<T>("rput_strided", "destination's box", dest_base, dest_strides, dest_strides,
                           extents, Dim);
  if (dest == nullptr) [[unlikely]] {
    return detail::take_in(detail::transfer_box_remotely<detail::vis_put_events>(
        "rput_strided", detail::owner_word(dest_base), detail::address_word(dest_base), dest_strides,
        detail::owner_word(src_base), detail::address_word(src_base), src_strides, extents, Dim, sizeof(T),
        dest_base.where(), detail::handed_over<Cx>(completions)));
  }
  atl::engine::copy_strided(reinterpret_cast<std::byte*>(dest), dest_strides,
                            reinterpret_cast<std::byte const*>(src_base), src_strides, extents, Dim,
                            sizeof(T));
  detail::send_remote_completions(dest_base.where(), completions);
  return detail::complete_now<detail::vis_put_events>(std::forward<Cx>(completions));
}
template <std::size_t Dim, typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rput_strided(T const* src_base,
                                         std::array<std::ptrdiff_t, Dim> const& src_strides,
                                         global_ptr<T> dest_base,
                                         std::array<std::ptrdiff_t, Dim> const& dest_strides,
                                         std::array<std::size_t, Dim> const& extents,
                                         Cx&& completions = operation_cx::as_future()) {
  return upcxx::rput_strided<Dim>(src_base, src_strides.data(), dest_base, dest_strides.data(),
                                  extents.data(), std::forward<Cx>(completions));
}

/// Copies a box of elements from shared memory into private memory. See rput_strided.
///
/// @return    by the completions asked for (operation).
/// @progress  internal. Strides and extents are read before the call returns.
template <std::size_t Dim, typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rget_strided(global_ptr<T const> src_base, std::ptrdiff_t const* src_strides,
                                         T* dest_base, std::ptrdiff_t const* dest_strides,
                                         std::size_t const* extents,
                                         Cx&& completions = operation_cx::as_future()) {
  static_assert(is_trivially_serializable<T>::value,
                "rget_strided: T must be TriviallySerializable; use rpc() to fetch other types");
  detail::check_injection("rget_strided");
  detail::check_buffer(dest_base, "rget_strided", "destination");
  T const* const source = detail::address_here(src_base, 0, "rget_strided", "source");
  detail::check_strided<T const>("rget_strided", "source's box", src_base, src_strides, dest_strides, extents,
                                 Dim);
  if (source == nullptr) [[unlikely]] {
    return detail::take_in(detail::transfer_box_remotely<detail::vis_get_events>(
        "rget_strided", detail::owner_word(dest_base), detail::address_word(dest_base), dest_strides,
        detail::owner_word(src_base), detail::address_word(src_base), src_strides, extents, Dim, sizeof(T),
        rank_me(), detail::handed_over<Cx>(completions)));
  }
  atl::engine::copy_strided(reinterpret_cast<std::byte*>(dest_base), dest_strides,
                            reinterpret_cast<std::byte const*>(source), src_strides, extents, Dim, sizeof(T));
  return detail::complete_now<detail::vis_get_events>(std::forward<Cx>(completions));
}
template <std::size_t Dim, typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rget_strided(global_ptr<T const> src_base,
                                         std::array<std::ptrdiff_t, Dim> const& src_strides, T* dest_base,
                                         std::array<std::ptrdiff_t, Dim> const& dest_strides,
                                         std::array<std::size_t, Dim> const& extents,
                                         Cx&& completions = operation_cx::as_future()) {
  return upcxx::rget_strided<Dim>(src_base, src_strides.data(), dest_base, dest_strides.data(),
                                  extents.data(), std::forward<Cx>(completions));
}

}  // namespace upcxx::inline UPCXX_MODE
