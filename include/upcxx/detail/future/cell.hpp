#pragma once

/// The shared state behind futures and promises, without the types of its results.
///
/// One cell is one state: reference count, dependency count, who waits for it, and (in derived classes) the
/// results and whatever is needed to produce them. Nothing here is atomic: whoever touches a cell owns the
/// whole island of cells that it is connected to. The life of a cell is told in docs/design/futures.md.

#include <cstddef>
#include <cstdint>

#include <upcxx/detail/config.hpp>

namespace atl::fut {

struct cell;

/// What a waiting cell leaves with the cell it waits for. Lives inside the waiting cell.
struct dependent {
  dependent* next = nullptr;  ///< circular list of an unready cell; work lists while readiness spreads
  cell* owner = nullptr;      ///< the cell that waits; a registered dependent holds one reference on it
  cell* source = nullptr;     ///< the ready input, one reference; null while waiting
};

/// What differs between kinds of cells. `destroy` looks at flags only: the dependency count is gone by then.
struct cell_ops {
  /// Ends results, callback and references to inputs, and frees the memory. No references are left.
  void (*destroy)(cell*) noexcept;
  /// Runs the callback on its ready source. False: the cell is not ready (the callback returned a future that
  /// is not), and the caller's reference on the cell has been passed on.
  bool (*run)(cell*) noexcept;
  /// All inputs are ready: produces the results.
  void (*complete)(cell*) noexcept;
  /// The source is gone: ends the callback, which will never run.
  void (*end_callback)(cell*) noexcept;
};

enum : std::uint8_t {
  has_result = 1,        ///< results are constructed in the cell (for `promise<>`: were supplied)
  forwarded = 2,         ///< results are those of another cell, on which this one holds a reference
  callback_pending = 4,  ///< holds a callback that has not run
  wants_result = 8,      ///< results must be supplied before the dependency count may reach zero
};

struct cell {
  cell_ops const* ops;
  std::intptr_t deps;               ///< outstanding dependencies; ready at 0. In a dead cell: link of a list
  dependent* dependents = nullptr;  ///< last of a circular list in the order of registration
  std::uint32_t refs;               ///< handles, registrations and forwarding cells
  std::uint8_t size_class;          ///< of the pool; 0: not pooled
  std::uint8_t flags;
  /// Checked builds: mark of the persona in whose progress it becomes ready (persona_mark); 0: not known.
  std::uint16_t persona = 0;
};
static_assert(sizeof(cell) == 32);

/// Tells everyone who waits for the ready cell `c`: completes and runs what became runnable, iteratively,
/// and returns when nothing is left to do. Callbacks may fulfil other promises and drop any handle.
ATOLL_EXPORT void propagate(cell* c) noexcept;

/// The last reference is gone: releases everything that waits for `c`, and `c`, iteratively.
ATOLL_EXPORT void destroy_cell(cell* c) noexcept;

inline void retain(cell* c) noexcept { ++c->refs; }

inline void release(cell* c) noexcept {
  if (--c->refs == 0) {
    destroy_cell(c);
  }
}

/// Registers `d`, in the order of calls. The caller has given it a reference on its owner.
inline void add_dependent(cell* c, dependent* d) noexcept {
  if (dependent* const last = c->dependents) {
    d->next = last->next;
    last->next = d;
  } else {
    d->next = d;
  }
  c->dependents = d;
}

/// Removes `count` dependencies; the last one readies the cell and runs what waits for it.
inline void satisfy(cell* c, std::intptr_t count) noexcept {
  if ((c->deps -= count) == 0 && c->dependents != nullptr) {
    propagate(c);
  }
}

}  // namespace atl::fut
