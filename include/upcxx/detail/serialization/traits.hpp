#pragma once

/// Which mechanism carries a type, and what arrives on the other side.
///
/// One class template, `codec<T>`, holds everything that the library knows about carrying a `T`. This header
/// finds the mechanism; the headers beside it define the codecs. Users only meet the public traits.

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <upcxx/detail/config.hpp>
#include <upcxx/detail/std_parts.hpp>
#include <upcxx/detail/type_list.hpp>
#include <upcxx/fwd.hpp>

namespace upcxx::inline UPCXX_MODE {

namespace detail {

struct no_codec;

inline constexpr std::size_t npos = static_cast<std::size_t>(-1);

/// How to carry a `T`, which is a complete object type without const and reference. Every codec that has
/// `serializable == true` offers:
///   deserialized_type            what arrives
///   static_bound                 most bytes that one object takes from any start, padding included; or npos
///   bound(start, object)         upper bound of where the object ends when writing begins at `start`; or
///   npos write(writer&, object) read(reader&, void* raw)     constructs the arriving object in raw memory
///   and returns it value(reader&)               the same by value, for what can be moved
template <typename T>
struct codec;

/// The mechanism macros leave a nested type derived from one of these.
struct fields_mechanism {};
struct values_mechanism {};
struct deleted_mechanism {};

template <typename B>
class base_ref;

/// The one friend of classes that use a macro: reaches their constructors and the macro's members.
struct access {
  template <typename T>
  static constexpr bool has_nested = requires {
    typename T::upcxx_serialization;
  };

  // A function, because Clang checks access in an alias template where the alias is used.
  template <typename T>
  static std::type_identity<typename T::upcxx_serialization> find_nested();
  template <typename T>
  using nested = typename decltype(find_nested<T>())::type;

  /// A callable that passes the listed fields or values to a visitor.
  template <typename T>
  static auto parts(T& object) {
    return object.atoll_serialized_parts_();
  }

  template <typename T, typename... Args>
  static constexpr bool constructible_by_parentheses = requires(void* where, Args&&... args) {
    ::new (where) T(std::forward<Args>(args)...);
  };

  template <typename T, typename... Args>
  static constexpr bool constructible_by_braces = requires(void* where, Args&&... args) {
    ::new (where) T{std::forward<Args>(args)...};
  };

  template <typename T, typename... Args>
  static T* construct(void* where, Args&&... args) {
    if constexpr (constructible_by_parentheses<T, Args...>) {
      return ::new (where) T(std::forward<Args>(args)...);
    } else {
      return ::new (where) T{std::forward<Args>(args)...};
    }
  }
  template <typename T, typename... Args>
  static T make(Args&&... args) {
    if constexpr (constructible_by_parentheses<T, Args...>) {
      return T(std::forward<Args>(args)...);
    } else {
      return T{std::forward<Args>(args)...};
    }
  }
};

template <typename T>
concept specialises_serialization = !requires {
  typename serialization<T>::atoll_unspecialised_;
};

/// Some member, perhaps private or ambiguous, is called `upcxx_serialization`: such a class asked for more
/// than a copy of its bytes even when we cannot see for what.
struct name_bait {
  struct upcxx_serialization {};
};
template <typename T>
struct name_probe : T, name_bait {};

template <typename T>
constexpr bool mentions_mechanism() {
  if constexpr (!std::is_class_v<T> && !std::is_union_v<T>) {
    return false;
  } else if constexpr (specialises_serialization<T> || access::has_nested<T>) {
    return true;
  } else if constexpr (std::is_union_v<T> || std::is_final_v<T> || !std::is_trivially_copyable_v<T>) {
    return false;
  } else {
    return !requires { typename name_probe<T>::upcxx_serialization; };
  }
}

/// What `is_trivially_serializable` says of types for which the user did not specialise it.
template <typename T>
struct trivial_by_default {
  static constexpr bool decide() {
    if constexpr (!std::is_object_v<T> || std::is_array_v<T> || std::is_volatile_v<T>) {
      return false;
    } else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
      return !mentions_mechanism<T>() && std::is_trivially_copyable_v<T>;
    } else {
      return true;
    }
  }
  static constexpr bool value = decide();
};

// These stay where they are; `team` and `dist_object` travel as their identity, as arguments of an rpc.
struct never_trivial : std::false_type {};
template <typename... T>
struct trivial_by_default<future<T...>> : never_trivial {};
template <typename... T>
struct trivial_by_default<promise<T...>> : never_trivial {};
template <typename T>
struct trivial_by_default<dist_object<T>> : never_trivial {};
template <>
struct trivial_by_default<persona> : never_trivial {};
template <>
struct trivial_by_default<team> : never_trivial {};

// Trivially copyable, and yet not to be copied as bytes.
template <typename T>
struct trivial_by_default<std::reference_wrapper<T>> : never_trivial {};
template <typename T, typename Iter>
struct trivial_by_default<view<T, Iter>> : never_trivial {};
template <typename T>
struct trivial_by_default<deserializing_iterator<T>> : never_trivial {};

// Decided by their elements, whatever std::is_trivially_copyable says of them, where the program says nothing.
template <typename A, typename B>
struct trivial_by_default<std::pair<A, B>> {
  static constexpr bool value = is_trivially_serializable<A>::value && is_trivially_serializable<B>::value &&
                                !specialises_serialization<std::pair<A, B>>;
};
template <typename... T>
struct trivial_by_default<std::tuple<T...>> {
  static constexpr bool value =
      (is_trivially_serializable<T>::value && ...) && !specialises_serialization<std::tuple<T...>>;
};
template <typename T, std::size_t N>
struct trivial_by_default<std::array<T, N>> {
  static constexpr bool value =
      is_trivially_serializable<T>::value && !specialises_serialization<std::array<T, N>>;
};

}  // namespace detail

