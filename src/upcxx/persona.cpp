// Threads, persona stacks and queues.

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include <atoll/base/check.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/detail/runtime.hpp>

#include "base/error.hpp"
#include "engine/progress/progress_engine.hpp"
#include "upcxx/runtime_state.hpp"

namespace atl::rt {

constinit thread_local thread_state* current_thread = nullptr;

namespace {

constinit persona_state master;
/// The entry that init() puts on the stack of the thread that calls it.
constinit scope_state master_scope;

/// Whether the program's threads are checked at their end. Written at init and finalize.
constinit std::atomic<bool> ends_checked{false};

/// Work of a persona that would be lost if it went now, in words; empty if there is none.
std::string lost_with(persona_state const& persona) {
  if (persona.first != nullptr || persona.inbox.load(std::memory_order_relaxed) != nullptr) {
    return "work in its queue that would never run";
  }
  if (persona.expected == 0) return "";
  return format("%u operation%s under way that would notify it", persona.expected,
                persona.expected == 1 ? "" : "s");
}

/// Checked builds. With its main thread the process ends, about which others speak.
void check_thread_end(thread_state const& t) noexcept {
  bool const main_thread = ::gettid() == ::getpid();
  if (!ends_checked.load(std::memory_order_relaxed) || (t.holds_master && main_thread)) return;
  if (on_stack(t, &master_scope)) {
    check_failed(
        "init: the thread that called it ends while the library is in use, and nobody can take the master persona "
        "from it then; call liberate_master_persona() on it before, or finalize()");
  }
  if (t.top != &t.bottom) {
    check_failed("persona_scope: a thread ends while a persona_scope of it is alive; end the scope before");
  }
  if (std::string const lost = lost_with(t.default_persona); !lost.empty()) {
    check_failed(
        "persona: a thread ends, and its default persona with it, with %s; wait for its futures, and make "
        "progress until the calls that others queue for it (lpc, as_lpc) have run",
        lost.c_str());
  }
}

/// Appends what other threads have queued to the holder's own list, oldest first.
void take_inbox(persona_state& persona) noexcept {
  if (persona.inbox.load(std::memory_order_relaxed) == nullptr) return;
  // Acquire: pairs with the release in enqueue_from_elsewhere.
  task* newest = persona.inbox.exchange(nullptr, std::memory_order_acquire);
  task* const last = newest;
  task* oldest = nullptr;
  while (newest != nullptr) {
    task* const next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  (persona.last != nullptr ? persona.last->next : persona.first) = oldest;
  persona.last = last;
}

/// Of the calling thread: its owner is gone. A thread's other objects may use the library after that.
constinit thread_local bool owner_has_ended = false;

/// Work that is still queued is lost with it.
void end_state(thread_state* state) {
  check_thread_end(*state);
  // Scopes that outlive the main thread's own objects (static ones of the program) still have to end.
  if (state->top != &state->bottom) return;
  current_thread = nullptr;
  delete state;
}

/// Has a state end after all objects of its thread, as the system's own data of threads do.
void end_after_objects(thread_state* state) {
  static pthread_key_t const key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void* late) { end_state(static_cast<thread_state*>(late)); });
    return made;
  }();
  pthread_setspecific(key, state);
}

/// Owns a thread's state.
struct thread_owner {
  thread_state* state = nullptr;
  thread_owner() = default;
  thread_owner(thread_owner const&) = delete;
  thread_owner& operator=(thread_owner const&) = delete;
  ~thread_owner() {
    owner_has_ended = true;
    if (state != nullptr) end_state(state);
  }
};
thread_local thread_owner owner;

}  // namespace

thread_state& attach_thread() {
  auto* const t = new thread_state;
  if (owner_has_ended) {
    end_after_objects(t);
  } else {
    owner.state = t;
  }
  t->bottom.active = &t->default_persona;
  t->top = &t->bottom;
  t->current = &t->default_persona;
  t->default_persona.holder.store(t, std::memory_order_relaxed);
  t->default_persona.uses = 1;
  current_thread = t;
  return *t;
}

persona_state& master_persona() noexcept { return master; }

void push_scope(scope_state& scope, persona_state& persona) {
  thread_state& t = this_thread();
  thread_state* const holder = persona.holder.load(std::memory_order_relaxed);
  if (holder != nullptr && holder != &t) {
    check_failed(
        "persona_scope: the persona is active on another thread; end its scope there first, "
        "or give the scopes a mutex");
  }
  persona.holder.store(&t, std::memory_order_relaxed);
  // What we queue from now on goes to the holder's own list, and comes after what we queued before.
  if (persona.uses++ == 0) take_inbox(persona);
  scope.active = &persona;
  scope.below = t.top;
  scope.current_before = t.current;
  t.top = &scope;
  t.current = &persona;
  if (&persona == &master) t.holds_master = true;
}

