#pragma once

/// Members of Writer and Reader that need the codecs. Included by codec.hpp.

#include <upcxx/detail/serialization/codec.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

template <typename T>
void writer::write(T const& object) {
  detail::write_any(*this, object);
}

template <typename Iter>
std::size_t writer::write_sequence(Iter begin, Iter end) {
  return detail::write_range<typename std::iterator_traits<Iter>::value_type>(*this, begin, end, npos);
}

template <typename Iter>
std::size_t writer::write_sequence(Iter begin, Iter end, std::size_t count) {
  return detail::write_range<typename std::iterator_traits<Iter>::value_type>(*this, begin, end, count);
}

template <typename T>
deserialized_t<T> reader::read() {
  static_assert(!std::is_array_v<T>, "read<T> returns by value, which arrays cannot be: use read_into");
  return detail::read_value<T>(*this);
}

/// Raw memory is named by a pointer to void or to something whose lifetime needs no end.
template <typename Place>
constexpr void require_raw_place() {
  static_assert(!std::is_const_v<Place>, "the memory to deserialize into must not be const");
  if constexpr (!std::is_void_v<Place>) {
    static_assert(
        std::is_trivially_destructible_v<Place>,
        "deserializing into memory does not destroy what lives there, and this pointer's type "
        "has a destructor: use the *_overwrite form to replace an existing object, or cast the pointer "
        "to void* if the memory is raw");
  }
}

/// Replaces what an optional holds by the next object.
template <typename T>
deserialized_t<T>* read_optional(reader& r, std::optional<deserialized_t<T>>& storage) {
  using D = deserialized_t<T>;
  storage.reset();
  if constexpr (requires { codec_of<T>::read_to(r, optional_storage<D>(storage)); }) {
    return codec_of<T>::read_to(r, optional_storage<D>(storage));
  } else if constexpr (std::is_move_constructible_v<D>) {
    return std::addressof(storage.emplace(detail::read_value<T>(r)));
  } else {
    static_assert(std::is_default_constructible_v<D> && is_trivially_serializable<wire_t<T>>::value,
                  "this type can be put into an optional neither by a move nor by a storage handle");
    return codec_of<T>::read(r, std::addressof(storage.emplace()));
  }
}

template <typename T, typename Place>
deserialized_array_t<T>* reader::read_into(Place* storage) {
  require_raw_place<Place>();
  detail::read_any<T>(*this, storage);
  return std::launder(static_cast<deserialized_array_t<T>*>(static_cast<void*>(storage)));
}

template <typename T, typename U>
deserialized_t<T>* reader::read_into(std::optional<U>& storage) {
  static_assert(std::is_same_v<U, deserialized_t<T>>,
                "read_into: the optional must hold deserialized_type_t<T>");
  return detail::read_optional<T>(*this, storage);
}

template <typename T, typename Storage>
requires is_storage_handle<std::remove_cvref_t<Storage>> deserialized_t<T>
*reader::read_into(Storage&& storage) {
  if constexpr (requires { codec_of<T>::read_to(*this, storage); }) {
    return codec_of<T>::read_to(*this, storage);
  } else {
    return storage.construct(detail::read_value<T>(*this));
  }
}

template <typename T, typename Place>
deserialized_t<T>* reader::read_sequence_into(Place* storage, std::size_t count) {
  require_raw_place<Place>();
  using D = std::remove_const_t<deserialized_t<T>>;
  D* const first = static_cast<D*>(static_cast<void*>(storage));
  if constexpr (is_trivially_serializable<T>::value) {
    detail::read_block<T>(*this, first, count);
  } else {
    for (std::size_t i = 0; i < count; ++i) detail::deserialize_into<T>(*this, first + i);
  }
  return first;
}

template <typename T, typename OutIter>
void reader::read_sequence_into_iterator(OutIter into, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, ++into) *into = detail::read_value<T>(*this);
}

template <typename T>
void destroy_elements(T* objects, std::size_t count) {
  if constexpr (!std::is_trivially_destructible_v<T>) {
    for (std::size_t i = 0; i < count; ++i) std::destroy_at(objects + i);
  }
}

/// Address of what an overwrite replaces: given by pointer, as an array, or as the object itself.
template <typename D, typename Target>
void* overwritten(Target& target) {
  using given = std::remove_cv_t<Target>;
  if constexpr (std::is_pointer_v<given> && !std::is_same_v<given, D>) {
    using pointee = std::remove_pointer_t<given>;
    static_assert(std::is_void_v<pointee> || std::is_same_v<pointee, D> || std::is_array_v<D> ||
                      std::is_base_of_v<pointee, D>,
                  "overwrite: the existing object is not of the type that the written one deserializes to");
    return static_cast<void*>(target);
  } else {
    static_assert(std::is_same_v<given, D> || std::is_array_v<given>,
                  "overwrite: the existing object is not of the type that the written one deserializes to");
    return static_cast<void*>(std::addressof(target));
  }
}

template <typename T, typename Target>
deserialized_array_t<T>* reader::read_overwrite(Target&& target) {
  if constexpr (is_optional<std::remove_reference_t<Target>> &&
                !std::is_same_v<std::remove_reference_t<Target>, deserialized_array_t<T>>) {
    return detail::read_optional<T>(*this, target);
  } else {
    using D = std::remove_const_t<deserialized_array_t<T>>;
    using element = std::remove_all_extents_t<D>;
    void* const place = detail::overwritten<D>(target);
    detail::destroy_elements(static_cast<element*>(place), sizeof(D) / sizeof(element));
    detail::read_any<T>(*this, place);
    return std::launder(static_cast<deserialized_array_t<T>*>(place));
  }
}

template <typename T, typename Place>
deserialized_t<T>* reader::read_sequence_overwrite(Place* storage, std::size_t count) {
  using D = std::remove_const_t<deserialized_t<T>>;
  static_assert(std::is_void_v<Place> || std::is_same_v<Place, D>,
                "overwrite: the existing objects are not of the type that the written ones deserialize to");
  D* const first = static_cast<D*>(static_cast<void*>(storage));
  if constexpr (is_trivially_serializable<T>::value && std::is_trivially_destructible_v<D>) {
    detail::read_block<T>(*this, first, count);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      std::destroy_at(first + i);
      detail::deserialize_into<T>(*this, first + i);
    }
  }
  return first;
}

}  // namespace upcxx::inline UPCXX_MODE::detail