/// Whether objects of type `T` may be moved between processes as raw bytes.
///
/// True for trivially copyable types that use no class serialization. Specialise it with a true `value` for a
/// class of yours whose bytes are meaningful elsewhere; objects that arrive are then treated as trivially
/// destructible. Do not specialise it for cv-qualified, reference or array types.
template <typename T>
struct is_trivially_serializable : std::bool_constant<detail::trivial_by_default<T>::value> {};
template <typename T>
struct is_trivially_serializable<T const> : std::bool_constant<is_trivially_serializable<T>::value> {};

/// Specialise for a class to serialize it from outside, with public static members
/// ```cpp
/// template <typename Writer> static void serialize(Writer& writer, T const& object);
/// template <typename Reader, typename Storage> static U* deserialize(Reader& reader, Storage storage);
/// ```
/// where `deserialize` returns `storage.construct(...)`. The older second parameter `void* storage`, filled
/// by placement new, is accepted as well. A nested public type `upcxx_serialization` with the same members
/// does the same from inside.
template <typename T>
struct serialization {
  using atoll_unspecialised_ = void;
};

namespace detail {

/// The type whose codec carries a `T`: references carry what they refer to.
template <typename T>
using wire_t = std::remove_const_t<std::remove_reference_t<T>>;

template <typename T>
using codec_of = codec<wire_t<T>>;

template <typename T>
constexpr bool serializable() {
  using wire = wire_t<T>;
  if constexpr (!std::is_object_v<wire> || std::is_array_v<wire> || std::is_volatile_v<wire>) {
    return false;
  } else {
    return codec<wire>::serializable;
  }
}

}  // namespace detail

/// Whether a `T` can be carried by an rpc at all. Never specialise it.
template <typename T>
struct is_serializable : std::bool_constant<detail::serializable<T>()> {};

