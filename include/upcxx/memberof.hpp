#pragma once

/// upcxx_memberof_general: pointers to members of objects of any class, which may need the object itself.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <atoll/base/check.hpp>
#include <atoll/engine/host_map.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/future.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/rpc.hpp>

namespace upcxx::inline UPCXX_MODE {
namespace detail {

#ifdef __clang__
/// Clang computes where the member of a virtual base is in an object of just this class, too. But it knows that no
/// offset leads there.
#define ATOLL_MEMBEROF_KNOWN(...)                                                                  \
  , []<typename Object_>(Object_*) requires requires { __builtin_offsetof(Object_, __VA_ARGS__); } \
  {}
template <typename T, typename Known>
concept finds_without_object = std::is_invocable_v<Known, T*>;
#else
#define ATOLL_MEMBEROF_KNOWN(...)
/// An object that is never there: only its address is looked at, while compiling.
template <typename T>
union place_for {
  char nothing;
  T object;
  place_for();
  ~place_for();
};
template <typename T>
struct somewhere {
  static place_for<T> place;
};

/// The compiler finds the member without an object, so there is no virtual base on the way.
template <typename T, typename Select>
concept finds_without_object = requires {
  typename std::bool_constant<(Select()(&somewhere<T>::place.object), true)>;
};
#endif

/// The member lies at the same offset in every object. A class with a virtual base is neither trivially
/// copyable nor an aggregate nor standard-layout; what else the compiler cannot tell is asked.
template <typename T, typename Known>
constexpr bool has_constant_offset() {
  if constexpr (std::is_standard_layout_v<T> || std::is_trivially_copyable_v<T> || std::is_aggregate_v<T>) {
    return true;
  } else if constexpr (std::is_abstract_v<T>) {
    return false;  // there is no object of just this class
  } else {
    return finds_without_object<T, Known>;
  }
}

/// Distance from an object to its member, by looking at the object.
template <typename T, typename Select>
[[nodiscard]] std::size_t memberof_distance(T* object, Select select) noexcept {
  return reinterpret_cast<std::uintptr_t>(select(object)) - reinterpret_cast<std::uintptr_t>(object);
}

template <typename U, bool Reference, typename T, memory_kind Kind, typename Select, typename Known = Select>
ATOLL_NODISCARD_FUTURE future<global_ptr<std::remove_all_extents_t<U>, Kind>> memberof_general(
    global_ptr<T, Kind> pointer, Select select, Known = {}) {
  static_assert(
      !Reference,
      "upcxx_memberof_general: the member must not be a reference nor an element of an array; take the array "
      "and add the index to the result");
  static_assert(sizeof(T) > 0, "upcxx_memberof_general: the type of the object must be complete");
  constexpr bool constant = has_constant_offset<T, Known>();
  static_assert(
      constant || Kind == memory_kind::host || Kind == memory_kind::any,
      "upcxx_memberof_general: the member is of a virtual base, whose place only the object knows, and "
      "objects in device memory cannot be asked");
  ATOLL_CHECK(!pointer.is_null(), "upcxx_memberof_general: the pointer is null");
  if constexpr (constant) {
    return upcxx::make_future(
        detail::memberof<U, false>(pointer, detail::memberof_constant_offset<T>(select)));
  } else {
    // Only the owner can look: virtual bases are found through a pointer to a table of the owner's program,
    // which lies elsewhere in its peers, although they can read the object.
    if (pointer.dynamic_kind() == memory_kind::host &&
        global_ptr_access::rank(pointer) == atl::engine::hosts.own_rank()) {
      return upcxx::make_future(
          detail::memberof<U, false>(pointer, detail::memberof_distance(pointer.local(), select)));
    }
    ATOLL_CHECK(pointer.dynamic_kind() == memory_kind::host,
                "upcxx_memberof_general: an object in device memory cannot be asked for its virtual bases");
    // The function that selects has no captures: its type is all that the owner needs.
    return upcxx::rpc(
        pointer.where(),
        [](global_ptr<T, Kind> const& here) {
          return detail::memberof<U, false>(here, detail::memberof_distance(here.local(), Select()));
        },
        pointer);
  }
}

}  // namespace detail
}  // namespace upcxx::inline UPCXX_MODE

/// Future of the global pointer to a member of the live object behind a global pointer; for an array, to its
/// first scalar. Ready at once where the member's place is the same in all objects of the class or the object
/// is one's own; else the owner is asked, and the future is readied in user-level progress of the calling
/// persona. `pointer` is evaluated once. The member must not be a reference, nor an element of an array.
#define upcxx_memberof_general(pointer, ...)                                                                \
  (::upcxx::detail::memberof_general<                                                                       \
      ATOLL_MEMBEROF_TYPE(pointer, __VA_ARGS__),                                                            \
      ::std::is_reference_v<                                                                                \
          decltype(::std::declval<::upcxx::detail::memberof_element<decltype(pointer)>*>()->__VA_ARGS__)>>( \
      (pointer), ATOLL_MEMBEROF_SELECT(pointer, __VA_ARGS__) ATOLL_MEMBEROF_KNOWN(__VA_ARGS__)))
