#pragma once

/// Carrying one object: the codecs of trivial types, and the functions that everything else is built from.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <upcxx/detail/serialization/buffer.hpp>
#include <upcxx/detail/serialization/traits.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

// --- Entry points
// -----------------------------------------------------------------------------------------------------

/// Appends one object.
template <typename T>
void serialize(writer& w, T const& object) {
  if constexpr (serializable<T>()) {
    codec_of<T>::write(w, object);
  } else {
    static_assert(require_serializable<T>::value);  // says why
  }
}

/// Constructs the next object, written as a `T`, in raw memory.
template <typename T>
deserialized_t<T>* deserialize_into(reader& r, void* storage) {
  return codec_of<T>::read(r, storage);
}

/// The next object, written as a `T`, by value.
template <typename T>
deserialized_t<T> read_value(reader& r) {
  return codec_of<T>::value(r);
}

/// Most bytes that one `T` takes from any start, padding included; npos where that depends on the object.
template <typename T>
inline constexpr std::size_t static_bound_v = codec_of<T>::static_bound;

/// Upper bound of the position after `object`, written from position `at`; npos if that is not cheap to know.
template <typename T>
constexpr std::size_t bound_after(std::size_t at, T const& object) {
  if (at == npos) return npos;
  return codec_of<T>::bound(at, object);
}

/// Upper bound of the position after all `objects`, written in order from `start`; npos if not cheap to know.
template <typename... T>
constexpr std::size_t serialized_bound(std::size_t start, T const&... objects) {
  ((start = detail::bound_after(start, objects)), ...);
  return start;
}

constexpr std::size_t add_bounds(std::size_t a, std::size_t b) {
  return a == npos || b == npos ? npos : a + b;
}
constexpr std::size_t multiply_bound(std::size_t bound, std::size_t count) {
  return bound == npos ? npos : bound * count;
}

/// Fewest bytes that one `T` takes; lets checked readers refuse absurd counts.
template <typename T>
constexpr std::size_t minimum_wire_size() {
  if constexpr (is_trivially_serializable<wire_t<T>>::value) {
    return wire_size<wire_t<T>>;
  } else {
    return 0;
  }
}

// --- Scratch memory
// ---------------------------------------------------------------------------------------------------

/// Raw memory for a `T`: on the stack if small, else allocated, so that large objects
/// do not overflow the stack.
template <typename T, bool Large = (sizeof(T) > 8192)>
class scratch {
 public:
  scratch() noexcept {}  // not defaulted: the bytes are meant to stay as they are
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  void* get() noexcept { return bytes_; }

 private:
  alignas(T) std::byte bytes_[sizeof(T)];
};
template <typename T>
class scratch<T, true> {
 public:
  scratch() : bytes_(::operator new(sizeof(T), std::align_val_t(alignof(T)))) {}
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() { ::operator delete(bytes_, std::align_val_t(alignof(T))); }
  void* get() noexcept { return bytes_; }

 private:
  void* bytes_;
};

/// Destroys what was deserialized from a `T`. Objects that arrived as bytes need no destruction
/// by the specification.
template <typename T, typename D>
void destroy_deserialized(D* object) {
  if constexpr (!is_trivially_serializable<wire_t<T>>::value && !std::is_trivially_destructible_v<D>) {
    std::destroy_at(object);
  }
}

/// One deserialized object that lives no longer than this one.
template <typename T>
class temporary {
 public:
  using type = std::remove_const_t<deserialized_t<T>>;

  explicit temporary(reader& r) : object_(codec_of<T>::read(r, memory_.get())) {}
  temporary(temporary const&) = delete;
  temporary& operator=(temporary const&) = delete;
  ~temporary() { detail::destroy_deserialized<T>(object_); }

  type& operator*() noexcept { return *object_; }

 private:
  scratch<type> memory_;
  type* object_;
};

/// Passes over one object that was written as a `T`.
template <typename T>
void skip(reader& r) {
  if constexpr (is_trivially_serializable<wire_t<T>>::value) {
    codec_of<T>::skip(r);
  } else if constexpr (requires { codec_of<T>::skip(r); }) {
    codec_of<T>::skip(r);
  } else {
    temporary<T> discarded(r);
  }
}

/// Base of codecs that construct in place; by value means a move from there.
template <typename Codec, typename D>
struct reads_in_place {
  static D value(reader& r) {
    static_assert(std::is_move_constructible_v<D>,
                  "this type is not MoveConstructible and so cannot be returned by value: use read_into, "
                  "deserialize_into or a view");
    struct guard {
      scratch<D> memory;
      D* object = nullptr;
      ~guard() {
        if (object != nullptr) std::destroy_at(object);
      }
    } local;
    local.object = Codec::read(r, local.memory.get());
    return std::move(*local.object);
  }
};

