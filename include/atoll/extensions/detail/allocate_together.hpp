#pragma once

#include <cstdio>
#include <exception>

#include <upcxx/collectives.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Whether it is so on all ranks. Collective over `over`; user-level progress.
inline bool on_all(bool here, upcxx::team const& over) {
  return upcxx::reduce_all(here ? 1 : 0, upcxx::op_fast_min, over).wait() != 0;
}

/// Each rank allocates, by allocate(), what all of them need, or all of them throw: who has no room what that throws, the others
/// bad_shared_alloc with the words "CALL: rank R has no WHAT". Collective over `over`; user-level progress.
template <class Allocate>
void allocate_together(Allocate const& allocate, upcxx::team const& over, char const* call,
                       char const* what) {
  std::exception_ptr no_room;
  try {
    allocate();
  } catch (upcxx::bad_shared_alloc const&) {
    no_room = std::current_exception();
  }
  upcxx::intrank_t const none = -1;
  upcxx::intrank_t const where =
      upcxx::reduce_all(no_room != nullptr ? over.rank_me() : none, upcxx::op_fast_max, over).wait();
  if (no_room != nullptr) std::rethrow_exception(no_room);
  if (where == none) return;
  char text[200];
  std::snprintf(text, sizeof text, "%s: rank %d has no %s", call, static_cast<int>(over[where]), what);
  throw upcxx::bad_shared_alloc(text);
}

}  // namespace atl::inline UPCXX_MODE::detail
