#pragma once

/// experimental::destroy_heap and restore_heap: the memory of the shared heaps for something else,
/// for a while.

#include <upcxx/detail/config.hpp>

namespace atl::rt {
ATOLL_EXPORT void destroy_heap();
ATOLL_EXPORT void restore_heap();
}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE::experimental {

/// Ends the shared heap of every rank and gives its memory back to the system. What lies in it is gone;
/// operations on it must be complete, and atl::device_teams, whose kernels use it, destroyed. Objects that own
/// memory there, as atl::dist_array, atl::transfer and atl::neighbors do, may still be destructed, and no more.
/// Until restore_heap, allocation throws bad_shared_alloc; everything else works. Collective over world().
///
/// @progress  user.
inline void destroy_heap() { atl::rt::destroy_heap(); }

/// A fresh heap of the size that the first one had, after destroy_heap. Collective over world(). Stops the
/// job when the memory cannot be had again.
///
/// @progress  user.
inline void restore_heap() { atl::rt::restore_heap(); }

}  // namespace upcxx::inline UPCXX_MODE::experimental