/// Base of codecs that return by value; the result is constructed in its place without a move.
template <typename Codec, typename D>
struct reads_by_value {
  static D* read(reader& r, void* raw) { return ::new (raw) D(Codec::value(r)); }
};

// --- Trivial types, types without a codec
// -----------------------------------------------------------------------------

/// Bytes.
template <typename T>
struct trivial_codec {
  static constexpr bool serializable = true;
  using deserialized_type = T;
  static constexpr std::size_t static_bound = wire_size<T> == 0 ? 0 : wire_size<T> + wire_alignment<T> - 1;

  static constexpr std::size_t bound(std::size_t start, T const&) {
    return detail::align_up(start, wire_alignment<T>) + wire_size<T>;
  }

  static void write(writer& w, T const& object) {
    static_assert(
        !specialises_serialization<T>,
        "a class may specialise upcxx::serialization or is_trivially_serializable (to true), not both");
    if constexpr (wire_size<T> != 0) {
      std::memcpy(w.place(wire_size<T>, wire_alignment<T>), std::addressof(object), wire_size<T>);
    }
  }

  static T* read(reader& r, void* raw) {
    if constexpr (wire_size<T> != 0) {
      std::memcpy(raw, r.take(wire_size<T>, wire_alignment<T>), wire_size<T>);
    }
    return std::launder(static_cast<T*>(raw));
  }

  static T value(reader& r) {
    if constexpr (std::is_trivially_copyable_v<T> && wire_size<T> != 0) {
      // Straight out of the buffer: no default constructor, and no second copy of large types on the stack.
      struct bytes {
        std::byte data[sizeof(T)];
      };
      return __builtin_bit_cast(T, *reinterpret_cast<bytes const*>(r.take(wire_size<T>, wire_alignment<T>)));
    } else if constexpr (wire_size<T> == 0 && std::is_default_constructible_v<T>) {
      return T();
    } else {
      static_assert(std::is_move_constructible_v<T>,
                    "this type is not MoveConstructible and so cannot be returned by value: use read_into, "
                    "deserialize_into or a view");
      scratch<T> memory;
      if constexpr (wire_size<T> == 0) std::memset(memory.get(), 0, sizeof(T));
      return std::move(*read(r, memory.get()));  // not destroyed: it arrived as bytes
    }
  }

  static void skip(reader& r) {
    if constexpr (wire_size<T> != 0) r.take(wire_size<T>, wire_alignment<T>);
  }
};

/// A type that cannot be carried.
struct no_codec {
  static constexpr bool serializable = false;
  static constexpr std::size_t static_bound = npos;
};

/// Objects without state that arrive as a `D`: allocators, and functors of mapped types.
template <typename T, typename D>
struct stateless_codec : reads_by_value<stateless_codec<T, D>, D> {
  static constexpr bool serializable = true;
  using deserialized_type = D;
  static constexpr std::size_t static_bound = 0;
  static constexpr std::size_t bound(std::size_t start, T const&) { return start; }
  static void write(writer&, T const&) {}
  static D value(reader&) { return D(); }
  static void skip(reader&) {}
};

template <typename T>
struct fields_codec;
template <typename T>
struct values_codec;
template <typename T, typename Functions>
struct custom_codec;
/// Of a type of the standard. What the program says of such a type comes first.
template <typename T>
struct std_codec : no_codec {};

template <typename T>
constexpr auto select_codec() {
  if constexpr (is_trivially_serializable<T>::value) {
    return std::type_identity<trivial_codec<T>>();
  } else if constexpr (!std::is_class_v<T> && !std::is_union_v<T>) {
    return std::type_identity<no_codec>();
  } else if constexpr (specialises_serialization<T>) {
    return std::type_identity<custom_codec<T, serialization<T>>>();
  } else if constexpr (access::has_nested<T>) {
    using nested = access::nested<T>;
    if constexpr (std::is_base_of_v<fields_mechanism, nested>) {
      return std::type_identity<fields_codec<T>>();
    } else if constexpr (std::is_base_of_v<values_mechanism, nested>) {
      return std::type_identity<values_codec<T>>();
    } else if constexpr (std::is_base_of_v<deleted_mechanism, nested>) {
      return std::type_identity<no_codec>();
    } else {
      return std::type_identity<custom_codec<T, nested>>();
    }
  } else {
    return std::type_identity<std_codec<T>>();
  }
}

