#pragma once

/// Checks, in checked builds, that memory named by a global pointer can be what an operation is about, and
/// that the calling thread may communicate. Operations call them first; in opt mode they are empty.

#include <cstddef>
#include <cstdint>

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::rt {

/// `count` elements of `element_bytes` at a place that a global pointer names.
struct remote_range {
  std::uint64_t owner;    ///< as in global_ptr: rank, segment and kind
  std::uint64_t address;  ///< as in global_ptr; 0 is null
  std::size_t count;
  std::size_t element_bytes;
  std::size_t alignment;
  bool in_one_allocation = true;  ///< else with gaps, which may be anybody's
};

/// Ends the job, saying what is wrong, unless the range can exist: not null, of a rank of this job, aligned,
/// and inside that rank's shared heap, or in one live allocation if it is device memory of this rank.
/// @param call  for the message, such as "rput".
/// @param role  what the range is to the call, such as "destination".
ATOLL_EXPORT void check_range(remote_range const& range, char const* call, char const* role) noexcept;

/// Ends the job in any code mode: a run of a list is null, or in memory that this process does not address, other than the first one.
[[noreturn]] ATOLL_EXPORT ATOLL_COLD void refuse_run(std::uint64_t owner, std::uint64_t address,
                                                     char const* call, char const* role) noexcept;

/// Ends the job unless the library is initialised and this thread may talk to other ranks: any thread in the
/// par thread mode, in seq only one whose current persona is the master persona.
ATOLL_EXPORT void check_injection(char const* call) noexcept;

/// Ends the job unless this thread may allocate and free in the shared heap: any thread in the par thread
/// mode, in seq only one that holds the master persona.
ATOLL_EXPORT void check_heap_use(char const* call) noexcept;

/// Ends the job if `bytes` bytes at the two addresses overlap, unless these are equal.
ATOLL_EXPORT void check_disjoint(void const* dest, void const* source, std::size_t bytes,
                                 char const* call) noexcept;

}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE::detail {

/// As above for `count` objects from `pointer` on. Null is an error even if `count` is 0.
template <class T, memory_kind Kind>
ATOLL_INLINE void check_range([[maybe_unused]] global_ptr<T, Kind> const& pointer,
                              [[maybe_unused]] std::size_t count, [[maybe_unused]] char const* call,
                              [[maybe_unused]] char const* role) {
#if ATOLL_CHECKED
  atl::rt::check_range(
      {global_ptr_access::owner(pointer), global_ptr_access::address(pointer), count, sizeof(T), alignof(T)},
      call, role);
#endif
}

/// Memory of this process that an operation reads or writes: null is an error even if `count` is 0.
ATOLL_INLINE void check_buffer([[maybe_unused]] void const* buffer, [[maybe_unused]] char const* call,
                               [[maybe_unused]] char const* role) {
  ATOLL_CHECK(buffer != nullptr, "%s: the %s is a null pointer; give it a buffer, also for no elements", call,
              role);
}

/// As atl::rt::check_injection.
ATOLL_INLINE void check_injection([[maybe_unused]] char const* call) {
#if ATOLL_CHECKED
  atl::rt::check_injection(call);
#endif
}

/// As atl::rt::check_heap_use.
ATOLL_INLINE void check_heap_use([[maybe_unused]] char const* call) {
#if ATOLL_CHECKED
  atl::rt::check_heap_use(call);
#endif
}

/// Ends the job, in checked builds, if `count` objects from `dest` on and from `source` on overlap, unless these are
/// equal.
template <class T>
ATOLL_INLINE void check_disjoint([[maybe_unused]] T const* dest, [[maybe_unused]] T const* source,
                                 [[maybe_unused]] std::size_t count, [[maybe_unused]] char const* call) {
#if ATOLL_CHECKED
  atl::rt::check_disjoint(dest, source, count * sizeof(T), call);
#endif
}

}  // namespace upcxx::inline UPCXX_MODE::detail
