#pragma once

/// Codecs of classes that say themselves how they are serialized.

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include <upcxx/detail/serialization/class_macros.hpp>
#include <upcxx/detail/serialization/codec.hpp>
#include <upcxx/detail/std_parts.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

// --- UPCXX_SERIALIZED_FIELDS
// ------------------------------------------------------------------------------------------

/// Bytes of a `T` that are its own. What follows is tail padding, where a derived class (or the class that
/// has it as a member with [[no_unique_address]]) may keep its own members: zero for empty classes.
template <typename T>
constexpr std::size_t own_bytes() {
  if constexpr (std::is_class_v<T>) {
    struct probe {
      [[no_unique_address]] T object;
      char next;
    };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
    return __builtin_offsetof(probe, next) < sizeof(T) ? __builtin_offsetof(probe, next) : sizeof(T);
#pragma GCC diagnostic pop
  } else {
    return sizeof(T);
  }
}

/// Replaces a member or base subobject of a live object by the next one of the message.
/// The new object is built in the same place, and building may write all of sizeof(T), so bytes
/// that may be somebody else's are put back.
template <typename T>
void rebuild_subobject(reader& r, T& object) {
  constexpr std::size_t own = own_bytes<T>();
  if constexpr (!std::is_trivially_destructible_v<T>) std::destroy_at(std::addressof(object));
  if constexpr (own == sizeof(T)) {
    codec<T>::read(r, std::addressof(object));
  } else if constexpr (is_trivially_serializable<T>::value) {
    if (wire_size<T> != 0)
      std::memcpy(static_cast<void*>(std::addressof(object)), r.take(sizeof(T), alignof(T)), own);
  } else {
    std::byte foreign[sizeof(T) - own];
    std::byte* const tail = reinterpret_cast<std::byte*>(std::addressof(object)) + own;
    std::memcpy(foreign, tail, sizeof(foreign));
    codec<T>::read(r, std::addressof(object));
    std::memcpy(tail, foreign, sizeof(foreign));
  }
}

template <typename T>
void rebuild_array(reader& r, T& array) {
  if constexpr (std::is_array_v<T>) {
    for (auto& part : array) detail::rebuild_array(r, part);
  } else {
    if constexpr (!std::is_trivially_destructible_v<T>) std::destroy_at(std::addressof(array));
    codec<T>::read(r, std::addressof(array));
  }
}

/// The rules for one listed member. A violation is reported with `Class`, the member's index in the list from
/// 0, and `Member`, its declared type (or base_ref<B> for a base).
template <typename Class, std::size_t Index, typename Member>
struct serialized_field {
  using element = std::remove_all_extents_t<Member>;
  static_assert(!std::is_reference_v<Member>,
                "UPCXX_SERIALIZED_FIELDS lists a reference member, which cannot be replaced: "
                "use UPCXX_SERIALIZED_VALUES and a constructor (the index of the member in the list, "
                "from 0, is shown above)");
  static_assert(!std::is_const_v<element>,
                "UPCXX_SERIALIZED_FIELDS lists a const member, which cannot be replaced: "
                "use UPCXX_SERIALIZED_VALUES and a constructor (the index of the member in the list, "
                "from 0, is shown above)");
  static_assert(
      std::is_reference_v<Member> || serializable<element>(),
      "UPCXX_SERIALIZED_FIELDS lists a member whose type is not Serializable (the index of the member in the "
      "list, from 0, is shown above)");
  static_assert(std::is_destructible_v<element>,
                "UPCXX_SERIALIZED_FIELDS: the type of a member is not destructible");
  static_assert(std::is_const_v<element> || std::is_reference_v<Member> || !asymmetric<element>(),
                "UPCXX_SERIALIZED_FIELDS lists a member whose type deserializes to another type: use "
                "UPCXX_SERIALIZED_VALUES (the index of the member in the list, from 0, is shown above)");
  static constexpr bool ok =
      !std::is_reference_v<Member> && !std::is_const_v<element> && serializable<element>();
  using wire = Member;
};
template <typename Class, std::size_t Index, typename B>
struct serialized_field<Class, Index, base_ref<B>> {
  static_assert(std::is_base_of_v<B, Class>, "UPCXX_SERIALIZED_BASE(B): B is not a base of this class");
  static_assert(
      !std::is_polymorphic_v<B>,
      "UPCXX_SERIALIZED_BASE(B) in UPCXX_SERIALIZED_FIELDS: B must have no virtual functions, since the base "
      "is rebuilt in place; use UPCXX_SERIALIZED_VALUES");
  static_assert(serializable<B>(), "UPCXX_SERIALIZED_BASE(B): B is not Serializable");
  static_assert(std::is_destructible_v<B>,
                "UPCXX_SERIALIZED_BASE(B) in UPCXX_SERIALIZED_FIELDS: B must be destructible");
  static_assert(!asymmetric<B>(),
                "UPCXX_SERIALIZED_BASE(B): B deserializes to another type; use UPCXX_SERIALIZED_VALUES");
  static constexpr bool ok = serializable<B>() && !std::is_polymorphic_v<B>;
  using wire = B;
};

