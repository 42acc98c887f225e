#pragma once

/// Atomic operations on memory that this process can address.
///
/// Integers use the machine's own instructions where it has one; products, minima, maxima and everything on
/// floating-point numbers are loops around compare-and-exchange. Comparing exchanges compares bits, as the
/// specification permits: +0 and -0 differ, and a NaN equals itself.

#include <atomic>
#include <type_traits>

#include <upcxx/detail/config.hpp>

namespace upcxx::inline UPCXX_MODE {

/// What an atomic domain can do. Fetching and other forms are different operations.
enum class atomic_op : int {
  load,
  store,
  compare_exchange,
  add,
  fetch_add,
  sub,
  fetch_sub,
  mul,
  fetch_mul,
  min,
  fetch_min,
  max,
  fetch_max,
  bit_and,
  fetch_bit_and,
  bit_or,
  fetch_bit_or,
  bit_xor,
  fetch_bit_xor,
  inc,
  fetch_inc,
  dec,
  fetch_dec
};

namespace detail {

template <class T>
inline constexpr bool is_atomic_type = (std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)) ||
                                       std::is_same_v<T, float> || std::is_same_v<T, double>;

constexpr bool is_bitwise(atomic_op op) { return op >= atomic_op::bit_and && op <= atomic_op::fetch_bit_xor; }

/// The part of a read-modify-write's order that concerns a load of the same cell.
ATOLL_INLINE std::memory_order load_order(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ? std::memory_order_acquire
                                                                                  : std::memory_order_relaxed;
}

template <class T>
ATOLL_INLINE T wrapping_product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using bits = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<bits>(a) * static_cast<bits>(b));
  } else {
    return a * b;
  }
}

/// Does `Op` on the cell and returns what it held before (0 for store). Orders pair with those of the other
/// atomic operations on the cell, as the program chose them.
template <atomic_op Op, class T>
ATOLL_INLINE T apply_atomic(T* at, std::memory_order order, T a = T(), T b = T()) {
  std::atomic_ref<T> const cell(*at);
  using enum atomic_op;
  if constexpr (Op == load) {
    return cell.load(load_order(order));
  } else if constexpr (Op == store) {
    cell.store(a, order == std::memory_order_release ? std::memory_order_release : std::memory_order_relaxed);
    return T();
  } else if constexpr (Op == compare_exchange) {
    cell.compare_exchange_strong(a, b, order, load_order(order));
    return a;
  } else if constexpr (Op == add || Op == fetch_add) {
    return cell.fetch_add(a, order);
  } else if constexpr (Op == sub || Op == fetch_sub) {
    return cell.fetch_sub(a, order);
  } else if constexpr (Op == inc || Op == fetch_inc) {
    return cell.fetch_add(T(1), order);
  } else if constexpr (Op == dec || Op == fetch_dec) {
    return cell.fetch_sub(T(1), order);
  } else if constexpr (Op == bit_and || Op == fetch_bit_and) {
    return cell.fetch_and(a, order);
  } else if constexpr (Op == bit_or || Op == fetch_bit_or) {
    return cell.fetch_or(a, order);
  } else if constexpr (Op == bit_xor || Op == fetch_bit_xor) {
    return cell.fetch_xor(a, order);
  } else {
    T old = cell.load(load_order(order));
    if constexpr (Op == mul || Op == fetch_mul) {
      while (!cell.compare_exchange_weak(old, detail::wrapping_product(old, a), order, load_order(order)))
        continue;
    } else if constexpr (Op == min || Op == fetch_min) {
      // Nothing is written, and no line taken from other cores, where the cell would keep its value.
      while (a < old && !cell.compare_exchange_weak(old, a, order, load_order(order))) continue;
    } else {
      static_assert(Op == max || Op == fetch_max);
      while (old < a && !cell.compare_exchange_weak(old, a, order, load_order(order))) continue;
    }
    return old;
  }
}

}  // namespace detail
}  // namespace upcxx::inline UPCXX_MODE
