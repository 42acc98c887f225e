#pragma once

/// Broadcasts and reductions of values that must be serialised, and operations for them. Not part of the
/// specification's stable interface.

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include <atoll/engine/object_collectives.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/collective_call.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace upcxx::inline UPCXX_MODE {

namespace detail {

struct no_operation {};

/// A value on its way through a collective of objects, as the engine sees it.
template <class T, class Op = no_operation>
class object_buffer {
 public:
  using result_type = deserialized_type_t<T>;

  template <class U, class O>
  object_buffer(U&& value, O&& op) : mine_(std::forward<U>(value)), op_(std::forward<O>(op)) {}

  struct result {
    result_type held;
    result_type& value() { return held; }
  };
  result take() {
    if (arrived_) return {std::move(*arrived_)};
    if constexpr (std::is_same_v<result_type, T>) {
      return {std::move(*mine_)};
    } else {
      return {serialization_traits<T>::deserialized_value(*mine_)};
    }
  }
  /// The same for one of several, perhaps at the same time.
  result copy() const {
    if (arrived_) return {*arrived_};
    if constexpr (std::is_same_v<result_type, T>) {
      return {*mine_};
    } else {
      return {serialization_traits<T>::deserialized_value(*mine_)};
    }
  }

 private:
  static object_buffer& of(void* self) { return *static_cast<object_buffer*>(self); }

  atl::engine::object_functions::packed serialized() {
    bytes_ = {};
    writer w(nullptr, 0, 0, &atl::serialization::heap_buffer::grow, &bytes_);
    std::size_t const bound = detail::bound_after(0, *mine_);
    w.ensure_capacity(bound != npos ? bound : 512);
    detail::serialize(w, *mine_);
    return {w.begin(), w.size(), w.max_alignment()};
  }
  // In whichever rank's progress these run, an exception out of the program's functions has nowhere to go.
  static atl::engine::object_functions::packed pack(void* self) noexcept try {
    auto& b = of(self);
    return b.packed_ahead_ ? *b.packed_ahead_ : b.serialized();
  } catch (...) {
    atl::rt::exception_left("the serialization of a reduction's value");
  }
  static void replace(void* self, std::byte const* data, std::size_t bytes) noexcept try {
    reader r(data, 0, bytes);
    of(self).arrived_.emplace(detail::read_value<T>(r));
  } catch (...) {
    atl::rt::exception_left("the deserialization of a collective's value");
  }
  static void combine(void* self, std::byte const* data, std::size_t bytes) noexcept try {
    if constexpr (!std::is_same_v<Op, no_operation>) {
      auto& b = of(self);
      reader r(data, 0, bytes);
      T theirs = detail::read_value<T>(r);
      if constexpr (std::is_invocable_r_v<T, Op&, T, T>) {
        T combined = b.op_(std::move(*b.mine_), std::move(theirs));
        b.mine_.emplace(std::move(combined));
      } else {
        T combined = b.op_(std::as_const(*b.mine_), theirs);
        b.mine_.emplace(std::move(combined));
      }
    }
  } catch (...) {
    atl::rt::exception_left("the operation of a reduction");
  }

 public:
  /// Serialises the value before the collective begins, so that an exception leaves nothing begun.
  void pack_ahead() { packed_ahead_ = serialized(); }

  static constexpr atl::engine::object_functions functions{&pack, &replace, &combine};

 private:
  std::optional<T> mine_;
  std::optional<result_type> arrived_;  ///< in place of `mine_`
  atl::serialization::heap_buffer bytes_;
  std::optional<atl::engine::object_functions::packed> packed_ahead_;  ///< in `bytes_`, which may move
  [[no_unique_address]] Op op_;
};

template <class T, class Op, class Cx>
auto reduce_object(T&& value, Op&& op, intrank_t root, team const& over, Cx&& completions, char const* what) {
  using type = std::remove_cvref_t<T>;
  using operation = std::decay_t<Op>;
  static_assert(is_serializable<type>::value, "reduce_*_nontrivial: T must be Serializable");
  static_assert(
      !carries_view<type>(),
      "reduce_*_nontrivial: a view, or what contains one, would look into a message that nobody keeps; "
      "reduce containers");
  static_assert(std::is_same_v<deserialized_type_t<type>, type>,
                "reduce_*_nontrivial: T must arrive as a T: its serialization may not be asymmetric");
  static_assert(std::is_invocable_r_v<type, operation&, type, type> ||
                    std::is_invocable_r_v<type, operation&, type const&, type&>,
                "reduce_*_nontrivial: the operation must be callable with two T and give a T");
  check_collective(what);
  using buffer = object_buffer<type, operation>;
  return detail::start_collective<type_list<type>>(
      std::forward<Cx>(completions), buffer(std::forward<T>(value), std::forward<Op>(op)),
      [&](buffer& b, atl::engine::on_done done) {
        atl::engine::start_reduce_object(detail_team_access::view(over), buffer::functions, &b, root, done);
      });
}

}  // namespace detail

namespace experimental {

/// The root's `value` on every member, like `broadcast`, for Serializable types.
///
/// @param value  ignored on other ranks than `root`. Serialised once, on the root, before the call returns.
///               What its serialization throws leaves the call, and nothing has begun: the root may call again.
/// @param root   rank in `team`, the same on all members.
/// @return       by the completions asked for; by default a future of what the value arrives as.
/// @progress     internal.
template <typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto broadcast_nontrivial(T&& value, intrank_t root, team const& team = world(),
                                                 Cx&& completions = operation_cx::as_future()) {
  using type = std::remove_cvref_t<T>;
  static_assert(is_serializable<type>::value, "broadcast_nontrivial: T must be Serializable");
  static_assert(
      !detail::carries_view<type>(),
      "broadcast_nontrivial: a view, or what contains one, would look into a message that nobody keeps; "
      "broadcast a container");
  detail::check_collective("broadcast_nontrivial");
  detail::check_root(root, team, "broadcast_nontrivial");
  using buffer = detail::object_buffer<type>;
  buffer held(std::forward<T>(value), detail::no_operation{});
  if (root == team.rank_me() && team.rank_n() > 1) held.pack_ahead();
  return detail::start_collective<detail::type_list<deserialized_type_t<type>>>(
      std::forward<Cx>(completions), std::move(held), [&](buffer& b, atl::engine::on_done done) {
        atl::engine::start_broadcast_object(detail_team_access::view(team), buffer::functions, &b, root,
                                            done);
      });
}

/// Combines every member's `value` with `op` on `root`, like `reduce_one`, for Serializable types that arrive
/// as themselves. `op` and their serialization run at any progress level, may not call the library, and may not throw.
///
/// @return    by the completions asked for; by default a future of the result, of an unspecified T elsewhere.
/// @progress  internal.
template <typename T, typename BinaryOp, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto reduce_one_nontrivial(T&& value, BinaryOp&& op, intrank_t root,
                                                  team const& team = world(),
                                                  Cx&& completions = operation_cx::as_future()) {
  detail::check_root(root, team, "reduce_one_nontrivial");
  return detail::reduce_object(std::forward<T>(value), std::forward<BinaryOp>(op), root, team,
                               std::forward<Cx>(completions), "reduce_one_nontrivial");
}
/// The same on all members, which all get the result of one order of combining.
template <typename T, typename BinaryOp, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto reduce_all_nontrivial(T&& value, BinaryOp&& op, team const& team = world(),
                                                  Cx&& completions = operation_cx::as_future()) {
  return detail::reduce_object(std::forward<T>(value), std::forward<BinaryOp>(op), -1, team,
                               std::forward<Cx>(completions), "reduce_all_nontrivial");
}

/// Operations for any type that has the operator: unlike those of `op_fast_*`, not only for arithmetic ones.
inline constexpr auto op_add = []<class T>(T a, T b) -> T { return std::move(a) + std::move(b); };
inline constexpr auto op_mul = []<class T>(T a, T b) -> T { return std::move(a) * std::move(b); };
inline constexpr auto op_min = []<class T>(T a, T b) -> T { return b < a ? std::move(b) : std::move(a); };
inline constexpr auto op_max = []<class T>(T a, T b) -> T { return a < b ? std::move(b) : std::move(a); };
inline constexpr auto op_bit_and = []<class T>(T a, T b) -> T { return std::move(a) & std::move(b); };
inline constexpr auto op_bit_or = []<class T>(T a, T b) -> T { return std::move(a) | std::move(b); };
inline constexpr auto op_bit_xor = []<class T>(T a, T b) -> T { return std::move(a) ^ std::move(b); };

}  // namespace experimental

}  // namespace upcxx::inline UPCXX_MODE