template <typename B>
B const& wire_object(base_ref<B> base) {
  return base.get();
}
template <typename T>
requires(!is_base_ref<std::remove_cv_t<T>>) T const& wire_object(T const& object) { return object; }

template <typename Class, typename Indices>
struct field_visitors;
template <typename Class, std::size_t... Indices>
struct field_visitors<Class, std::index_sequence<Indices...>> {
  template <typename M, std::size_t Index>
  using field = serialized_field<Class, Index, M>;

  template <typename... M>
  static constexpr bool ok = (field<M, Indices>::ok && ...);

  struct write {
    writer& w;
    template <typename... M, typename... E>
    void operator()(type_list<M...>, E const&... e) const {
      if constexpr (ok<M...>) (detail::write_any(w, detail::wire_object(e)), ...);
    }
  };

  struct rebuild {
    reader& r;
    template <typename... M, typename... E>
    void operator()(type_list<M...>, E&&... e) const {
      if constexpr (ok<M...>) (one(e), ...);
    }
    template <typename B>
    void one(base_ref<B> base) const {
      detail::rebuild_subobject<B>(r, base.get_mutable());
    }
    template <typename M>
    requires(!is_base_ref<M>) void one(M& member) const {
      if constexpr (std::is_array_v<M>) {
        detail::rebuild_array(r, member);
      } else {
        detail::rebuild_subobject<M>(r, member);
      }
    }
  };

  struct bound {
    std::size_t start;
    template <typename... M, typename... E>
    std::size_t operator()(type_list<M...>, E const&... e) const {
      std::size_t at = start;
      if constexpr (ok<M...>) ((at = at == npos ? npos : detail::any_bound(at, detail::wire_object(e))), ...);
      return at;
    }
  };

  template <typename... M>
  static constexpr std::size_t static_bound(type_list<M...>) {
    std::size_t sum = 0;
    if constexpr (ok<M...>)
      ((sum = detail::add_bounds(sum, any_static_bound<typename field<M, Indices>::wire>())), ...);
    return sum;
  }
};

struct list_fields {
  template <typename... M, typename... E>
  type_list<M...> operator()(type_list<M...>, E&&...) const {
    return {};
  }
};

template <typename... M>
std::index_sequence_for<M...> indices_of(type_list<M...>);

template <typename T>
struct fields_codec : reads_in_place<fields_codec<T>, T> {
  static constexpr bool serializable = true;
  using deserialized_type = T;

  static constexpr std::size_t static_bound_of_fields() {
    using members = decltype(access::parts(std::declval<T&>())(list_fields()));
    return field_visitors<T, decltype(indices_of(members()))>::static_bound(members());
  }
  static constexpr std::size_t static_bound = static_bound_of_fields();

  static std::size_t bound(std::size_t start, T const& object) {
    if constexpr (static_bound != npos) {
      return start + static_bound;
    } else {
      return list(object)(typename visitors<T>::bound{start});
    }
  }

  static void write(writer& w, T const& object) { list(object)(typename visitors<T>::write{w}); }

  template <typename Storage>
  static T* read_to(reader& r, Storage const& storage) {
    static_assert(
        access::constructible_by_parentheses<T>,
        "UPCXX_SERIALIZED_FIELDS needs a default constructor; it may be private in the class that uses the "
        "macro, but must be public in a class that inherits it");
    T* const object = storage.construct();
    list (*object)(typename visitors<T>::rebuild{r});
    return object;
  }
  static T* read(reader& r, void* raw) { return read_to(r, raw_storage<T>(raw)); }

 private:
  /// The macro's member function is not const, so that it can name what is rebuilt; writing changes nothing.
  static auto list(T const& object) { return access::parts(const_cast<T&>(object)); }

  template <typename U>
  using members_of = decltype(access::parts(std::declval<U&>())(list_fields()));
  template <typename U>
  using visitors = field_visitors<U, decltype(detail::indices_of(std::declval<members_of<U>>()))>;
};

// --- UPCXX_SERIALIZED_VALUES
// ------------------------------------------------------------------------------------------

/// The type that carries the value of an expression of type `E`.
template <typename E>
struct value_wire {
  using type = std::remove_const_t<std::remove_reference_t<E>>;
};
template <typename B>
struct value_wire<base_ref<B>> {
  static_assert(!std::is_abstract_v<B>,
                "UPCXX_SERIALIZED_BASE(B) in UPCXX_SERIALIZED_VALUES: B must not be abstract");
  using type = B;
};

struct list_values {
  template <typename... E>
  type_list<typename value_wire<E>::type...> operator()(E&&...) const {
    return {};
  }
};

struct write_values {
  writer& w;
  template <typename... E>
  void operator()(E const&... e) const {
    (detail::serialize(w, detail::wire_object(e)), ...);
  }
};

