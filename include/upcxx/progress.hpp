#pragma once

/// Progress. Specification chapter "Progress".

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/detail/runtime.hpp>
#include <upcxx/persona.hpp>

namespace upcxx::inline UPCXX_MODE {

/// How far a call may go: `internal` moves the library's state without any notification that the program
/// could see; `user` also runs callbacks and readies futures.
enum class progress_level { internal, user };

/// Makes progress for the personas on the calling thread's stack. Inside a callback only internal
/// progress is made.
inline void progress(progress_level level = progress_level::user) {
  if (level == progress_level::user) {
    atl::rt::progress_or_yield();
  } else {
    atl::rt::progress_internal();
  }
}

/// True iff the calling thread runs a callback inside user-level progress (the restricted context).
inline bool in_progress() { return atl::rt::in_restricted_context(); }

namespace detail {
/// Checked builds stop unless the calling thread may name that scope.
inline void check_own_scope([[maybe_unused]] persona_scope& ps, [[maybe_unused]] char const* what) {
#if ATOLL_CHECKED
  atl::rt::check_own_scope(detail::state_of(ps), what);
#endif
}
}  // namespace detail

/// True if outgoing work of the personas from `ps` up to the top of the stack still needs internal progress
/// to be sure to reach its destinations.
///
/// @progress  none.
inline bool progress_required(persona_scope& ps = top_persona_scope()) {
  detail::check_own_scope(ps, "progress_required");
  return atl::rt::progress_required();
}

/// Makes internal progress until `progress_required(ps)` is false. Not for callbacks.
inline void discharge(persona_scope& ps = top_persona_scope()) {
  detail::check_own_scope(ps, "discharge");
  ATOLL_CHECK(
      !in_progress(),
      "discharge: called inside a callback (the restricted context), where what it waits for may need this "
      "thread; call it from ordinary code");
  atl::rt::discharge();
}

}  // namespace upcxx::inline UPCXX_MODE
