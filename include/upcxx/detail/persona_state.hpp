#pragma once

/// Personas and threads as the runtime sees them: queues of tasks and stacks of active personas.
///
/// A persona's queue has two parts: a plain list for the thread that holds the persona, and a lock-free stack
/// that any other thread may push to. Both are unordered for the program; each is drained oldest first.

#include <atomic>
#include <cstdint>

#include <atoll/engine/team.hpp>
#include <atoll/transport/message.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::rt {

using transport::task;

struct thread_state;
struct promise_series;

/// State of one persona. At most one thread holds it (has it on its stack).
struct persona_state {
  std::atomic<thread_state*> holder{nullptr};
  std::uint32_t uses = 0;      ///< entries on the holder's stack
  std::uint32_t expected = 0;  ///< checked builds: operations under way that will notify it; the holder's
  task* first = nullptr;       ///< the holder's own list
  task* last = nullptr;
  std::atomic<task*> inbox{nullptr};  ///< newest first; pushed by other threads
  promise_series* series = nullptr;   ///< the last one begun, while it is there; the holder's

  constexpr persona_state() = default;
  persona_state(persona_state const&) = delete;
  persona_state& operator=(persona_state const&) = delete;
};

/// Short name of a persona for checks, never 0. Two personas seldom have the same one.
inline std::uint16_t persona_mark(persona_state const& persona) noexcept {
  return static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(&persona) * 0x9e3779b97f4a7c15U >> 48 |
                                    1);
}

/// An entry on a thread's persona stack.
struct scope_state {
  scope_state* below = nullptr;
  persona_state* active = nullptr;
  persona_state* current_before = nullptr;  ///< what becomes current again inside a callback
  void* mutex = nullptr;
  void (*unlock)(void*) = nullptr;
};

/// One thread. Exists from the thread's first use of the library to its end.
struct thread_state {
  scope_state* top = nullptr;
  persona_state* current = nullptr;  ///< whose work runs, or top of the stack
  bool in_user_progress = false;
  bool holds_master = false;
  std::uint8_t replies = 0;     ///< have ended so many calls of progress()
  std::uint32_t fruitless = 0;  ///< calls of progress() in a row that moved nothing
  persona_state default_persona;
  scope_state bottom;
};

extern ATOLL_EXPORT ATOLL_INITIAL_EXEC constinit thread_local thread_state* current_thread;
ATOLL_EXPORT ATOLL_COLD thread_state& attach_thread();

inline thread_state& this_thread() {
  thread_state* const t = current_thread;
  return t != nullptr ? *t : attach_thread();
}

ATOLL_EXPORT persona_state& master_persona() noexcept;
ATOLL_EXPORT void push_scope(scope_state& scope, persona_state& persona);
ATOLL_EXPORT void pop_scope(scope_state& scope) noexcept;
/// The entry moves to another address (moved persona_scope).
ATOLL_EXPORT void relocate_scope(scope_state& from, scope_state& to) noexcept;
ATOLL_EXPORT void liberate_master();
ATOLL_EXPORT void enqueue_from_elsewhere(persona_state& target, task* work);

/// Queues `work` for `target`; any thread.
inline void enqueue(persona_state& target, task* work) {
  thread_state* const t = current_thread;
  if (t != nullptr && target.holder.load(std::memory_order_relaxed) == t) [[likely]] {
    work->next = nullptr;
    if (target.last != nullptr) {
      target.last->next = work;
    } else {
      target.first = work;
    }
    target.last = work;
    return;
  }
  enqueue_from_elsewhere(target, work);
}

/// Is the persona on the calling thread's stack?
inline bool held_by_caller(persona_state const& persona) {
  return persona.holder.load(std::memory_order_relaxed) == &this_thread();
}

/// User-level or internal progress; true if anything moved.
ATOLL_EXPORT bool progress_user();
ATOLL_EXPORT bool progress_internal();
/// The same for who waits, and so runs nothing that would free memory for what comes.
ATOLL_EXPORT bool wait_internally();
/// What programs call in loops of their own: gives the core away after a few fruitless calls in a row if
/// ranks outnumber cores, and after many if they do not.
ATOLL_EXPORT void progress_or_yield();
/// Waits until every member has entered, and then runs the calls that they had sent to this rank before.
ATOLL_EXPORT void barrier(engine::team_view& team);
ATOLL_EXPORT bool progress_required() noexcept;
ATOLL_EXPORT void discharge();

/// Counted start and end of the library. `threaded`: several threads may communicate (par).
/// `checked`: threads that end with work for them stop the job. `report_leaks`: rank 0 says
/// what of the shared heaps was not freed.
ATOLL_EXPORT void init(bool threaded, bool checked = false);
ATOLL_EXPORT void finalize(bool report_leaks);
ATOLL_EXPORT bool initialized() noexcept;
ATOLL_EXPORT char* getenv_console(char const* name);

/// Checked builds: end the job unless the calling thread may start a collective now, may touch what belongs
/// to the master persona, may name that scope, or the persona may end now.
ATOLL_EXPORT void check_collective(char const* what);
/// Other builds go on, and say once that a collective was started inside a callback.
ATOLL_EXPORT ATOLL_COLD void collective_in_callback(char const* what) noexcept;
ATOLL_EXPORT void check_master(char const* what);
ATOLL_EXPORT void check_own_scope(scope_state const& scope, char const* what);
ATOLL_EXPORT void check_persona_end(persona_state const& persona) noexcept;

}  // namespace atl::rt