void pop_scope(scope_state& scope) noexcept {
  thread_state& t = this_thread();
  if (t.top != &scope) {
    check_failed(
        "persona_scope: scopes must end on the thread that made them, in the reverse order of their "
        "construction");
  }
  persona_state& persona = *scope.active;
  t.top = scope.below;
  // A callback runs for a persona that need not be on top; outside callbacks the top is current.
  t.current = t.in_user_progress ? scope.current_before : t.top->active;
  if (--persona.uses == 0) {
    if (&persona == &master) t.holds_master = false;
    // Work queued by us stays; whoever holds the persona next finds it, ordered by what hands
    // the persona over.
    persona.holder.store(nullptr, std::memory_order_release);
  }
}

void relocate_scope(scope_state& from, scope_state& to) noexcept {
  to = from;
  for (scope_state** at = &this_thread().top; *at != nullptr; at = &(*at)->below) {
    if (*at == &from) {
      *at = &to;
      break;
    }
  }
  from.active = nullptr;
}

void enqueue_from_elsewhere(persona_state& target, task* work) {
  task* newest = target.inbox.load(std::memory_order_relaxed);
  do {
    work->next = newest;
    // Release: pairs with the acquire in take_inbox; what the task needs is visible to who runs it.
  } while (!target.inbox.compare_exchange_weak(newest, work, std::memory_order_release,
                                               std::memory_order_relaxed));
  if (engine::progress_engine::exists()) {
    engine::host_domain const& host = engine::progress_engine::here().host;
    host.wake(host.me());
  }
}

void acquire_master() {
  thread_state& t = this_thread();
  if (t.holds_master) return;
  push_scope(master_scope, master);
}

void drop_master_scope() noexcept {
  thread_state& t = this_thread();
  // The implicit entry goes wherever it is in the stack; explicit scopes of the program remain.
  for (scope_state** at = &t.top; *at != nullptr; at = &(*at)->below) {
    if (*at != &master_scope) continue;
    *at = master_scope.below;
    t.current = t.top->active;
    if (--master.uses == 0) {
      t.holds_master = false;
      master.holder.store(nullptr, std::memory_order_release);
    }
    return;
  }
}

void liberate_master() {
  thread_state& t = this_thread();
  if (t.top != &master_scope) {
    check_failed(
        "liberate_master_persona: call it on the thread that called init, once, with its persona "
        "stack as init left it");
  }
  drop_master_scope();
}

void check_master(char const* what) {
  if (!this_thread().holds_master) {
    check_failed(
        "%s: needs the master persona on the stack of the calling thread; do it there, for example by "
        "master_persona().lpc(...)",
        what);
  }
}

void check_own_scope(scope_state const& scope, char const* what) {
  if (on_stack(this_thread(), &scope)) return;
  check_failed("%s: the persona_scope is not on the stack of the calling thread", what);
}

void check_persona_end(persona_state const& persona) noexcept {
  if (!initialized()) return;
  if (persona.holder.load(std::memory_order_relaxed) != nullptr) {
    check_failed("persona: it ends while it is active on a thread; end its persona_scope first");
  }
  if (std::string const lost = lost_with(persona); !lost.empty()) {
    check_failed("persona: it ends with %s; make progress with it until the futures of that work are ready",
                 lost.c_str());
  }
}

void check_waiter(std::uint16_t persona) noexcept {
  if (persona == 0) return;
  for (scope_state const* at = this_thread().top; at != nullptr; at = at->below) {
    if (persona_mark(*at->active) == persona) return;
  }
  check_failed(
      "wait: the future belongs to a persona that is not active on this thread, and would never be ready: it "
      "becomes ready in the progress of the persona that was current when its operation began. Wait on that "
      "persona's thread, or ask for completion by operation_cx::as_lpc(persona, function)");
}

void check_thread_ends(bool wanted) noexcept { ends_checked.store(wanted, std::memory_order_relaxed); }

bool on_stack(thread_state const& t, scope_state const* scope) noexcept {
  scope_state const* at = t.top;
  while (at != nullptr && at != scope) at = at->below;
  return at != nullptr;
}

namespace {

/// Do this persona's tasks still begin with that one? If the persona is not on the stack it may be gone, and only its
/// address is looked at.
bool still_first(task const* work, thread_state const& t, persona_state const& persona) noexcept {
  for (scope_state const* at = t.top; at != nullptr; at = at->below) {
    if (at->active == &persona) return persona.first == work;
  }
  return false;
}

/// What does not run now stays in the list: a task may end the persona's last scope here, and then all others are for
/// the thread that takes it next, perhaps at once.
[[gnu::noinline]] void run_several(thread_state& t, persona_state& persona) noexcept {
  task* work = persona.first;
  task const* const newest = persona.last;
  for (task* next = nullptr;; work = next) {
    next = work->next;
    persona.first = next;
    if (next == nullptr) persona.last = nullptr;
    t.current = &persona;  // each time: a task may leave scopes behind, of other personas
    bool const more = work != newest;
    work->run(work);
    if (!more || !still_first(next, t, persona)) return;
  }
}

}  // namespace

bool run_tasks(thread_state& t, persona_state& persona) noexcept {
  take_inbox(persona);
  task* work = persona.first;
  if (work == nullptr) return false;
  if (work->next == nullptr) [[likely]] {
    persona.first = persona.last = nullptr;
    t.current = &persona;
    work->run(work);
  } else {
    run_several(t, persona);
  }
  return true;
}

}  // namespace atl::rt
