#pragma once

/// Barriers, broadcasts and reductions. Specification chapter "Collectives".
///
/// All are collective over a team: its members start them in the same order, from the thread that holds the
/// master persona, outside callbacks. Apart from barriers none of them synchronises.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include <atoll/engine/collectives.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/collective_call.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace upcxx::inline UPCXX_MODE {

/// Waits until every member of `team` has entered. Does not wait for outstanding operations, but runs the calls
/// (rpc, rpc_ff, remote_cx::as_rpc) that members of this host had sent to the caller before they entered.
/// The specification does not promise that; see docs/reference/conformance.md.
///
/// @progress  user.
inline void barrier(team const& team = world()) {
  detail::check_collective("barrier");
  atl::rt::barrier(detail_team_access::view(team));
}

/// Completes when every member of `team` has entered.
///
/// @return    by the completions asked for; by default a future without values.
/// @progress  internal.
template <typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto barrier_async(team const& team = world(),
                                          Cx&& completions = operation_cx::as_future()) {
  detail::check_collective("barrier_async");
  return detail::start_collective<detail::type_list<>>(
      std::forward<Cx>(completions), detail::no_buffer{}, [&](detail::no_buffer&, atl::engine::on_done done) {
        atl::engine::start_barrier(detail_team_access::view(team), done);
      });
}

/// The root's `value` on every member.
///
/// @param value  TriviallySerializable; ignored on other ranks than `root`.
/// @param root   rank in `team`, the same on all members.
/// @return       by the completions asked for; by default a future of the root's value.
/// @progress     internal.
template <typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto broadcast(T value, intrank_t root, team const& team = world(),
                                      Cx&& completions = operation_cx::as_future()) {
  static_assert(is_trivially_serializable<T>::value,
                "broadcast: T must be TriviallySerializable; for others there is "
                "upcxx::experimental::broadcast_nontrivial");
  detail::check_collective("broadcast");
  detail::check_root(root, team, "broadcast");
  return detail::start_collective<detail::type_list<T>>(
      std::forward<Cx>(completions), detail::value_buffer<T>(value),
      [&](detail::value_buffer<T>& buffer, atl::engine::on_done done) {
        atl::engine::start_broadcast(detail_team_access::view(team), buffer.data(), sizeof(T), root, done);
      });
}

/// The root's `buffer[0..count)` in the buffer of every member.
///
/// @param buffer  `count` contiguous TriviallySerializable objects; in use until operation completion,
///                which on the root says that it may be reused and elsewhere that the data is there.
/// @progress      internal.
template <typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto broadcast(T* buffer, std::size_t count, intrank_t root,
                                      team const& team = world(),
                                      Cx&& completions = operation_cx::as_future()) {
  static_assert(is_trivially_serializable<T>::value,
                "broadcast: T must be TriviallySerializable; for others there is "
                "upcxx::experimental::broadcast_nontrivial");
  static_assert(!std::is_const_v<T>,
                "broadcast: the buffer is written on all ranks but the root; it must not be const");
  detail::check_collective("broadcast");
  detail::check_root(root, team, "broadcast");
  detail::check_collective_buffer(buffer, count, "broadcast", "buffer");
  return detail::start_collective<detail::type_list<>>(
      std::forward<Cx>(completions), detail::no_buffer{}, [&](detail::no_buffer&, atl::engine::on_done done) {
        atl::engine::start_broadcast(detail_team_access::view(team), buffer, count * sizeof(T), root, done);
      });
}

