#pragma once

/// What the files of the runtime share among themselves.

#include <cstddef>

#include <upcxx/detail/persona_state.hpp>

namespace atl::rt {

/// Puts the master persona on the calling thread's stack, if it is not there.
void acquire_master();
void drop_master_scope() noexcept;

/// Is it an entry of the thread's stack? It may be gone: only its address is looked at.
bool on_stack(thread_state const& t, scope_state const* scope) noexcept;

/// Runs what is queued for `persona` now, oldest first, with `persona` as the current one, which it stays; once a task
/// has taken it from this thread, no more.
bool run_tasks(thread_state& t, persona_state& persona) noexcept;

/// Whether threads that end with work for them stop the job.
void check_thread_ends(bool wanted) noexcept;
/// True if the library has ended and the program is not a checked one, which check_collective() stops: then
/// what is destroyed is gone already. Says so once.
bool past_the_end(char const* what) noexcept;

/// Calls and futures here that wait for objects or teams that do not exist (yet).
std::size_t objects_awaited() noexcept;
/// Ends what waits for objects, without running it, and forgets all objects (end of the library).
void reset_objects() noexcept;
/// Gives world() and local_team() their teams.
void bind_teams() noexcept;
/// Makes all team objects of this period inactive.
void reset_teams() noexcept;

/// From now on this rank's cells take atomic operations of other hosts' ranks, and the engine can translate them for
/// networks.
void serve_remote_atomics() noexcept;

/// Makes all device objects and allocators inactive.
void reset_devices() noexcept;

}  // namespace atl::rt
