#pragma once

/// Copies between memories that this process can address, and which those are.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <atoll/engine/host_map.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/global_ptr.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// Address in this process of host memory; null if this process cannot address it: then the operation takes its
/// remote branch. `used`: the part of the map to look at.
template <class T, class Reach = atl::engine::host_map>
ATOLL_INLINE T* unchecked_address_here(global_ptr<T> pointer, Reach const& used = atl::engine::hosts) {
  // The remote branch has words for null.
  if (pointer.is_null()) [[unlikely]]
    return nullptr;
  return reinterpret_cast<T*>(atl::engine::hosts.find_address(global_ptr_access::rank(pointer),
                                                              global_ptr_access::address(pointer), used));
}

/// The same. Checked builds look at the pointer first; `role` is what it is to the operation ("source",
/// "destination").
template <class T>
ATOLL_INLINE T* address_here(global_ptr<T> pointer, std::size_t count, char const* operation,
                             char const* role) {
  detail::check_range(pointer, count, operation, role);
  return detail::unchecked_address_here(pointer);
}

/// Copies `count` objects byte by byte; a constant count of small objects becomes plain loads and stores. So does one of a word, which may
/// be a flag: memcpy may write it twice, as glibc's does, and whoever has seen it and reset it would see it again.
template <class T>
ATOLL_INLINE void copy_objects(T* target, T const* source, std::size_t count) {
  if (sizeof(T) <= sizeof(std::uint64_t) && count == 1) {
    std::memcpy(static_cast<void*>(target), static_cast<void const*>(source), sizeof(T));
  } else if (count != 0) {
    std::memcpy(static_cast<void*>(target), static_cast<void const*>(source), count * sizeof(T));
  }
}

}  // namespace upcxx::inline UPCXX_MODE::detail
