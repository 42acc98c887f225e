#pragma once

/// Copies between any two memories. Specification chapter "Memory kinds".

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <upcxx/completion.hpp>
#include <upcxx/detail/completion_now.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/transfer.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace upcxx::inline UPCXX_MODE {

namespace detail {

using copy_events = operation_events<true, true, true>;

/// Address in this process of one end of a copy.
template <class T, memory_kind Kind>
T* copy_end(global_ptr<T, Kind> pointer, std::size_t count, char const* role) {
  if constexpr (Kind == memory_kind::host) {
    return addressable(pointer, count, "copy", role);
  } else {
    check_range(pointer, count, "copy", role);
    if (pointer.dynamic_kind() != memory_kind::host) {
      atl::rt::unknown_device("copy", static_cast<int>(pointer.dynamic_kind()));
    }
    return addressable(static_kind_cast<memory_kind::host>(static_kind_cast<memory_kind::any>(pointer)),
                       count, "copy", role);
  }
}

template <class T, class Cx>
auto copy_now(T const* src, T* dest, std::size_t count, std::int32_t owner, Cx const& completions) {
  static_assert(is_trivially_serializable<T>::value, "copy: T must be TriviallySerializable");
  check_injection("copy");
  copy_objects(dest, src, count);
  send_remote_completions(owner, completions);
  return complete_now<copy_events>(completions);
}

}  // namespace detail

/// Copies an array from shared memory to shared memory, whoever owns either (one-sided).
///
/// @param src    first of `count` contiguous objects; unmodified until source or operation completion.
/// @param dest   room for `count` objects; the regions must not overlap. Neither pointer may be null.
/// @param count  objects, not bytes. Zero is allowed; all notifications are still delivered.
/// @param completions  source, remote (on the master persona of `dest.where()`) and operation completion.
/// @progress     internal. Never runs callbacks.
template <typename T, memory_kind Kind1, memory_kind Kind2, typename Cx = decltype(operation_cx::as_future())>
auto copy(global_ptr<T const, Kind1> src, global_ptr<T, Kind2> dest, std::size_t count,
          Cx&& completions = operation_cx::as_future()) {
  return detail::copy_now<T>(detail::copy_end(src, count, "source"),
                             detail::copy_end(dest, count, "destination"), count, dest.where(), completions);
}

/// Copies an array from host memory of this process (private or shared) to shared memory.
template <typename T, memory_kind Kind, typename Cx = decltype(operation_cx::as_future())>
auto copy(T const* src, global_ptr<T, Kind> dest, std::size_t count,
          Cx&& completions = operation_cx::as_future()) {
  detail::check_buffer(src, "copy", "source");
  return detail::copy_now<T>(src, detail::copy_end(dest, count, "destination"), count, dest.where(),
                             completions);
}

/// Copies an array from shared memory to host memory of this process; remote completion is delivered here.
template <typename T, memory_kind Kind, typename Cx = decltype(operation_cx::as_future())>
auto copy(global_ptr<T const, Kind> src, T* dest, std::size_t count,
          Cx&& completions = operation_cx::as_future()) {
  detail::check_buffer(dest, "copy", "destination");
  return detail::copy_now<T>(detail::copy_end(src, count, "source"), dest, count, rank_me(), completions);
}

}  // namespace upcxx::inline UPCXX_MODE
