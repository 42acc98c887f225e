#pragma once

/// Promises: the producer's side of a future.

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/future.hpp>
#include <upcxx/detail/future/value_cell.hpp>
#include <upcxx/detail/type_list.hpp>

namespace upcxx::inline UPCXX_MODE {

namespace detail {
/// One argument that is the tuple of all results, and no result itself.
template <class Results, class... U>
inline constexpr bool unpacks = false;
template <class Results, class Tuple, class U>
inline constexpr bool is_all_results = false;
template <class... T, class... V, class U>
requires(sizeof...(T) ==
         sizeof...(V)) inline constexpr bool is_all_results<type_list<T...>, std::tuple<V...>, U> =
    sizeof...(T) != 1 || !(std::is_constructible_v<T, U> && ...);
template <class... T, class U>
inline constexpr bool unpacks<type_list<T...>, U> =
    is_all_results<type_list<T...>, std::remove_cvref_t<U>, U&&>;
}  // namespace detail

/// Producer's handle to a state with results `T...` and a count of dependencies, initially 1.
///
/// The state becomes ready when the count reaches 0; the call that does it runs all callbacks before it
/// returns. Copies are handles to the same state, hence all mutators are const. Dropping the last promise
/// unfulfilled is legal and silent: pending callbacks end without having run.
///
/// @progress  none.
/// @see       UPC++ v1.0 specification, chapter on futures and promises.
template <class... T>
class promise {
  static_assert((!std::is_void_v<T> && ...),
                "promise: an element type cannot be void; a promise without values is promise<>");

 public:
  /// A new state that waits for `dependency_count` >= 1 fulfilments.
  promise(std::intptr_t dependency_count = 1) noexcept
      : bits_(detail::as_bits(
            detail::new_cell<detail::value_cell<T...>>(dependency_count, detail::unfulfilled_flags<T...>))) {
    ATOLL_CHECK(dependency_count >= 1,
                "promise: the dependency count at the start must be at least one dependency, not %ld",
                static_cast<long>(dependency_count));
  }

  promise(promise const& other) noexcept : bits_(other.bits_) {
    if (detail::is_cell(bits_)) {
      detail::fut::retain(detail::as_cell(bits_));
    }
  }
  /// `other` may afterwards only be assigned to or destroyed.
  promise(promise&& other) noexcept : bits_(std::exchange(other.bits_, detail::never_state)) {}
  promise& operator=(promise const& other) noexcept {
    promise(other).swap(*this);
    return *this;
  }
  promise& operator=(promise&& other) noexcept {
    promise(std::move(other)).swap(*this);
    return *this;
  }
  ~promise() {
    if (detail::is_cell(bits_)) {
      detail::release_typed<T...>(detail::as_cell(bits_));
    }
  }

  void swap(promise& other) noexcept { std::swap(bits_, other.bits_); }

  /// Adds `count` >= 0 dependencies to a promise that is not fulfilled.
  void require_anonymous(std::intptr_t count) const noexcept {
    ATOLL_CHECK(count >= 0, "promise::require_anonymous: the count must not be negative: %ld",
                static_cast<long>(count));
    open_cell()->deps += count;
  }

  /// Supplies the results, constructed in place from the arguments, and removes one dependency. Once only.
  /// A tuple of all results does as well.
  template <class... U>
  requires(detail::unpacks<detail::type_list<T...>, U...>) void fulfill_result(
      U&&... results) const noexcept {
    std::apply([this](auto&&... v) { this->fulfill_result(std::forward<decltype(v)>(v)...); },
               std::forward<U>(results)...);
  }
  template <class... U>
  void fulfill_result(U&&... results) const noexcept {
    static_assert(sizeof...(U) == sizeof...(T),
                  "promise::fulfill_result: needs one argument for each element of the promise");
    if constexpr (sizeof...(U) == sizeof...(T)) {
      constexpr bool constructible = (std::is_constructible_v<T, U&&> && ...);
      static_assert(constructible,
                    "promise::fulfill_result: an element cannot be constructed from its argument");
      if constexpr (constructible) {
        auto* const state = static_cast<detail::value_cell<T...>*>(open_cell());
        ATOLL_CHECK(!(state->flags & detail::fut::has_result),
                    "promise::fulfill_result: the results can be supplied only once; give each operation "
                    "with a value a promise of its own");
        state->construct(std::in_place, std::forward<U>(results)...);
        detail::fut::satisfy(state, 1);
      }
    }
  }

  /// Removes `count` >= 0 dependencies.
  void fulfill_anonymous(std::intptr_t count) const noexcept {
    detail::cell* const state = open_cell();
    ATOLL_CHECK(count >= 0, "promise::fulfill_anonymous: the count must not be negative: %ld",
                static_cast<long>(count));
    ATOLL_CHECK(
        count <= state->deps,
        "promise::fulfill_anonymous: %ld dependencies are fulfilled, but the promise has fewer dependencies: "
        "%ld. Count each require_anonymous, each operation, and the one of its construction (finalize)",
        static_cast<long>(count), static_cast<long>(state->deps));
    ATOLL_CHECK(count != state->deps || !(state->flags & detail::fut::wants_result),
                "promise: this would complete a promise whose results were not supplied (fulfill_result)");
    if (count != 0) {
      detail::fut::satisfy(state, count);
    }
  }

  /// A future for this state. Never allocates.
  future<T...> get_future() const noexcept {
    ATOLL_CHECK(detail::is_cell(bits_), "promise: it is used after it was moved from");
    detail::fut::retain(detail::certain_cell(bits_));
    return detail::handle_access::adopt<future<T...>>(bits_);
  }

  /// `fulfill_anonymous(1)`, then `get_future()`.
  future<T...> finalize() const noexcept {
    future<T...> result = get_future();  // first: a callback may end this handle
    fulfill_anonymous(1);
    return result;
  }

 private:
  friend struct detail::handle_access;
  struct adopt_t {};

  promise(adopt_t, detail::state_bits bits) noexcept : bits_(bits) {}

  detail::cell* open_cell() const noexcept {
    ATOLL_CHECK(detail::is_cell(bits_), "promise: it is used after it was moved from");
    detail::cell* const state = detail::certain_cell(bits_);
    ATOLL_CHECK(
        state->deps > 0,
        "promise: a fulfilled promise cannot be changed any more, and no operation can be given it (finalize "
        "ends it: use finalize after the last operation)");
    return state;
  }

  detail::state_bits bits_;
};

static_assert(sizeof(promise<int>) == sizeof(void*));
static_assert(!std::is_trivially_copyable_v<promise<>>);

template <class... T>
void swap(promise<T...>& a, promise<T...>& b) noexcept {
  a.swap(b);
}

}  // namespace upcxx::inline UPCXX_MODE
