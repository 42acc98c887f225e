#pragma once

/// The remote branch of atomic operations: the cell's owner applies them, with the code of local ones, or the network
/// does, as the domain has chosen for all of them.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <atoll/engine/rma.hpp>
#include <upcxx/detail/atomic_apply.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/remote_transfer.hpp>
#include <upcxx/detail/remote_value.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::rt {
/// "atomic_domain::fetch_add" and the like.
ATOLL_EXPORT ATOLL_COLD char const* atomic_call_name(int operation) noexcept;
}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE::detail {

/// Types of cells on the wire.
enum class cell_type : std::uint8_t { int32, uint32, int64, uint64, float32, float64 };

template <class T>
constexpr cell_type cell_type_of() {
  if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? cell_type::float32 : cell_type::float64;
  } else if constexpr (std::is_signed_v<T>) {
    return sizeof(T) == 4 ? cell_type::int32 : cell_type::int64;
  } else {
    return sizeof(T) == 4 ? cell_type::uint32 : cell_type::uint64;
  }
}

template <class T>
atl::engine::atomic_request atomic_request_for(atomic_op op, atl::engine::atomics_by by,
                                               std::memory_order order, T a, T b) {
  atl::engine::atomic_request request{static_cast<std::uint8_t>(op),
                                      static_cast<std::uint8_t>(order),
                                      sizeof(T),
                                      static_cast<std::uint8_t>(cell_type_of<T>()),
                                      by,
                                      {},
                                      {}};
  std::memcpy(&request.operands[0], &a, sizeof a);
  std::memcpy(&request.operands[1], &b, sizeof b);
  return request;
}

/// Brings the value before.
template <class T, class Cx>
ATOLL_COLD auto fetch_atomic_remotely(atomic_op op, atl::engine::atomics_by by, std::uint32_t rank,
                                      std::uint64_t offset, std::memory_order order, T a, T b, Cx&& cx) {
  return detail::fetch_later<T>(
      atl::rt::atomic_call_name(static_cast<int>(op)),
      [&](atl::engine::remote_start& start) {
        start.atomic({rank, offset}, detail::atomic_request_for(op, by, order, a, b));
      },
      std::forward<Cx>(cx));
}

/// Brings it to `dst`, if that is not null.
template <class T, class Cx>
ATOLL_COLD auto atomic_remotely(atomic_op op, atl::engine::atomics_by by, std::uint32_t rank,
                                std::uint64_t offset, std::memory_order order, T a, T b, T* dst, Cx&& cx) {
  return detail::hand_out_result_of([&] {
    if constexpr (wants_only_promise<Cx>) {
      if (detail::join_others(cx, [&](auto* all, bool fresh) {
            return atl::engine::join_atomic(all, fresh, atl::rt::atomic_call_name(static_cast<int>(op)),
                                            {rank, offset}, detail::atomic_request_for(op, by, order, a, b),
                                            dst);
          }))
        return;
    }
    return detail::transfer_later<operation_events<false, false, true>>(
        atl::rt::atomic_call_name(static_cast<int>(op)), static_cast<std::int32_t>(rank), false, false,
        [&](atl::engine::remote_start& start, atl::engine::arrival_notice const&) {
          start.atomic({rank, offset}, detail::atomic_request_for(op, by, order, a, b));
        },
        std::forward<Cx>(cx), dst);
  });
}

}  // namespace upcxx::inline UPCXX_MODE::detail
