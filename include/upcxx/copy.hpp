#pragma once

/// Copies between any two memories. Specification chapter "Memory kinds".

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <upcxx/completion.hpp>
#include <upcxx/detail/completion_now.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/device_runtime.hpp>
#include <upcxx/detail/late_copy.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/remote_transfer.hpp>
#include <upcxx/detail/transfer.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace upcxx::inline UPCXX_MODE {

namespace detail {

using copy_events = operation_events<true, true, true>;

/// Whether the type of one end says that it is in host memory.
template <class End>
inline constexpr bool known_on_host = false;
template <class T>
inline constexpr bool known_on_host<T*> = true;
template <class T>
inline constexpr bool known_on_host<global_ptr<T, memory_kind::host>> = true;

/// Null is treated like host memory, whose checks refuse it.
template <class T, memory_kind Kind>
bool on_host(global_ptr<T, Kind> pointer) {
  return pointer.dynamic_kind() == memory_kind::host;
}
template <class T>
constexpr bool on_host(T*) {
  return true;
}

/// Address in this process of an end in host memory; null if it has none.
template <class T, memory_kind Kind>
T* host_address(global_ptr<T, Kind> pointer, std::size_t count, char const* role) {
  return detail::address_here(global_ptr_access::make<T, memory_kind::host>(
                                  global_ptr_access::owner(pointer), global_ptr_access::address(pointer)),
                              count, "copy", role);
}
template <class T>
T* host_address(T* pointer, std::size_t, char const* role) {
  detail::check_buffer(pointer, "copy", role);
  return pointer;
}

template <class T, memory_kind Kind>
atl::engine::memory_place place_of(global_ptr<T, Kind> pointer, std::size_t count, char const* role) {
  detail::check_range(pointer, count, "copy", role);
  return {global_ptr_access::owner(pointer), global_ptr_access::address(pointer)};
}
template <class T>
atl::engine::memory_place place_of(T* pointer, std::size_t count, char const* role) {
  return {0, reinterpret_cast<std::uintptr_t>(detail::host_address(pointer, count, role))};
}

/// For copies that happen later; the other ones compare addresses of this process.
ATOLL_INLINE void check_apart([[maybe_unused]] atl::engine::memory_place const& dest,
                              [[maybe_unused]] atl::engine::memory_place const& source,
                              [[maybe_unused]] std::size_t bytes) {
#if ATOLL_CHECKED
  if (dest.owner != source.owner) return;
  atl::rt::check_disjoint(reinterpret_cast<void const*>(dest.address),
                          reinterpret_cast<void const*>(source.address), bytes, "copy");
#endif
}

/// Copies between host memories that this process addresses happen at once, others later. Remote completion goes to rank `owner`.
template <class T, class From, class To, class Cx>
auto copy_between(From src, To dest, std::size_t count, std::int32_t owner, Cx&& completions) {
  static_assert(is_trivially_serializable<T>::value, "copy: T must be TriviallySerializable");
  check_injection("copy");
  constexpr char const* from = "source";
  constexpr char const* to = "destination";
  if constexpr (!known_on_host<From> || !known_on_host<To>) {
    if (!detail::on_host(src) || !detail::on_host(dest)) {
      auto const target = detail::place_of(dest, count, to);
      auto const source = detail::place_of(src, count, from);
      detail::check_apart(target, source, count * sizeof(T));
      return detail::copy_later(target, source, count * sizeof(T), owner, std::forward<Cx>(completions));
    }
  }
  T* const target = detail::host_address(dest, count, to);
  T const* const source = detail::host_address(src, count, from);
  if constexpr (!std::is_pointer_v<From> || !std::is_pointer_v<To>) {
    if ((!std::is_pointer_v<To> && target == nullptr) || (!std::is_pointer_v<From> && source == nullptr))
        [[unlikely]]
      return detail::take_in(detail::transfer_remotely<copy_events>(
          "copy", detail::owner_word(dest), detail::address_word(dest), detail::owner_word(src),
          detail::address_word(src), count * sizeof(T), owner, detail::handed_over<Cx>(completions)));
  }
  detail::check_disjoint<T>(target, source, count, "copy");
  detail::copy_objects(target, source, count);
  detail::send_remote_completions(owner, completions);
  return detail::complete_now<copy_events>(std::forward<Cx>(completions));
}

/// By the library itself or, where the completions say so, in a stream of the program.
template <class T, class From, class To, class Cx>
auto copy_as_asked(From src, To dest, std::size_t count, std::int32_t owner, Cx&& completions) {
  if constexpr (goes_into_stream<std::remove_cvref_t<Cx>>) {
    static_assert(is_trivially_serializable<T>::value, "copy: T must be TriviallySerializable");
    check_injection("copy");
    // Of <atoll/stream.hpp>, as the request is.
    auto const target = detail::place_of(dest, count, "destination");
    auto const source = detail::place_of(src, count, "source");
    detail::check_apart(target, source, count * sizeof(T));
    return start_in_stream(target, source, count * sizeof(T), owner, std::forward<Cx>(completions));
  } else {
    static_assert(
        !needs_stream<std::remove_cvref_t<Cx>>,
        "copy: as_signal needs on_stream(), as it is the stream that orders signal and data; elsewhere ask for as_rpc");
    return detail::copy_between<T>(src, dest, count, owner, std::forward<Cx>(completions));
  }
}

}  // namespace detail

/// Copies an array from shared memory to shared memory, whoever owns either and whatever kinds they are
/// (one-sided). Copies between host memories of this host are complete when the call returns; where a device or
/// another host is concerned, progress completes them later, and in any order.
///
/// @param src    first of `count` contiguous objects; unmodified until source or operation completion.
/// @param dest   room for `count` objects; the regions must not overlap. Neither pointer may be null.
/// @param count  objects, not bytes. Zero is allowed; all notifications are still delivered.
/// @param completions  source, remote (on the master persona of `dest.where()`) and operation completion.
/// @progress     internal. Never runs callbacks.
template <typename T, memory_kind Kind1, memory_kind Kind2, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy(global_ptr<T const, Kind1> src, global_ptr<T, Kind2> dest, std::size_t count,
                                 Cx&& completions = operation_cx::as_future()) {
  return detail::copy_as_asked<T>(src, dest, count, dest.where(), std::forward<Cx>(completions));
}

/// Copies an array from host memory of this process (private or shared) to shared memory.
template <typename T, memory_kind Kind, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy(T const* src, global_ptr<T, Kind> dest, std::size_t count,
                                 Cx&& completions = operation_cx::as_future()) {
  return detail::copy_as_asked<T>(src, dest, count, dest.where(), std::forward<Cx>(completions));
}

/// Copies an array from shared memory to host memory of this process; remote completion is delivered here.
template <typename T, memory_kind Kind, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy(global_ptr<T const, Kind> src, T* dest, std::size_t count,
                                 Cx&& completions = operation_cx::as_future()) {
  return detail::copy_as_asked<T>(src, dest, count, rank_me(), std::forward<Cx>(completions));
}

}  // namespace upcxx::inline UPCXX_MODE
