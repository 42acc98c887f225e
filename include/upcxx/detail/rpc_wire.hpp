#pragma once

/// How the function and the arguments of an rpc travel, and what they are at the target.

#include <cstdint>
#include <type_traits>
#include <utility>

#include <atoll/engine/token.hpp>
#include <upcxx/detail/completion_items.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/lpc.hpp>
#include <upcxx/future.hpp>
#include <upcxx/fwd.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

template <class T>
inline constexpr bool is_dist_object_v = false;
template <class T>
inline constexpr bool is_dist_object_v<dist_object<T>> = true;

// ---- the function
// ----------------------------------------------------------------------------------------------

/// A function pointer on the wire: it names the function, not an address.
template <class Pointer>
struct function_name {
  atl::engine::function_token token;
  Pointer here() const { return reinterpret_cast<Pointer>(atl::engine::resolve(token)); }
};

template <class F>
inline constexpr bool is_function_pointer_v =
    std::is_pointer_v<F>&& std::is_function_v<std::remove_pointer_t<F>>;

template <class F>
struct wire_function {
  static_assert(
      !std::is_member_pointer_v<F>,
      "rpc: a pointer to a member cannot be the function, as it means nothing in another process: pass a "
      "lambda that takes the object as an argument");
  static constexpr bool ok = is_serializable<F>::value && !std::is_member_pointer_v<F>;
  static_assert(
      ok || std::is_member_pointer_v<F>,
      "rpc: this function object cannot be sent. A lambda may capture only trivially copyable values by "
      "value; pass everything else (strings, vectors, ...) as arguments of the rpc");
  using type = F;
  using arrived = mapped_t<F>;
  static F const& send(F const& function) { return function; }
  static arrived& receive(arrived& function) { return function; }
};
template <class F>
requires is_function_pointer_v<F>
struct wire_function<F> {
  static constexpr bool ok = true;
  using type = function_name<F>;
  using arrived = F;
  static type send(F function) { return {atl::engine::token_of(reinterpret_cast<void const*>(function))}; }
  static F receive(type const& name) { return name.here(); }
};

// ---- arguments
// -------------------------------------------------------------------------------------------------

/// An ordinary argument: serialised, and an rvalue at the target.
template <class T>
struct wire_argument {
  static_assert(
      !std::is_array_v<T>,
      "rpc: an array cannot be an argument; send a std::array, a std::string (for literals) or a view");
  static_assert(!is_future_v<T>, "rpc: a future cannot be an argument; send its value, inside then()");
  static_assert(std::is_array_v<T> || is_future_v<T> || is_serializable<T>::value,
                "rpc: an argument's type is not Serializable; give it UPCXX_SERIALIZED_FIELDS(...) "
                "or a specialisation of upcxx::serialization");
  static constexpr bool explain() {
    if constexpr (std::is_array_v<T> || is_future_v<T>) {
      return false;
    } else {
      return require_serializable<T>::value;
    }
  }
  static constexpr bool ok = explain();
  using type = T;
  using parameter = mapped_t<T>&&;
  static constexpr bool awaited = false;
  static T const& send(T const& object) { return object; }
};
/// A distributed object travels as its id and is the target's instance there;
/// the call waits until that exists.
template <class T>
struct wire_argument<dist_object<T>> {
  static constexpr bool ok = true;
  using type = dist_id<T>;
  using parameter = dist_object<T>&;
  static constexpr bool awaited = true;
  static type send(dist_object<T> const& object) { return object.id(); }
};
/// The same for teams.
template <>
struct wire_argument<team> {
  static constexpr bool ok = true;
  using type = team_id;
  using parameter = team&;
  static constexpr bool awaited = true;
  template <class Team>
  static type send(Team const& object) {
    return object.id();
  }
};

template <class Arg>
using wire_of = wire_argument<std::remove_cvref_t<Arg>>;

/// The target's object for an id.
template <class Id>
decltype(auto) instance_of(Id const& id) {
  return id.here();
}

// ---- the call
// --------------------------------------------------------------------------------------------------

template <class F, class... Args>
using rpc_result_t = call_once_result_t<typename wire_function<std::decay_t<F>>::arrived,
                                        typename wire_of<Args>::parameter...>;

template <class F, class... Args>
concept rpc_callable = std::is_invocable_v<typename wire_function<std::decay_t<F>>::arrived &&,
                                           typename wire_of<Args>::parameter...> ||
                       std::is_invocable_v<typename wire_function<std::decay_t<F>>::arrived&,
                                           typename wire_of<Args>::parameter...>;

/// Wire types of a result, and the values that operation completion carries.
template <class R>
struct rpc_return {
  static_assert(
      !carries_view<R>(),
      "rpc: a callback cannot return a view, nor what contains one: it would look into the answer, which "
      "nobody keeps; return a container");
  static_assert(
      is_serializable<std::remove_cvref_t<R>>::value,
      "rpc: the callback's result is not Serializable; return void or use rpc_ff if it is not needed");
  using wire = type_list<std::remove_cvref_t<R>>;
  using values = type_list<deserialized_type_t<R>>;
};
template <>
struct rpc_return<void> {
  using wire = type_list<>;
  using values = type_list<>;
};
template <class... T>
struct rpc_return<future<T...>> {
  static_assert(
      !(carries_view<T>() || ...),
      "rpc: a callback cannot return a future of a view, nor of what contains one: it would look into the "
      "answer, which nobody keeps; return a future of a container");
  static_assert((is_serializable<std::remove_cvref_t<T>>::value && ...),
                "rpc: a value of the future that the callback returns is not Serializable");
  using wire = type_list<std::remove_cvref_t<T>...>;
  using values = type_list<deserialized_type_t<T>...>;
};
template <class R>
using rpc_return_of =
    rpc_return<std::conditional_t<is_future_v<std::remove_cvref_t<R>>, std::remove_cvref_t<R>, R>>;

}  // namespace upcxx::inline UPCXX_MODE::detail
