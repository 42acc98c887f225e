// How readiness and destruction spread over connected cells, without recursion.
//
// Cells are connected only from inputs to what waits for them: an unready input owns a reference on each
// waiting cell (through a `dependent` registered with it), never the other way round. A ready cell has no
// dependents. A waiting cell keeps references only on inputs that are ready. So there are no cycles that a
// user did not make by capturing a handle.
//
// `propagate` works in two phases that alternate: first what needs no user code (cells of when_all, and cells
// that wait for the future that their callback returned) until nothing more becomes ready, then one callback.
// Thus code in a callback never sees a when_all unready whose inputs are all ready. Both work lists are
// threaded through the `dependent` that delivered the news and live on the stack of the call; a fulfilment
// made by a callback has its own, and is finished when that inner call returns.
//
// `destroy_cell` keeps a list of dead cells, linked through their dependency counts. Results and captured
// variables may hold further handles; releasing them recurses through user destructors, which is left
// alone to a small depth (destruction order stays the natural one) and turned into iteration beyond it.

#include <upcxx/detail/future/cell.hpp>

namespace atl::fut {

namespace {

class dependent_queue {
 public:
  bool empty() const { return last_ == nullptr; }

  void push_back(dependent* d) {
    if (last_ == nullptr) {
      d->next = d;
    } else {
      d->next = last_->next;
      last_->next = d;
    }
    last_ = d;
  }

  dependent* pop_front() {
    dependent* const first = last_->next;
    if (first == last_) {
      last_ = nullptr;
    } else {
      last_->next = first->next;
    }
    return first;
  }

 private:
  dependent* last_ = nullptr;
};

class propagation {
 public:
  void run(cell* c) {
    retain(c);  // callbacks may drop the last handle
    notify_dependents(c);
    for (;;) {
      while (ready_ != nullptr) {
        dependent* const d = ready_;
        ready_ = d->next;
        cell* const owner = d->owner;
        notify_dependents(owner);
        release(owner);
      }
      if (callbacks_.empty()) {
        break;
      }
      dependent* const d = callbacks_.pop_front();
      cell* const owner = d->owner;
      cell* const source = d->source;
      if (owner->ops->run(owner)) {
        d->source = nullptr;
        owner->deps = 0;
        push_ready(d);
      }
      release(source);
    }
    release(c);
  }

 private:
  /// `d` belongs to a cell that is ready and whose dependents do not know yet; it carries a reference on it.
  void push_ready(dependent* d) {
    d->next = ready_;
    ready_ = d;
  }

  void notify_dependents(cell* c) {
    dependent* const last = c->dependents;
    if (last == nullptr) {
      return;
    }
    c->dependents = nullptr;
    dependent* next = last->next;
    dependent* d = nullptr;
    do {
      d = next;
      next = d->next;
      cell* const owner = d->owner;
      d->source = c;
      retain(c);
      if (owner->flags & callback_pending) {
        callbacks_.push_back(d);
      } else if (owner->deps == 1) {
        owner->ops->complete(owner);  // may run copy constructors: not ready before it is done
        owner->deps = 0;
        push_ready(d);
      } else {
        --owner->deps;
        release(owner);
      }
    } while (d != last);
  }

  dependent* ready_ = nullptr;
  dependent_queue callbacks_;
};

// Depth to which destructors of results and captures may nest before the rest is put on a list.
constexpr int max_nesting = 16;

struct destruction_state {
  int nesting = 0;            // frames of destroy_cell on this thread's stack
  cell* postponed = nullptr;  // dead cells for the innermost of them
};
// Initial-exec: without it, every access from a shared library is a call.
__attribute__((tls_model("initial-exec"))) constinit thread_local destruction_state destruction;

void push_dead(cell*& list, cell* c) {
  c->deps = reinterpret_cast<std::intptr_t>(list);
  list = c;
}

cell* pop_dead(cell*& list) {
  cell* const c = list;
  list = reinterpret_cast<cell*>(c->deps);
  return c;
}

/// Ends the callbacks that wait for a dead cell, and gives up the references on the waiting cells.
void abandon_dependents(cell* c, cell*& dead) {
  dependent* const last = c->dependents;
  if (last == nullptr) {
    return;
  }
  dependent* next = last->next;
  dependent* d = nullptr;
  do {
    d = next;
    next = d->next;
    cell* const owner = d->owner;
    if (owner->flags & callback_pending) {
      owner->ops->end_callback(owner);
    }
    if (--owner->refs == 0) {
      push_dead(dead, owner);
    }
  } while (d != last);
}

}  // namespace

void propagate(cell* c) noexcept { propagation().run(c); }

void destroy_cell(cell* c) noexcept {
  destruction_state& state = destruction;
  if (state.nesting == max_nesting) {
    push_dead(state.postponed, c);
    return;
  }
  ++state.nesting;
  cell* dead = nullptr;
  push_dead(dead, c);
  while (dead != nullptr) {
    cell* const victim = pop_dead(dead);
    abandon_dependents(victim, dead);
    victim->ops->destroy(victim);
    // Only the innermost frame sees postponed cells, so they never outlive the drop that caused them.
    if (dead == nullptr && state.postponed != nullptr) {
      dead = state.postponed;
      state.postponed = nullptr;
    }
  }
  --state.nesting;
}

}  // namespace atl::fut