template <typename T>
using selected_codec = typename decltype(select_codec<T>())::type;

template <typename T>
struct codec : selected_codec<T> {};

template <>
struct codec<persona> : no_codec {};
template <>
struct codec<team> : no_codec {};
template <typename... T>
struct codec<future<T...>> : no_codec {};
template <typename... T>
struct codec<promise<T...>> : no_codec {};
template <typename T>
struct codec<dist_object<T>> : no_codec {};
template <typename T>
struct codec<deserializing_iterator<T>> : no_codec {};

// --- Arrays and sequences
// ---------------------------------------------------------------------------------------------

/// Consecutive trivially serializable elements are one block.
template <typename T>
void write_block(writer& w, T const* elements, std::size_t count) {
  if (count != 0 && wire_size<T> != 0) {
    std::memcpy(w.place(count * wire_size<T>, wire_alignment<T>), elements, count * wire_size<T>);
  }
}

/// The block that `write_block` wrote, in place. Null if there are no bytes.
template <typename T>
std::byte const* take_block(reader& r, std::size_t count) {
  if (count == 0 || wire_size<T> == 0) return nullptr;
  return r.take(count, wire_size<T>, wire_alignment<T>);
}

template <typename T>
void read_block(reader& r, void* raw, std::size_t count) {
  if (std::byte const* bytes = detail::take_block<T>(r, count)) std::memcpy(raw, bytes, count * wire_size<T>);
}

/// Position after `count` trivially serializable elements from `at`.
template <typename T>
constexpr std::size_t block_end(std::size_t at, std::size_t count) {
  return count == 0 ? at : detail::align_up(at, wire_alignment<T>) + count * wire_size<T>;
}

/// One object, or every element of an array of any rank.
template <typename T>
void write_any(writer& w, T const& object) {
  if constexpr (std::is_array_v<T>) {
    using element = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr (is_trivially_serializable<element>::value) {
      detail::write_block(w, reinterpret_cast<element const*>(&object), sizeof(T) / sizeof(element));
    } else {
      for (auto const& part : object) detail::write_any(w, part);
    }
  } else {
    detail::serialize(w, object);
  }
}

/// Constructs one object, or every element of an array, in raw memory.
template <typename T>
void read_any(reader& r, void* raw) {
  if constexpr (std::is_array_v<T>) {
    using element = std::remove_cv_t<std::remove_all_extents_t<T>>;
    constexpr std::size_t count = sizeof(T) / sizeof(element);
    if constexpr (is_trivially_serializable<element>::value) {
      detail::read_block<element>(r, raw, count);
    } else {
      using result = std::remove_cv_t<deserialized_t<element>>;
      for (std::size_t i = 0; i < count; ++i)
        detail::deserialize_into<element>(r, static_cast<result*>(raw) + i);
    }
  } else {
    detail::deserialize_into<T>(r, raw);
  }
}

template <typename T>
constexpr std::size_t any_static_bound() {
  using element = std::remove_cv_t<std::remove_all_extents_t<T>>;
  if constexpr (std::is_array_v<T> && is_trivially_serializable<element>::value) {
    return wire_size<element> == 0 ? 0 : sizeof(T) + wire_alignment<element> - 1;  // one block
  } else {
    return detail::multiply_bound(static_bound_v<element>, sizeof(T) / sizeof(element));
  }
}

template <typename T>
constexpr std::size_t any_bound(std::size_t at, T const& object) {
  if constexpr (!std::is_array_v<T>) {
    return detail::bound_after(at, object);
  } else if constexpr (any_static_bound<T>() != npos) {
    return detail::add_bounds(at, any_static_bound<T>());
  } else {
    for (auto const& part : object) {
      if (at == npos) return npos;
      at = detail::any_bound(at, part);
    }
    return at;
  }
}

/// Position after the `count` elements of a range. Looks at each element only where that is cheap against
/// serializing it: in sequences with random access, and in short ones.
template <typename T, typename Range>
constexpr std::size_t range_bound(std::size_t at, Range const& range, std::size_t count) {
  if (at == npos) return npos;
  if constexpr (is_trivially_serializable<T>::value) {
    return detail::block_end<T>(at, count);
  } else if constexpr (static_bound_v<T> != npos) {
    return at + count * static_bound_v<T>;
  } else {
    constexpr bool cheap = std::random_access_iterator<decltype(std::begin(range))>;
    if (!cheap && count > 64) return npos;
    for (auto const& element : range) {
      at = detail::bound_after<T>(at, element);
      if (at == npos) break;
    }
    return at;
  }
}

