#pragma once

/// Codecs of std::optional, std::variant, std::unique_ptr and std::filesystem::path.
///
/// std::complex, std::bitset, and the durations and time points of std::chrono are trivially copyable in every
/// library that we know of, so they travel as bytes without a codec.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <upcxx/detail/serialization/containers_sequence.hpp>
#include <upcxx/detail/std_parts.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

// --- Is it there? std::optional, std::unique_ptr: a byte, and the object
// ---------------------------------------------------------------------

inline void write_flag(writer& w, bool flag) { trivial_codec<bool>::write(w, flag); }
inline bool read_flag(reader& r) { return trivial_codec<unsigned char>::value(r) != 0; }

/// Bytes, if those of the held object are, and the program says nothing else.
template <typename T>
struct trivial_by_default<std::optional<T>> {
  static constexpr bool value = std::is_trivially_copyable_v<std::optional<T>> &&
                                is_trivially_serializable<T>::value &&
                                !specialises_serialization<std::optional<T>>;
};

template <typename T>
struct std_codec<std::optional<T>> {
  static constexpr bool serializable = detail::serializable<T>();
  using deserialized_type = std::optional<mapped_t<T>>;
  static constexpr std::size_t static_bound_of_both() {
    if constexpr (serializable) {
      return detail::add_bounds(1, static_bound_v<T>);
    } else {
      return npos;
    }
  }
  static constexpr std::size_t static_bound = static_bound_of_both();

  static constexpr std::size_t bound(std::size_t at, std::optional<T> const& object) {
    at = add_bounds(at, 1);
    return object.has_value() ? detail::bound_after<T>(at, *object) : at;
  }
  static void write(writer& w, std::optional<T> const& object) {
    detail::write_flag(w, object.has_value());
    if (object.has_value()) detail::serialize<T>(w, *object);
  }
  static deserialized_type* read(reader& r, void* raw) {
    auto* const object = ::new (raw) deserialized_type();
    if (read_flag(r)) detail::read_optional<T>(r, *object);  // in place: what is held need not be movable
    return object;
  }
  static deserialized_type value(reader& r) {
    static_assert(std::is_move_constructible_v<deserialized_type>,
                  "this type is not MoveConstructible and so cannot be returned by value: use read_into, "
                  "deserialize_into or a view");
    deserialized_type object;
    if (read_flag(r)) detail::read_optional<T>(r, object);
    return object;
  }
};

/// Memory for these objects comes from their class.
template <typename T>
concept deletes_itself = requires(void* p) {
  T::operator delete(p);
}
|| requires(void* p) { T::operator delete(p, sizeof(T)); };

/// A copy of the object arrives, owned there; the sender keeps its own. Where the object may be of a class derived
/// from T, or ends by something else than delete, a copy of a T would not be what is owned.
template <typename T>
struct std_codec<std::unique_ptr<T, std::default_delete<T>>> {
  using owner = std::unique_ptr<T, std::default_delete<T>>;
  static constexpr bool may_be_of_derived_class() {
    if constexpr (std::is_class_v<T>) {
      return std::is_polymorphic_v<T> && !std::is_final_v<T>;
    } else {
      return false;
    }
  }
  static constexpr bool decide() {
    if constexpr (std::is_array_v<T>) {
      return false;  // nobody knows its length
    } else {
      return detail::serializable<T>() && !may_be_of_derived_class();
    }
  }
  static constexpr bool serializable = decide();
  using deserialized_type = std::unique_ptr<mapped_t<T>, std::default_delete<mapped_t<T>>>;
  // Recursive classes own themselves this way, so that no bound can be had from T.
  static constexpr std::size_t static_bound = npos;
  static constexpr std::size_t bound(std::size_t, owner const&) { return npos; }

