#pragma once

/// One-sided put and get. Specification chapter "One-sided communication".
///
/// Transfers to memory of this host are complete when the call returns; with eager completion the returned
/// future is then ready, and nothing is allocated. Those to other hosts complete during progress.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <upcxx/completion.hpp>
#include <upcxx/detail/completion_now.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/remote_transfer.hpp>
#include <upcxx/detail/remote_value.hpp>
#include <upcxx/detail/transfer.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace upcxx::inline UPCXX_MODE {

/// Stores `value` at `dest` (one-sided put).
///
/// @param dest         one object of host memory, of any rank; not null.
/// @param completions  remote and operation completion; the former runs on the master persona
///                     of `dest.where()`.
/// @return             by the completions asked for; by default a future without values,
///                     ready when the store is done.
/// @progress           internal. Never runs callbacks.
template <typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rput(T value, global_ptr<T> dest, Cx&& completions = operation_cx::as_future()) {
  static_assert(is_trivially_serializable<T>::value,
                "rput: T must be TriviallySerializable; use rpc() to send other types");
  detail::check_injection("rput");
  using events = detail::operation_events<false, true, true>;
  T* const target = detail::address_here(dest, 1, "rput", "destination");
  if (target == nullptr) [[unlikely]] {
    return detail::take_in(detail::put_value_remotely<events>("rput", detail::owner_word(dest),
                                                              detail::address_word(dest), std::move(value),
                                                              detail::handed_over<Cx>(completions)));
  }
  detail::copy_objects(target, std::addressof(value), 1);
  detail::send_remote_completions(dest.where(), completions);
  return detail::complete_now<events>(std::forward<Cx>(completions));
}

/// Copies an array from private memory into host memory of any rank (one-sided put).
///
/// @param src    `count` contiguous objects; must not change until source or operation completion.
/// @param dest   first of `count` contiguous objects; the regions must not overlap.
///               Neither pointer may be null.
/// @param count  objects, not bytes. Zero is allowed; all notifications are still delivered.
/// @return       by the completions asked for (source, remote, operation).
/// @progress     internal. Never runs callbacks.
template <typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rput(T const* src, global_ptr<T> dest, std::size_t count,
                                 Cx&& completions = operation_cx::as_future()) {
  static_assert(is_trivially_serializable<T>::value,
                "rput: T must be TriviallySerializable; use rpc() to send other types");
  detail::check_injection("rput");
  detail::check_buffer(src, "rput", "source");
  using events = detail::operation_events<true, true, true>;
  T* const target = detail::address_here(dest, count, "rput", "destination");
  if (target == nullptr) [[unlikely]] {
    return detail::take_in(detail::transfer_remotely<events>(
        "rput", detail::owner_word(dest), detail::address_word(dest), detail::owner_word(src),
        detail::address_word(src), count * sizeof(T), dest.where(), detail::handed_over<Cx>(completions)));
  }
  detail::check_disjoint(target, src, count, "rput");
  detail::copy_objects(target, src, count);
  detail::send_remote_completions(dest.where(), completions);
  return detail::complete_now<events>(std::forward<Cx>(completions));
}

/// Fetches the object at `src` (one-sided get).
///
/// @return    by the completions asked for; by default a future of the value.
/// @progress  internal. Never runs callbacks.
template <typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rget(global_ptr<T const> src, Cx&& completions = operation_cx::as_future()) {
  using value_type = std::remove_const_t<T>;
  static_assert(is_trivially_serializable<value_type>::value,
                "rget: T must be TriviallySerializable; use rpc() to fetch other types");
  detail::check_injection("rget");
  T const* const source = detail::address_here(src, 1, "rget", "source");
  if (source == nullptr) [[unlikely]]
    return detail::take_in(detail::fetch_remotely<value_type>(
        "rget", detail::owner_word(src), detail::address_word(src), detail::handed_over<Cx>(completions)));
  return detail::complete_now<detail::operation_events<false, false, true, detail::type_list<value_type>>>(
      std::forward<Cx>(completions), *source);
}

/// Copies an array from host memory of any rank into private memory (one-sided get).
///
/// @param src    first of `count` contiguous objects.
/// @param dest   room for `count` objects; must not be touched until operation completion.
/// @param count  objects, not bytes. Zero is allowed; all notifications are still delivered.
/// @return       by the completions asked for; by default a future without values.
/// @progress     internal. Never runs callbacks.
template <typename T, typename Cx = decltype(operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto rget(global_ptr<T const> src, T* dest, std::size_t count,
                                 Cx&& completions = operation_cx::as_future()) {
  static_assert(is_trivially_serializable<T>::value,
                "rget: T must be TriviallySerializable; use rpc() to fetch other types");
  detail::check_injection("rget");
  detail::check_buffer(dest, "rget", "destination");
  using events = detail::operation_events<false, false, true>;
  T const* const source = detail::address_here(src, count, "rget", "source");
  if (source == nullptr) [[unlikely]] {
    return detail::take_in(detail::transfer_remotely<events>(
        "rget", detail::owner_word(dest), detail::address_word(dest), detail::owner_word(src),
        detail::address_word(src), count * sizeof(T), rank_me(), detail::handed_over<Cx>(completions)));
  }
  detail::check_disjoint<T>(dest, source, count, "rget");
  detail::copy_objects(dest, source, count);
  return detail::complete_now<events>(std::forward<Cx>(completions));
}

}  // namespace upcxx::inline UPCXX_MODE