namespace detail {

/// bool: add and max are or, mul and min are and.
template <class T>
inline constexpr bool is_bool_v = std::is_same_v<std::remove_cv_t<T>, bool>;

struct fast_add {
  template <class T>
  constexpr T operator()(T a, T b) const {
    static_assert(std::is_arithmetic_v<T>,
                  "op_fast_add: the type must be arithmetic; use a lambda for others");
    if constexpr (is_bool_v<T>) {
      return a || b;
    } else {
      return static_cast<T>(a + b);
    }
  }
};
struct fast_mul {
  template <class T>
  constexpr T operator()(T a, T b) const {
    static_assert(std::is_arithmetic_v<T>,
                  "op_fast_mul: the type must be arithmetic; use a lambda for others");
    if constexpr (is_bool_v<T>) {
      return a && b;
    } else {
      return static_cast<T>(a * b);
    }
  }
};
struct fast_min {
  template <class T>
  constexpr T operator()(T a, T b) const {
    static_assert(std::is_arithmetic_v<T>,
                  "op_fast_min: the type must be arithmetic; use a lambda for others");
    return b < a ? b : a;
  }
};
struct fast_max {
  template <class T>
  constexpr T operator()(T a, T b) const {
    static_assert(std::is_arithmetic_v<T>,
                  "op_fast_max: the type must be arithmetic; use a lambda for others");
    return a < b ? b : a;
  }
};
struct fast_bit_and {
  template <class T>
  constexpr T operator()(T a, T b) const {
    static_assert(std::is_integral_v<T>, "op_fast_bit_and: the type must be integral");
    return static_cast<T>(a & b);
  }
};
struct fast_bit_or {
  template <class T>
  constexpr T operator()(T a, T b) const {
    static_assert(std::is_integral_v<T>, "op_fast_bit_or: the type must be integral");
    return static_cast<T>(a | b);
  }
};
struct fast_bit_xor {
  template <class T>
  constexpr T operator()(T a, T b) const {
    static_assert(std::is_integral_v<T>, "op_fast_bit_xor: the type must be integral");
    return static_cast<T>(a ^ b);
  }
};

}  // namespace detail

inline constexpr detail::fast_add op_fast_add{};          ///< binary +
inline constexpr detail::fast_mul op_fast_mul{};          ///< binary *
inline constexpr detail::fast_min op_fast_min{};          ///< std::min
inline constexpr detail::fast_max op_fast_max{};          ///< std::max
inline constexpr detail::fast_bit_and op_fast_bit_and{};  ///< &
inline constexpr detail::fast_bit_or op_fast_bit_or{};    ///< |
inline constexpr detail::fast_bit_xor op_fast_bit_xor{};  ///< ^

namespace detail {

/// What members compare: a predefined operation on a type. 0: one of the program's own.
template <class T, class Op>
constexpr std::uint8_t operation_code() {
  if constexpr (!std::is_arithmetic_v<T>) {
    return 0;
  } else {
    constexpr bool known[] = {std::is_same_v<Op, fast_add>,     std::is_same_v<Op, fast_mul>,
                              std::is_same_v<Op, fast_min>,     std::is_same_v<Op, fast_max>,
                              std::is_same_v<Op, fast_bit_and>, std::is_same_v<Op, fast_bit_or>,
                              std::is_same_v<Op, fast_bit_xor>};
    int const type = is_bool_v<T> ? 0 : std::is_floating_point_v<T> ? 3 : std::is_signed_v<T> ? 1 : 2;
    int const size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : sizeof(T) == 8 ? 3 : 4;
    for (int i = 0; i < 7; ++i) {
      if (known[i]) return static_cast<std::uint8_t>(1 + i * 20 + type * 5 + size);
    }
    return 0;
  }
}

template <class T, class Op>
constexpr void check_reduction() {
  static_assert(is_trivially_serializable<T>::value,
                "reduce: T must be TriviallySerializable; for others there is "
                "upcxx::experimental::reduce_all_nontrivial");
  static_assert(std::is_invocable_r_v<T, std::decay_t<Op>&, T&, T const&> ||
                    std::is_invocable_r_v<T, std::decay_t<Op>&, T const&, T&>,
                "reduce: the operation must be callable with two T and give a T");
}

template <class T, class Op, class Cx>
auto reduce_value(T const& value, Op&& op, intrank_t root, team const& team, Cx&& completions,
                  char const* what) {
  check_reduction<T, Op>();
  check_collective(what);
  using buffer = reduce_buffer<T, std::decay_t<Op>>;
  return detail::start_collective<type_list<T>>(
      std::forward<Cx>(completions), buffer(value, std::forward<Op>(op)),
      [&](buffer& b, atl::engine::on_done done) {
        atl::engine::start_reduce(detail_team_access::view(team), b.data(), b.data(), 1, sizeof(T),
                                  &combine<T, std::decay_t<Op>>, b.operation(), root, done,
                                  operation_code<T, std::decay_t<Op>>());
      });
}

template <class T, class Op, class Cx>
auto reduce_array(T const* src, T* dst, std::size_t count, Op&& op, intrank_t root, team const& team,
                  Cx&& completions, char const* what) {
  check_reduction<T, Op>();
  check_collective(what);
  using buffer = operation_buffer<std::decay_t<Op>>;
  bool const result_here = root < 0 || root == team.rank_me();  // elsewhere dst is ignored
  detail::check_collective_buffer(src, count, what, "source");
  if (result_here) {
    detail::check_collective_buffer(dst, count, what, "destination");
    detail::check_disjoint<T>(dst, src, count, what);
  }
  return detail::start_collective<type_list<>>(
      std::forward<Cx>(completions), buffer(std::in_place, std::forward<Op>(op)),
      [&](buffer& b, atl::engine::on_done done) {
        atl::engine::start_reduce(detail_team_access::view(team), src, result_here ? dst : nullptr, count,
                                  sizeof(T), &combine<T, std::decay_t<Op>>, b.operation(), root, done,
                                  operation_code<T, std::decay_t<Op>>());
      });
}

}  // namespace detail