template <typename T, typename Iter>
inline constexpr bool is_block_of = is_trivially_serializable<T>::value&& std::contiguous_iterator<Iter>&&
    std::is_same_v<std::remove_cv_t<std::remove_reference_t<std::iter_reference_t<Iter>>>, T>;

/// Writes elements one after the other; `count` is npos if not known.
template <typename T, typename Iter>
std::size_t write_range(writer& w, Iter begin, Iter end, std::size_t count) {
  if constexpr (!serializable<T>()) {
    static_assert(require_serializable<T>::value);  // says why
    return 0;
  } else if constexpr (is_block_of<T, Iter>) {
    if (count == npos) count = static_cast<std::size_t>(end - begin);
    if (count != 0) detail::write_block<T>(w, std::to_address(begin), count);
    return count;
  } else {
    if constexpr (std::random_access_iterator<Iter>) {
      if (count == npos) count = static_cast<std::size_t>(end - begin);
    }
    if constexpr (is_trivially_serializable<T>::value && wire_size<T> != 0) {
      if (count != npos) {  // one place for all
        if (count == 0) return 0;
        std::byte* to = w.place(count * wire_size<T>, wire_alignment<T>);
        std::size_t written = 0;
        for (; begin != end; ++begin, ++written, to += wire_size<T>) {
          ATOLL_CHECK(written < count,
                      "write_sequence: the given count is less than the distance of the iterators");
          T const& element = *begin;
          std::memcpy(to, std::addressof(element), wire_size<T>);
        }
        ATOLL_CHECK(written == count,
                    "write_sequence: the given count is more than the distance of the iterators");
        return count;
      }
    }
    std::size_t written = 0;
    for (; begin != end; ++begin, ++written) {
      T const& element = *begin;  // converts what a proxy refers to
      codec<T>::write(w, element);
    }
    ATOLL_CHECK(count == npos || written == count,
                "write_sequence: the given count is not the iterators' distance");
    return written;
  }
}

// --- Packs of arguments
// -----------------------------------------------------------------------------------------------

template <std::size_t Index, typename T>
class deserialized_element {
 public:
  using type = deserialized_t<T>;

  explicit deserialized_element(reader& r) { codec_of<T>::read(r, bytes_); }
  deserialized_element(deserialized_element const&) = delete;
  deserialized_element& operator=(deserialized_element const&) = delete;
  // Nearly all function objects and many arguments need no destruction, and so no function to compile.
  ~deserialized_element() requires(is_trivially_serializable<wire_t<T>>::value) = default;
  ~deserialized_element() { detail::destroy_deserialized<T>(std::addressof(const_cast<object&>(get()))); }

  type& get() noexcept { return *std::launder(reinterpret_cast<type*>(bytes_)); }

 private:
  using object = std::remove_const_t<type>;
  alignas(object) std::byte bytes_[sizeof(object)];
};

/// Element `Index` of a deserialized_tuple. Not a member, so that it is the same function for all tuples.
template <std::size_t Index, typename T>
auto& element_at(deserialized_element<Index, T>& element) noexcept {
  return element.get();
}

template <typename Indices, typename... T>
class deserialized_elements;
template <std::size_t... Indices, typename... T>
class deserialized_elements<std::index_sequence<Indices...>, T...>
    : public deserialized_element<Indices, T>... {
 public:
  // Bases are initialised from left to right, which is the order of the message.
  explicit deserialized_elements([[maybe_unused]] reader& r) : deserialized_element<Indices, T>(r)... {}

  template <std::size_t Index>
  auto& get() noexcept {
    return detail::element_at<Index>(*this);
  }

  /// Calls `function` with the objects as rvalues.
  template <typename Function>
  decltype(auto) apply(Function&& function) {
    return std::forward<Function>(function)(static_cast<typename deserialized_element<Indices, T>::type&&>(
        static_cast<deserialized_element<Indices, T>&>(*this).get())...);
  }
};

/// The objects that a pack of types arrives as, constructed in their places in the order of the message,
/// without moves and without default construction; `get<Index>()` is the element at it as an lvalue.
template <typename... T>
using deserialized_tuple = deserialized_elements<std::index_sequence_for<T...>, T...>;

}  // namespace upcxx::inline UPCXX_MODE::detail

#include <upcxx/detail/serialization/buffer_members.hpp>
#include <upcxx/detail/std_parts.hpp>