  static void write(writer& w, owner const& object) {
    detail::write_flag(w, object != nullptr);
    if (object != nullptr) detail::serialize<T>(w, *object);
  }
  static deserialized_type value(reader& r) {
    using object = std::remove_const_t<mapped_t<T>>;
    if (!read_flag(r)) return deserialized_type();
    if constexpr (deletes_itself<object>) {
      return deserialized_type(new object(detail::read_value<T>(r)));
    } else {  // constructed in its place: it need not be movable
      struct memory {
        object* place = std::allocator<object>().allocate(1);
        memory() = default;
        memory(memory const&) = delete;
        memory& operator=(memory const&) = delete;
        ~memory() {
          if (place != nullptr) std::allocator<object>().deallocate(place, 1);
        }
      } m;
      deserialized_type result(codec_of<T>::read(r, m.place));
      m.place = nullptr;
      return result;
    }
  }
  static deserialized_type* read(reader& r, void* raw) { return ::new (raw) deserialized_type(value(r)); }
};

// --- std::variant: which alternative, and that
// -----------------------------------------------------------------------------

template <typename... T>
struct trivial_by_default<std::variant<T...>> {
  static constexpr bool value = std::is_trivially_copyable_v<std::variant<T...>> &&
                                (is_trivially_serializable<T>::value && ...) &&
                                !specialises_serialization<std::variant<T...>>;
};

/// A variant that lost its value in an exception throws std::bad_variant_access, at the sender.
template <typename... T>
struct std_codec<std::variant<T...>>
    : reads_by_value<std_codec<std::variant<T...>>, std::variant<mapped_t<T>...>> {
  using variant = std::variant<T...>;
  using index_type = std::uint16_t;
  static constexpr bool serializable = (detail::serializable<T>() && ...);
  using deserialized_type = std::variant<mapped_t<T>...>;

  static constexpr std::size_t static_bound_of_largest() {
    std::size_t largest = 0;
    if constexpr (serializable) {
      auto const look = [&largest](std::size_t bound) { largest = bound > largest ? bound : largest; };
      (look(static_bound_v<T>), ...);  // npos is the largest of all
    }
    return add_bounds(static_bound_v<index_type>, largest);
  }
  static constexpr std::size_t static_bound = static_bound_of_largest();

  static constexpr std::size_t bound(std::size_t at, variant const& object) {
    at = detail::bound_after(at, index_type());
    return std::visit([at](auto const& held) { return detail::bound_after(at, held); }, object);
  }
  static void write(writer& w, variant const& object) {
    std::visit(
        [&](auto const& held) {
          detail::serialize(w, static_cast<index_type>(object.index()));
          detail::serialize(w, held);
        },
        object);
  }
  static deserialized_type value(reader& r) {
    return read_alternative(r, read_value<index_type>(r), std::index_sequence_for<T...>());
  }

 private:
  template <std::size_t Index>
  static deserialized_type make(reader& r) {
    return deserialized_type(std::in_place_index<Index>,
                             detail::read_value<std::variant_alternative_t<Index, variant>>(r));
  }
  template <std::size_t... Indices>
  static deserialized_type read_alternative(reader& r, std::size_t index, std::index_sequence<Indices...>) {
    ATOLL_CHECK(
        index < sizeof...(T),
        "deserialize: alternative %zu of a std::variant that has %zu: what was written is not what is read",
        index, sizeof...(T));
    static constexpr deserialized_type (*makers[])(reader&) = {&make<Indices>...};
    return makers[index](r);
  }
};

// --- std::filesystem::path: its text
// ---------------------------------------------------------------------------------------

/// A template, since the class is complete only where the program has included its header.
template <std::same_as<std::filesystem::path> Path>
struct std_codec<Path> : reads_by_value<std_codec<Path>, Path> {
  static constexpr bool serializable = true;
  using deserialized_type = Path;
  static constexpr std::size_t static_bound = npos;
  static constexpr std::size_t bound(std::size_t at, Path const& object) {
    return detail::bound_after(at, object.native());
  }
  static void write(writer& w, Path const& object) { detail::serialize(w, object.native()); }
  static Path value(reader& r) { return Path(detail::read_value<typename Path::string_type>(r)); }
};

}  // namespace upcxx::inline UPCXX_MODE::detail
