#pragma once

#include <exception>

#include <upcxx/collectives.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Each rank allocates, by allocate(), what all of them need, or all of them throw: who has no room what that throws, the others
/// bad_shared_alloc with the words `elsewhere`. Collective over `over`; user-level progress.
template <class Allocate>
void allocate_together(Allocate const& allocate, upcxx::team const& over, char const* elsewhere) {
  std::exception_ptr no_room;
  try {
    allocate();
  } catch (upcxx::bad_shared_alloc const&) {
    no_room = std::current_exception();
  }
  bool const anywhere = upcxx::reduce_all(no_room != nullptr ? 1 : 0, upcxx::op_fast_max, over).wait() != 0;
  if (no_room != nullptr) std::rethrow_exception(no_room);
  if (anywhere) throw upcxx::bad_shared_alloc(elsewhere);
}

}  // namespace atl::inline UPCXX_MODE::detail