namespace detail {

template <typename T>
struct deserialized {};
template <typename T>
requires(is_serializable<T>::value) struct deserialized<T> {
  using type = typename codec<T>::deserialized_type;
};
template <typename T>
requires(is_serializable<T>::value) struct deserialized<T const> {
  using type = typename deserialized<T>::type const;
};
template <typename T>
requires(is_serializable<T>::value) struct deserialized<T&> : deserialized<std::remove_const_t<T>> {
};
template <typename T>
requires(is_serializable<T>::value) struct deserialized<T&&> : deserialized<std::remove_const_t<T>> {
};

template <typename T>
using deserialized_t = typename deserialized<T>::type;

/// `deserialized_t`, or `T` itself where that does not exist: for naming the types of containers that are not
/// serializable without an error.
template <typename T>
struct mapped {
  using type = T;
};
template <typename T>
requires(is_serializable<T>::value) struct mapped<T> : deserialized<T> {
};
template <typename T>
using mapped_t = typename mapped<T>::type;

/// The same for arrays, element by element.
template <typename T>
struct deserialized_array : deserialized<T> {};
template <typename T, std::size_t N>
struct deserialized_array<T[N]> {
  using type = typename deserialized_array<T>::type[N];
};
template <typename T>
using deserialized_array_t = typename deserialized_array<T>::type;

/// `T` arrives as something other than a `T`.
template <typename T>
constexpr bool asymmetric() {
  if constexpr (std::is_void_v<T>) {
    return false;
  } else if constexpr (serializable<T>()) {
    return !std::is_same_v<mapped_t<T>, T>;
  } else {
    return false;
  }
}

/// The first of the types that cannot be carried, or void.
template <typename... T>
struct first_unserializable {
  using type = void;
};
template <typename T, typename... More>
struct first_unserializable<T, More...> : first_unserializable<More...> {};
template <typename T, typename... More>
requires(!serializable<T>()) struct first_unserializable<T, More...> {
  using type = wire_t<T>;
};

/// The type to blame for `T`: an element of a container that could be carried otherwise, or `T` itself.
template <typename T>
struct culprit {
  using type = T;
};
template <template <typename...> class C, typename... Parts>
requires(!std::is_base_of_v<no_codec, codec<C<Parts...>>> &&
         !requires { typename C<Parts...>::deleter_type; } &&
         !std::is_void_v<typename first_unserializable<Parts...>::type>) struct culprit<C<Parts...>>
    : culprit<typename first_unserializable<Parts...>::type> {
};

/// Never instantiated but to be seen by its name, with the type, at the head of the diagnostic.
template <typename T>
struct this_type_is_not_serializable {
  static constexpr bool shares = requires(T & object) { object.use_count(); };
  static constexpr bool wraps_function = requires(T & object) { object.target_type(); };
  static constexpr bool owns = requires { typename T::deleter_type; };
  static_assert(
      !shares,
      "a std::shared_ptr or std::weak_ptr cannot be sent, since its owners stay in their process: send "
      "the object that it points to");
  static_assert(
      !owns,
      "a std::unique_ptr can be sent if it owns one object, Serializable and without virtual functions, "
      "that ends by delete: send the object itself, or a std::vector in place of an array");
  static_assert(
      !wraps_function,
      "a std::function cannot be sent: pass the function or lambda itself as the function of the rpc");
  static_assert(
      shares || owns || wraps_function,
      "this type is not Serializable: give the class UPCXX_SERIALIZED_FIELDS(...), "
      "UPCXX_SERIALIZED_VALUES(...) or a nested upcxx_serialization; a lambda whose captures are not "
      "trivially copyable cannot be sent, pass those values as arguments instead");
  static constexpr bool value = false;
};

/// Says in words why a type cannot be sent. Instantiate it where a type must be Serializable.
template <typename T>
struct require_serializable {
  using wire = wire_t<T>;
  static constexpr bool is_array = std::is_array_v<wire>;
  static constexpr bool is_volatile = std::is_volatile_v<std::remove_all_extents_t<wire>>;
  static constexpr bool is_function = std::is_function_v<wire>;

  static constexpr bool is_deleted() {
    if constexpr (std::is_class_v<wire> || std::is_union_v<wire>) {
      if constexpr (access::has_nested<wire>) {
        return std::is_base_of_v<deleted_mechanism, access::nested<wire>> && !serializable<T>();
      }
    }
    return false;
  }
  static constexpr bool is_incomplete_mechanism() {
    return mentions_mechanism<wire>() && !is_deleted() && !serializable<T>();
  }

  static_assert(!is_array,
                "a C array cannot be sent (a string literal is one too): send a std::array, a std::vector, a "
                "std::string or a upcxx::view of it");
  static_assert(!is_volatile, "a volatile type cannot be sent: send a copy without volatile");
  static_assert(!is_function,
                "a function cannot be serialized as a value: pass it as the function of the rpc");
  static_assert(!is_deleted(), "this class is marked UPCXX_SERIALIZED_DELETE(), itself or by a base class");
  static_assert(
      !is_incomplete_mechanism(),
      "this class has an upcxx_serialization that cannot be used: it needs public static templates "
      "serialize(Writer&, T const&) and deserialize(Reader&, Storage), and exactly one base may bring it");
  static constexpr bool explained() {
    if constexpr (is_array || is_volatile || is_function || is_deleted() || is_incomplete_mechanism() ||
                  serializable<T>()) {
      return true;
    } else if constexpr (!std::is_same_v<typename culprit<wire>::type, wire>) {
      return require_serializable<typename culprit<wire>::type>::value;
    } else {
      return this_type_is_not_serializable<wire>::value;
    }
  }
  static constexpr bool value = explained() && serializable<T>();
};

}  // namespace detail
}  // namespace upcxx::inline UPCXX_MODE