template <typename T, typename Values>
struct values_functions;
template <typename T, typename... V>
struct values_functions<T, type_list<V...>> {
  static constexpr std::size_t static_bound() {
    std::size_t sum = 0;
    ((sum = detail::add_bounds(sum, static_bound_v<V>)), ...);
    return sum;
  }

  template <typename Storage>
  static T* read_to(reader& r, Storage const& storage) {
    using arguments = deserialized_tuple<V...>;
    struct owner {
      scratch<arguments> memory;
      arguments* values;
      explicit owner(reader& from) : values(::new (memory.get()) arguments(from)) {}
      ~owner() { values->~arguments(); }
    } read(r);
    return read.values->apply([&storage](deserialized_t<V>&&... value) {
      static_assert(
          access::constructible_by_parentheses<T, deserialized_t<V>...> ||
              access::constructible_by_braces<T, deserialized_t<V>...>,
          "UPCXX_SERIALIZED_VALUES: no constructor takes the deserialized values as rvalues in the order "
          "of the list; it may be private in the class that uses the macro, but must be public in a class "
          "that inherits it");
      return storage.construct(std::move(value)...);
    });
  }
};

template <typename T>
struct values_codec : reads_in_place<values_codec<T>, T> {
  static constexpr bool serializable = true;
  using deserialized_type = T;

  static constexpr std::size_t static_bound_of_values() {
    return values_functions<T,
                            decltype(access::parts(std::declval<T const&>())(list_values()))>::static_bound();
  }
  static constexpr std::size_t static_bound = static_bound_of_values();

  /// Never evaluates the expressions, which may be costly.
  static std::size_t bound(std::size_t start, T const&) { return add_bounds(start, static_bound); }

  static void write(writer& w, T const& object) { access::parts(object)(write_values{w}); }

  template <typename Storage>
  static T* read_to(reader& r, Storage const& storage) {
    return values_functions<T, decltype(access::parts(std::declval<T const&>())(list_values()))>::read_to(
        r, storage);
  }
  static T* read(reader& r, void* raw) { return read_to(r, raw_storage<T>(raw)); }
};

// --- upcxx_serialization and serialization<T>
// -------------------------------------------------------------------------

/// `deserialize(Reader&, Storage)`: builds through a handle.
template <typename T, typename Functions>
concept deserializes_by_handle = requires(reader& r, raw_storage<T> storage) {
  {*Functions::deserialize(r, std::move(storage))};
};
/// `deserialize(Reader&, void*)`: builds by placement new.
template <typename T, typename Functions>
concept deserializes_by_pointer =
    !deserializes_by_handle<T, Functions> && requires(reader & r, void* storage) {
  {*Functions::deserialize(r, storage)};
};
template <typename T, typename Functions>
concept serializes = requires(writer& w, T const& object) {
  Functions::serialize(w, object);
};

/// What is the same for both.
template <typename T, typename Functions, typename D>
struct writes_by_functions {
  static constexpr bool serializable = true;
  using deserialized_type = D;
  static constexpr std::size_t static_bound = npos;
  static constexpr std::size_t bound(std::size_t, T const&) { return npos; }

  static void write(writer& w, T const& object) {
    [[maybe_unused]] int const before = w.reserved();
    Functions::serialize(w, object);
    ATOLL_CHECK(w.reserved() == before, "serialize: a reservation was not committed");
  }
};
template <typename Functions, typename Storage>
using built_by =
    std::remove_pointer_t<decltype(Functions::deserialize(std::declval<reader&>(), std::declval<Storage>()))>;

template <typename T, typename Functions>
struct custom_codec : no_codec {};

template <typename T, typename Functions>
requires serializes<T, Functions> && deserializes_by_handle<T, Functions>
struct custom_codec<T, Functions>
    : writes_by_functions<T, Functions, built_by<Functions, raw_storage<T>>>,
      reads_in_place<custom_codec<T, Functions>, built_by<Functions, raw_storage<T>>> {
  using deserialized_type = built_by<Functions, raw_storage<T>>;

  template <typename Storage>
  static deserialized_type* read_to(reader& r, Storage storage) {
    deserialized_type* const object = Functions::deserialize(r, Storage(storage));
    ATOLL_CHECK(storage.holds(object), "deserialize: the object was not built in the given storage");
    return object;
  }
  static deserialized_type* read(reader& r, void* raw) {
    return read_to(r, raw_storage<deserialized_type>(raw));
  }
};

template <typename T, typename Functions>
requires serializes<T, Functions> && deserializes_by_pointer<T, Functions>
struct custom_codec<T, Functions> : writes_by_functions<T, Functions, built_by<Functions, void*>>,
                                    reads_in_place<custom_codec<T, Functions>, built_by<Functions, void*>> {
  using deserialized_type = built_by<Functions, void*>;

  static deserialized_type* read(reader& r, void* raw) {
    deserialized_type* const object = Functions::deserialize(r, raw);
    ATOLL_CHECK(static_cast<void*>(object) == raw,
                "deserialize: the object was not built in the given storage");
    return object;
  }
};

}  // namespace upcxx::inline UPCXX_MODE::detail