/// Combines every member's `value` with `op` on `root`.
///
/// @param op    function object, associative and commutative on T.
/// @param root  rank in `team`, the same on all members.
/// @return      by the completions asked for; by default a future of the result,
///              of an unspecified T elsewhere.
/// @progress    internal.
template <typename T, typename BinaryOp, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto reduce_one(T value, BinaryOp&& op, intrank_t root, team const& team = world(),
                                       Cx&& completions = operation_cx::as_future()) {
  detail::check_root(root, team, "reduce_one");
  return detail::reduce_value<T>(value, std::forward<BinaryOp>(op), root, team, std::forward<Cx>(completions),
                                 "reduce_one");
}
/// Combines every member's `value` with `op` on all members, which all get the result of one order of
/// combining: the same bits.
template <typename T, typename BinaryOp, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto reduce_all(T value, BinaryOp&& op, team const& team = world(),
                                       Cx&& completions = operation_cx::as_future()) {
  return detail::reduce_value<T>(value, std::forward<BinaryOp>(op), -1, team, std::forward<Cx>(completions),
                                 "reduce_all");
}
/// Combines arrays element by element into `dst` on `root`. `src` and `dst` are equal or disjoint; both are
/// in use until operation completion; `dst` is ignored elsewhere.
template <typename T, typename BinaryOp, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto reduce_one(T const* src, T* dst, std::size_t count, BinaryOp&& op, intrank_t root,
                                       team const& team = world(),
                                       Cx&& completions = operation_cx::as_future()) {
  detail::check_root(root, team, "reduce_one");
  return detail::reduce_array<T>(src, dst, count, std::forward<BinaryOp>(op), root, team,
                                 std::forward<Cx>(completions), "reduce_one");
}
/// Combines arrays element by element into `dst` on all members, which all get the same bits. Members may be combined in
/// another order for one part of an array than for another: sums of equal floating numbers can differ there by rounding.
template <typename T, typename BinaryOp, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto reduce_all(T const* src, T* dst, std::size_t count, BinaryOp&& op,
                                       team const& team = world(),
                                       Cx&& completions = operation_cx::as_future()) {
  return detail::reduce_array<T>(src, dst, count, std::forward<BinaryOp>(op), -1, team,
                                 std::forward<Cx>(completions), "reduce_all");
}

}  // namespace upcxx::inline UPCXX_MODE
