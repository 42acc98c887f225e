#pragma once

/// Rounding up to multiples.

#include <atoll/base/config.hpp>

namespace atl {

/// The least multiple of `unit` that is not below `value`; `unit` is not 0.
template <class Value>
constexpr Value round_up(Value value, Value unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

/// The same for a power of two: no division where the unit is not known to the compiler.
template <class Value>
constexpr Value align_up(Value value, Value power_of_two) noexcept {
  return (value + power_of_two - 1) & ~(power_of_two - 1);
}

}  // namespace atl
