#pragma once

/// What must not be in two objects after a move.

#include <utility>

#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// A value that leaves T{} where it was moved from, unlike a number, whose move is a copy.
template <class T>
struct moved {
  T value{};

  moved() = default;
  moved(T initial) : value(std::move(initial)) {}
  moved(moved&& other) noexcept : value(std::exchange(other.value, T{})) {}
  moved& operator=(moved&& other) noexcept {
    value = std::exchange(other.value, T{});
    return *this;
  }
  ~moved() = default;
};

}  // namespace atl::inline UPCXX_MODE::detail
