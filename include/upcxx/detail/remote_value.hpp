#pragma once

/// The remote branch of operations that bring one value: gets of one object, atomics that fetch.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include <atoll/engine/rma.hpp>
#include <upcxx/detail/completion_apart.hpp>
#include <upcxx/detail/completion_items.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/remote_transfer.hpp>
#include <upcxx/detail/send.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// Where the value arrives. T is TriviallySerializable, and so may be copied byte by byte.
template <class T>
struct arriving_value : atl::engine::copy_completion {
  alignas(T) std::byte place[sizeof(T)];

  explicit arriving_value(bool (*when)(atl::engine::copy_completion*) noexcept)
      : atl::engine::copy_completion{when} {}
  template <bool Last>
  std::tuple<T> values() const {
    return std::tuple<T>(detail::another(*std::launder(reinterpret_cast<T const*>(place))));
  }
  void end() noexcept {}
};

/// Starts an operation that brings a T. `begin(start)` says what it does.
template <class T, class Begin, class Cx>
auto fetch_later(char const* call, Begin const& begin, Cx&& cx) {
  using requests = std::remove_cvref_t<Cx>;
  using events = operation_events<false, false, true, type_list<T>>;
  using record = shared_event<events, arriving_value<T>, requests>;
  detail::check_requests<events>(cx);
  atl::engine::remote_start start(call, current_pressure());
  begin(start);
  // From here on nothing can throw: only now are promises touched.
  typename record::futures futures;
  auto* const started =
      new record(std::forward<Cx>(cx), futures, [](atl::engine::copy_completion* completion) noexcept {
        static_cast<record*>(completion)->happened();
        return true;
      });
  start.start(started, started->place);
  return detail::hand_out_pending(
      detail::hand_out_result_of([&] { return detail::unwrap(std::move(futures)); }));
}

/// Gets one object.
template <class T, class Cx>
ATOLL_COLD auto fetch_remotely(char const* call, std::uint64_t owner, std::uint64_t address, Cx&& cx) {
  return detail::fetch_later<T>(
      call,
      [&](atl::engine::remote_start& start) {
        start.contiguous(atl::engine::transfer_end::in_memory(nullptr), end_of(owner, address), sizeof(T));
      },
      std::forward<Cx>(cx));
}

}  // namespace upcxx::inline UPCXX_MODE::detail
