#pragma once

/// Ends of copies in any memory: raw and global pointers, and the same as bytes.

#include <cstddef>
#include <type_traits>

#include <upcxx/detail/config.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// A raw pointer, or a global one of any kind.
template <class End>
inline constexpr bool is_copy_end = std::is_pointer_v<End>;
template <class T, upcxx::memory_kind Kind>
inline constexpr bool is_copy_end<upcxx::global_ptr<T, Kind>> = true;
template <class End>
concept copy_end = is_copy_end<End>;

/// So many bytes further.
template <class T, upcxx::memory_kind Kind>
auto bytes_at(upcxx::global_ptr<T, Kind> end, std::ptrdiff_t moved) {
  using byte = std::conditional_t<std::is_const_v<T>, std::byte const, std::byte>;
  return upcxx::reinterpret_pointer_cast<byte>(end) + moved;
}
template <class T>
auto bytes_at(T* end, std::ptrdiff_t moved) {
  using byte = std::conditional_t<std::is_const_v<T>, std::byte const, std::byte>;
  return reinterpret_cast<byte*>(end) + moved;
}

/// The rank that hears of remote completion: here for null, which an empty View may have.
template <class T, upcxx::memory_kind Kind>
upcxx::intrank_t rank_of_end(upcxx::global_ptr<T, Kind> dest) {
  return dest ? dest.where() : upcxx::rank_me();
}
template <class T>
upcxx::intrank_t rank_of_end(T*) {
  return upcxx::rank_me();
}

}  // namespace atl::inline UPCXX_MODE::detail
