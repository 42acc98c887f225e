#pragma once

/// One atomic operation on a word of this process, by its processor.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "transport/network_types.hpp"

namespace atl::transport::sim {

/// `first` and `second`: the operands' bits. Returns the bits of the value before.
template <class T>
std::uint64_t apply_atomic_as(std::byte* at, atomic_op op, std::uint64_t first, std::uint64_t second) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  T operand;
  std::memcpy(&operand, &first, sizeof operand);
  std::atomic_ref<bits> word(*reinterpret_cast<bits*>(at));
  bits seen = word.load(std::memory_order_acquire);
  for (;;) {
    T now;
    std::memcpy(&now, &seen, sizeof now);
    T next = now;
    switch (op) {
      case atomic_op::load:
        return seen;
      case atomic_op::store:
      case atomic_op::exchange:
        next = operand;
        break;
      case atomic_op::compare_exchange:
        if (seen != static_cast<bits>(first)) return seen;
        std::memcpy(&next, &second, sizeof next);
        break;
      case atomic_op::add:
      case atomic_op::multiply:
        if constexpr (std::is_integral_v<T>) {
          // Without a sign, so that overflow wraps.
          auto const a = static_cast<bits>(now), b = static_cast<bits>(operand);
          next = static_cast<T>(op == atomic_op::add ? a + b : a * b);
        } else {
          next = op == atomic_op::add ? now + operand : now * operand;
        }
        break;
      case atomic_op::minimum:
        next = std::min(now, operand);
        break;
      case atomic_op::maximum:
        next = std::max(now, operand);
        break;
      case atomic_op::bit_and:
      case atomic_op::bit_or:
      case atomic_op::bit_xor:
        if constexpr (std::is_integral_v<T>) {
          next = static_cast<T>(op == atomic_op::bit_and  ? now & operand
                                : op == atomic_op::bit_or ? now | operand
                                                          : now ^ operand);
        }
        break;
    }
    bits desired;
    std::memcpy(&desired, &next, sizeof desired);
    if (word.compare_exchange_weak(seen, desired, std::memory_order_acq_rel, std::memory_order_acquire)) {
      return seen;
    }
  }
}

inline std::uint64_t apply_atomic(std::byte* at, atomic_op op, atomic_type type, std::uint64_t first,
                                  std::uint64_t second) {
  switch (type) {
    case atomic_type::int32:
      return apply_atomic_as<std::int32_t>(at, op, first, second);
    case atomic_type::uint32:
      return apply_atomic_as<std::uint32_t>(at, op, first, second);
    case atomic_type::int64:
      return apply_atomic_as<std::int64_t>(at, op, first, second);
    case atomic_type::uint64:
      return apply_atomic_as<std::uint64_t>(at, op, first, second);
    case atomic_type::float32:
      return apply_atomic_as<float>(at, op, first, second);
    case atomic_type::float64:
      return apply_atomic_as<double>(at, op, first, second);
  }
  return 0;
}

}  // namespace atl::transport::sim
