#pragma once

/// The names by which some programs reach the operations of reductions; see upcxx::op_fast_* and
/// upcxx::experimental::op_*.

#include <type_traits>

#include <upcxx/collectives.hpp>
#include <upcxx/experimental/collectives.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// An operation: the fast one is for arithmetic types, the other for all that have the operator.
template <class Fast, class General>
struct named_operation {
  template <bool IsFast>
  using as = std::conditional_t<IsFast, Fast, std::remove_const_t<General>>;
};

struct opfn_add : named_operation<fast_add, decltype(experimental::op_add)> {};
struct opfn_mul : named_operation<fast_mul, decltype(experimental::op_mul)> {};
template <bool IsMin>
struct opfn_min_not_max : named_operation<std::conditional_t<IsMin, fast_min, fast_max>,
                                          std::conditional_t<IsMin, decltype(experimental::op_min) const,
                                                             decltype(experimental::op_max) const>> {};
struct opfn_bit_and : named_operation<fast_bit_and, decltype(experimental::op_bit_and)> {};
struct opfn_bit_or : named_operation<fast_bit_or, decltype(experimental::op_bit_or)> {};
struct opfn_bit_xor : named_operation<fast_bit_xor, decltype(experimental::op_bit_xor)> {};

/// Our type of an operation.
template <class Name, bool IsFast = true>
using op_wrap = typename Name::template as<IsFast>;

}  // namespace upcxx::inline UPCXX_MODE::detail
