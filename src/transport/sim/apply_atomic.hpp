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

/// What a word of type T holds after an operation, if it held `seen` before; all as bits. `first` and `second`: the
/// operands.
template <class T>
std::uint64_t value_after_as(atomic_op op, std::uint64_t seen, std::uint64_t first, std::uint64_t second) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  auto const as_value = [](std::uint64_t from) {
    T value;
    std::memcpy(&value, &from, sizeof value);
    return value;
  };
  T const now = as_value(seen);
  T const operand = as_value(first);
  T next = now;
  switch (op) {
    case atomic_op::load:
      break;
    case atomic_op::store:
    case atomic_op::exchange:
      next = operand;
      break;
    case atomic_op::compare_exchange:
      if (static_cast<bits>(seen) == static_cast<bits>(first)) next = as_value(second);
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
  std::uint64_t after = 0;
  std::memcpy(&after, &next, sizeof next);
  return after;
}

inline std::uint64_t value_after(atomic_op op, atomic_type type, std::uint64_t seen, std::uint64_t first,
                                 std::uint64_t second) {
  switch (type) {
    case atomic_type::int32:
      return value_after_as<std::int32_t>(op, seen, first, second);
    case atomic_type::uint32:
      return value_after_as<std::uint32_t>(op, seen, first, second);
    case atomic_type::int64:
      return value_after_as<std::int64_t>(op, seen, first, second);
    case atomic_type::uint64:
      return value_after_as<std::uint64_t>(op, seen, first, second);
    case atomic_type::float32:
      return value_after_as<float>(op, seen, first, second);
    case atomic_type::float64:
      return value_after_as<double>(op, seen, first, second);
  }
  return seen;
}

// Words of memory that processors use, too. Acquire and release, as programs may ask of atomic operations.

inline std::uint64_t read_word(std::byte* at, std::size_t bytes) {
  if (bytes == 4) {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at)).load(std::memory_order_acquire);
  }
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).load(std::memory_order_acquire);
}
inline void write_word(std::byte* at, std::size_t bytes, std::uint64_t value) {
  if (bytes == 4) {
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at))
        .store(static_cast<std::uint32_t>(value), std::memory_order_release);
  } else {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(value, std::memory_order_release);
  }
}
/// True: it held `seen`, and holds `value` now. Else `seen` is what it holds.
inline bool exchange_word(std::byte* at, std::size_t bytes, std::uint64_t& seen, std::uint64_t value) {
  if (bytes == 4) {
    auto expected = static_cast<std::uint32_t>(seen);
    bool const done = std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at))
                          .compare_exchange_weak(expected, static_cast<std::uint32_t>(value),
                                                 std::memory_order_acq_rel, std::memory_order_acquire);
    seen = expected;
    return done;
  }
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at))
      .compare_exchange_weak(seen, value, std::memory_order_acq_rel, std::memory_order_acquire);
}

/// Does it, atomically with whatever processors do to the word. Returns the value before.
inline std::uint64_t apply_atomic(std::byte* at, atomic_op op, atomic_type type, std::uint64_t first,
                                  std::uint64_t second) {
  std::size_t const bytes = bytes_of(type);
  std::uint64_t seen = read_word(at, bytes);
  while (op != atomic_op::load &&
         !exchange_word(at, bytes, seen, value_after(op, type, seen, first, second))) {
  }
  return seen;
}

}  // namespace atl::transport::sim
