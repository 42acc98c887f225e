#pragma once

/// Personas: receivers of notifications, and the scopes that make them active on a thread.
/// Specification chapter "Progress".

#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/lpc.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/fwd.hpp>

namespace upcxx::inline UPCXX_MODE {

/// A receiver of notifications and the owner of the operations initiated while it was current.
/// At most one thread at a time has it on its stack. Construction and destruction are allowed
/// while the library is not initialised.
class persona : private atl::rt::persona_state {
 public:
  persona() = default;
#if ATOLL_CHECKED
  ~persona() { atl::rt::check_persona_end(*this); }
#endif
  persona(persona const&) = delete;
  persona& operator=(persona const&) = delete;

  /// Queues `func` to run, without arguments, in user-level progress of this persona. From any thread; never
  /// runs inside the call. What is sequenced before the call happens before the run of `func`.
  ///
  /// @progress  none.
  template <typename Func>
  void lpc_ff(Func&& func) {
    detail::enqueue_lpc(*this, std::forward<Func>(func));
  }

  /// As `lpc_ff`, and returns a future of the result, owned by the caller's current persona.
  ///
  /// @return    future of the decayed result; of a reference for an lvalue reference;
  ///            the values of a future result. It is never ready if nobody can make that one ready any more.
  template <typename Func>
  ATOLL_NODISCARD_FUTURE auto lpc(Func&& func) {
    return detail::enqueue_lpc_round_trip(*this, std::forward<Func>(func));
  }

  /// True iff this persona is on the calling thread's stack.
  bool active_with_caller() const { return atl::rt::held_by_caller(*this); }

 private:
  friend struct detail::persona_access;
};

/// An entry on the calling thread's stack of active personas; the youngest one's persona is the current
/// persona. Scopes of a thread end in the reverse order of their construction.
class persona_scope : private atl::rt::scope_state {
 public:
  /// Makes `p` current. `p` must not be active on another thread.
  persona_scope(persona& p) { atl::rt::push_scope(*this, detail::persona_access::state(p)); }

  /// Locks `mutex` first, and unlocks it after the persona has left the stack.
  template <typename Mutex>
  persona_scope(Mutex& m, persona& p) {
    m.lock();
    mutex = &m;
    unlock = [](void* locked) { static_cast<Mutex*>(locked)->unlock(); };
    atl::rt::push_scope(*this, detail::persona_access::state(p));
  }

  persona_scope(persona_scope&& other) { atl::rt::relocate_scope(other, *this); }
  persona_scope(persona_scope const&) = delete;
  persona_scope& operator=(persona_scope const&) = delete;

  ~persona_scope() {
    if (active == nullptr) return;  // moved from
    atl::rt::pop_scope(*this);
    if (unlock != nullptr) unlock(mutex);
  }

 private:
  friend struct detail::persona_access;
};

namespace detail {

// The runtime's personas and scopes have no other members than their state, so a state is one.
static_assert(sizeof(persona) == sizeof(atl::rt::persona_state));
static_assert(sizeof(persona_scope) == sizeof(atl::rt::scope_state));

inline persona& persona_access::from(atl::rt::persona_state& state) { return static_cast<persona&>(state); }
inline atl::rt::persona_state& persona_access::state(persona& p) { return p; }
inline persona_scope& persona_access::from(atl::rt::scope_state& state) {
  return static_cast<persona_scope&>(state);
}
inline atl::rt::scope_state& persona_access::state(persona_scope& s) { return s; }

inline atl::rt::scope_state& state_of(persona_scope& s) { return persona_access::state(s); }
inline atl::rt::persona_state& state_of(persona& p) { return persona_access::state(p); }

}  // namespace detail

/// The persona that runs incoming RPCs and that collectives need.
inline persona& master_persona() { return detail::persona_access::from(atl::rt::master_persona()); }
/// Top of the calling thread's stack (inside a callback: the persona that the callback runs for).
inline persona& current_persona() { return detail::persona_access::from(*atl::rt::this_thread().current); }
/// Bottom of the calling thread's stack; never leaves it.
inline persona& default_persona() {
  return detail::persona_access::from(atl::rt::this_thread().default_persona);
}
inline persona_scope& top_persona_scope() {
  return detail::persona_access::from(*atl::rt::this_thread().top);
}
inline persona_scope& default_persona_scope() {
  return detail::persona_access::from(atl::rt::this_thread().bottom);
}

/// Takes the master persona off the stack of the thread that called `init`, so that another thread may take
/// it with a `persona_scope`. A thread that is not the process's first one calls this, or `finalize`, before it ends.
inline void liberate_master_persona() { atl::rt::liberate_master(); }

}  // namespace upcxx::inline UPCXX_MODE
