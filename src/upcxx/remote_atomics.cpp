// Atomic operations between hosts: those that this rank does for others on its own cells, and what a network is asked for
// that does them instead.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <atoll/engine/rma.hpp>
#include <upcxx/detail/atomic_apply.hpp>
#include <upcxx/detail/remote_atomic.hpp>

#include "engine/rma/network_atomics.hpp"
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

static_assert(static_cast<int>(cell_type::float64) == static_cast<int>(transport::atomic_type::float64));

struct network_name {
  transport::atomic_op op;
  bool fetches;
};

constexpr network_name name_of(atomic_op op) noexcept {
  using enum atomic_op;
  using net = transport::atomic_op;
  switch (op) {
    case load:
      return {net::load, true};
    case store:
      return {net::store, false};
    case compare_exchange:
      return {net::compare_exchange, true};
    case mul:
    case fetch_mul:
      return {net::multiply, op == fetch_mul};
    case min:
    case fetch_min:
      return {net::minimum, op == fetch_min};
    case max:
    case fetch_max:
      return {net::maximum, op == fetch_max};
    case bit_and:
    case fetch_bit_and:
      return {net::bit_and, op == fetch_bit_and};
    case bit_or:
    case fetch_bit_or:
      return {net::bit_or, op == fetch_bit_or};
    case bit_xor:
    case fetch_bit_xor:
      return {net::bit_xor, op == fetch_bit_xor};
    case add:
    case sub:
    case inc:
    case dec:
      return {net::add, false};
    case fetch_add:
    case fetch_sub:
    case fetch_inc:
    case fetch_dec:
      return {net::add, true};
  }
  return {};
}

/// Networks know addition only.
template <class T>
T operand_of(atomic_op op, T given) noexcept {
  using enum atomic_op;
  if (op == inc || op == fetch_inc) return T(1);
  if (op == dec || op == fetch_dec) return T(-1);
  if (op != sub && op != fetch_sub) return given;
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(
        0U - static_cast<std::make_unsigned_t<T>>(given));  // wraps around, as the operation does
  } else {
    return -given;
  }
}

template <class T>
void write_operands(engine::atomic_request const& what, std::byte* to) noexcept {
  T first;
  std::memcpy(&first, &what.operands[0], sizeof first);
  first = operand_of(static_cast<atomic_op>(what.operation), first);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + sizeof(T), &what.operands[1], sizeof(T));
}

engine::network_form translate(engine::atomic_request const& what) noexcept {
  network_name const name = name_of(static_cast<atomic_op>(what.operation));
  engine::network_form form{name.op, static_cast<transport::atomic_type>(what.type), name.fetches, {}};
  switch (static_cast<cell_type>(what.type)) {
    case cell_type::int32:
    case cell_type::uint32:
      write_operands<std::uint32_t>(what, form.operands.data());
      break;
    case cell_type::int64:
    case cell_type::uint64:
      write_operands<std::uint64_t>(what, form.operands.data());
      break;
    case cell_type::float32:
      write_operands<float>(what, form.operands.data());
      break;
    case cell_type::float64:
      write_operands<double>(what, form.operands.data());
      break;
  }
  return form;
}

}  // namespace

void serve_remote_atomics() noexcept {
  engine::atomic_applier = &apply_any;
  engine::network_form_of = &translate;
}

}  // namespace atl::rt
