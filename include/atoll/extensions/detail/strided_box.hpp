#pragma once

/// The typed strided copy between any two memories: a box of bytes to what copies boxes.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <atoll/extensions/detail/box_copy.hpp>
#include <atoll/extensions/detail/box_runs.hpp>
#include <atoll/extensions/detail/copy_end.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/vis.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// In checked builds, ends the job if the end is null, the runs leave its owner's heap or the allocation, or those of the destination overlap.
template <class T, upcxx::memory_kind Kind>
ATOLL_INLINE void check_strided_end([[maybe_unused]] upcxx::global_ptr<T, Kind> end,
                                    [[maybe_unused]] std::ptrdiff_t const* strides,
                                    [[maybe_unused]] std::ptrdiff_t const* dest_strides,
                                    [[maybe_unused]] std::size_t const* extents,
                                    [[maybe_unused]] std::size_t dimensions,
                                    [[maybe_unused]] std::size_t run_bytes, [[maybe_unused]] char const* role,
                                    [[maybe_unused]] char const* role_of_box) {
  upcxx::detail::check_range(end, 0, "atl::copy_strided", role);
#if ATOLL_CHECKED
  using access = upcxx::detail::global_ptr_access;
  atl::rt::check_strided("atl::copy_strided", role_of_box, access::owner(end), access::address(end), strides,
                         dest_strides, extents, dimensions, run_bytes);
#endif
}
template <class T>
ATOLL_INLINE void check_strided_end(T* end, std::ptrdiff_t const*, std::ptrdiff_t const*, std::size_t const*,
                                    std::size_t, std::size_t, char const* role, char const*) {
  upcxx::detail::check_buffer(end, "atl::copy_strided", role);
}

template <std::size_t Dim, class Source, class Dest, class Cx>
auto copy_strided_box(Source source, std::ptrdiff_t const* source_strides, Dest dest,
                      std::ptrdiff_t const* dest_strides, std::size_t const* extents, Cx&& completions) {
  using T = typename upcxx::detail::run_element<Dest>::type;
  static_assert(!std::is_const_v<T>, "atl::copy_strided: the destination's elements must not be const");
  static_assert(std::is_same_v<std::remove_const_t<typename upcxx::detail::run_element<Source>::type>, T>,
                "atl::copy_strided: both ends must have the same type of element");
  static_assert(upcxx::is_trivially_serializable<T>::value,
                "atl::copy_strided: T must be TriviallySerializable; use rpc() for other types");
  detail::check_strided_end(source, source_strides, dest_strides, extents, Dim, sizeof(T), "source",
                            "source's box");
  detail::check_strided_end(dest, dest_strides, dest_strides, extents, Dim, sizeof(T), "destination",
                            "destination's box");
  // Strides need not be multiples of elements, so the box is one of bytes. Elements are merged to runs again.
  box_dimension box[Dim + 2] = {};
  box[Dim] = {sizeof(T), 1, 1};
  std::ptrdiff_t source_first = 0;
  std::ptrdiff_t dest_first = 0;
  for (std::size_t d = 0; d < Dim; ++d) {
    box[d] = {extents[d], dest_strides[d], source_strides[d]};
    // The destination is written forwards.
    if (box[d].to >= 0 || box[d].extent == 0) continue;
    auto const last = static_cast<std::ptrdiff_t>(extents[d] - 1);
    dest_first += last * box[d].to;
    source_first += last * box[d].from;
    box[d].to = -box[d].to;
    box[d].from = -box[d].from;
  }
  return detail::copy_box<std::byte, Dim + 1>("atl::copy_strided", detail::bytes_at(source, source_first),
                                              detail::bytes_at(dest, dest_first), box,
                                              detail::rank_of_end(dest), std::forward<Cx>(completions));
}

}  // namespace atl::inline UPCXX_MODE::detail
