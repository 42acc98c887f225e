#pragma once

/// Serialization: how objects travel between processes. Views are in <upcxx/view.hpp>.

#include <upcxx/detail/serialization/carries_view.hpp>
#include <upcxx/detail/serialization/class_codecs.hpp>
#include <upcxx/detail/serialization/class_macros.hpp>
#include <upcxx/detail/serialization/codec.hpp>
#include <upcxx/detail/serialization/containers_associative.hpp>
#include <upcxx/detail/serialization/containers_sequence.hpp>
#include <upcxx/detail/serialization/std_utility.hpp>
#include <upcxx/detail/serialization/std_values.hpp>
#include <upcxx/detail/serialization/traits.hpp>
#include <upcxx/optional.hpp>

namespace upcxx::inline UPCXX_MODE {

namespace detail {
template <typename T>
struct traits_of {};
template <typename T>
requires(is_serializable<T>::value) struct traits_of<T> {
  using deserialized_type = deserialized_t<T>;

  /// What `object` would arrive as: serializes it to scratch memory and reads it back. Not for views.
  static deserialized_type deserialized_value(T const& object) {
    static_assert(!carries_view<T>(),
                  "deserialized_value: what arrives would contain a view of memory that ends with this call");
    alignas(message_alignment) std::byte small[512];
    atl::serialization::heap_buffer large;
    writer w(small, 0, sizeof(small), atl::serialization::heap_buffer::grow, &large);
    std::size_t const bound = detail::bound_after(0, object);
    if (bound != npos) w.ensure_capacity(bound);
    detail::serialize(w, object);
    reader r(w.begin(), 0, w.size());
    return detail::read_value<T>(r);
  }
};
}  // namespace detail

/// What a Serializable `T` arrives as (`deserialized_type`), and a local round trip (`deserialized_value`).
template <typename T>
struct serialization_traits : detail::traits_of<T> {};

template <typename T>
using deserialized_type_t = typename serialization_traits<T>::deserialized_type;

}  // namespace upcxx::inline UPCXX_MODE
