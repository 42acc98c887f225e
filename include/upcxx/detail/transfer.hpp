#pragma once

/// Copies between memories that this process can address.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <atoll/engine/host_map.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::rt {
/// Ends the job: no transport of this job reaches the memory of that rank.
[[noreturn]] ATOLL_EXPORT ATOLL_COLD void unreachable_memory(char const* operation, std::int32_t rank);
}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE::detail {

/// Address in this process of host memory that must be addressable. Checked builds look at it first; `role`
/// is what it is to the operation ("source", "destination").
template <class T>
ATOLL_INLINE T* addressable(global_ptr<T> pointer, std::size_t count, char const* operation,
                            char const* role) {
  check_range(pointer, count, operation, role);
  if (pointer.is_null()) return nullptr;
  std::byte* const region = atl::engine::hosts.find_region(static_cast<std::uint32_t>(pointer.where()));
  if (region == nullptr) [[unlikely]]
    atl::rt::unreachable_memory(operation, pointer.where());
  return reinterpret_cast<T*>(region + global_ptr_access::address(pointer));
}

/// Copies `count` objects byte by byte; a constant count of small objects becomes plain loads and stores.
template <class T>
ATOLL_INLINE void copy_objects(T* target, T const* source, std::size_t count) {
  if (count != 0)
    std::memcpy(static_cast<void*>(target), static_cast<void const*>(source), count * sizeof(T));
}

}  // namespace upcxx::inline UPCXX_MODE::detail
