#pragma once

/// Start and end of the library, and the environment of the console.
/// Specification chapter "Init and finalize".

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/persona_state.hpp>

namespace upcxx::inline UPCXX_MODE {

/// Starts the library. Collective over the job; counted: only the first call does work, deeper ones neither
/// communicate nor make progress. On return the calling thread holds the master persona.
///
/// Stops the job with a message if the ranks' memory for messages cannot be had, or the address space of the shared heaps
/// (UPCXX_SHARED_HEAP_SIZE). Memory of heaps is taken when it is allocated.
inline void init() {
#if defined(UPCXX_THREADMODE) && UPCXX_THREADMODE
  atl::rt::init(true, ATOLL_CHECKED != 0);
#else
  atl::rt::init(false, ATOLL_CHECKED != 0);
#endif
}

/// True iff some `init` has no matching `finalize` yet. May be called at any time.
inline bool initialized() { return atl::rt::initialized(); }

/// Ends what the matching `init` began. Collective over the job; the call that matches the outermost `init`
/// waits for all ranks. All operations must be complete; shared objects and handles are invalid afterwards. A
/// later `init` starts a new period with fresh heaps.
///
/// @progress  user.
inline void finalize() { atl::rt::finalize(ATOLL_CHECKED != 0); }

/// UPCXX_VERSION and UPCXX_SPEC_VERSION, as functions. May be called at any time.
[[nodiscard]] constexpr long release_version() { return UPCXX_VERSION; }
[[nodiscard]] constexpr long spec_version() { return UPCXX_SPEC_VERSION; }

/// Like std::getenv, but a value set in the environment of the console that started the job wins.
///
/// @return    null if set in neither; owned by the library, valid until the next call.
/// @progress  none.
inline char* getenv_console(char const* env_var) {
  ATOLL_CHECK(initialized(), "getenv_console: called before upcxx::init or after upcxx::finalize");
  return atl::rt::getenv_console(env_var);
}

}  // namespace upcxx::inline UPCXX_MODE
