// Atomic operations that this rank does for ranks of other hosts on its own cells.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <atoll/engine/rma.hpp>
#include <upcxx/detail/atomic_apply.hpp>
#include <upcxx/detail/remote_atomic.hpp>

#include "upcxx/runtime_state.hpp"

namespace atl::rt {
namespace {

using upcxx::atomic_op;
using upcxx::detail::cell_type;

constexpr std::size_t operations = static_cast<std::size_t>(atomic_op::fetch_dec) + 1;

template <class T, atomic_op Op>
T apply(T* cell, std::memory_order order, T a, T b) {
  if constexpr (upcxx::detail::is_bitwise(Op) && !std::is_integral_v<T>) {
    return T();  // no program compiles that asks for it
  } else {
    return upcxx::detail::apply_atomic<Op>(cell, order, a, b);
  }
}

template <class T>
using function = T (*)(T*, std::memory_order, T, T);
template <class T, std::size_t... I>
constexpr std::array<function<T>, operations> functions_of(std::index_sequence<I...>) {
  return {&apply<T, static_cast<atomic_op>(I)>...};
}

template <class T>
std::uint64_t apply_to(void* cell, engine::atomic_request const& what) {
  static constexpr auto functions = functions_of<T>(std::make_index_sequence<operations>{});
  T a;
  T b;
  std::memcpy(&a, &what.operands[0], sizeof a);
  std::memcpy(&b, &what.operands[1], sizeof b);
  T const before =
      functions[what.operation](static_cast<T*>(cell), static_cast<std::memory_order>(what.order), a, b);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &before, sizeof before);
  return bits;
}

std::uint64_t apply_any(void* cell, engine::atomic_request const& what) noexcept {
  switch (static_cast<cell_type>(what.type)) {
    case cell_type::int32:
      return apply_to<std::int32_t>(cell, what);
    case cell_type::uint32:
      return apply_to<std::uint32_t>(cell, what);
    case cell_type::int64:
      return apply_to<std::int64_t>(cell, what);
    case cell_type::uint64:
      return apply_to<std::uint64_t>(cell, what);
    case cell_type::float32:
      return apply_to<float>(cell, what);
    case cell_type::float64:
      return apply_to<double>(cell, what);
  }
  return 0;
}

}  // namespace

void serve_remote_atomics() noexcept { engine::atomic_applier = &apply_any; }

}  // namespace atl::rt
