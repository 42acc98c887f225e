#pragma once

/// Cells with results of known types. A plain `value_cell` is what promises and ready futures use.

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/cell.hpp>
#include <upcxx/detail/future/pool.hpp>
#include <upcxx/detail/future/results.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

namespace fut = atl::fut;
using atl::fut::cell;

/// What a handle holds: the address of a cell, or one of two states that need no memory.
using state_bits = std::uintptr_t;
inline constexpr state_bits ready_state = 0;  ///< ready without results: only in `future<>`
inline constexpr state_bits never_state = 1;  ///< default-constructed or moved from: never ready

inline bool is_cell(state_bits bits) noexcept { return bits > never_state; }
inline cell* as_cell(state_bits bits) noexcept { return reinterpret_cast<cell*>(bits); }

/// As `as_cell`, where the caller has made sure that there is one. Told to the compiler, which otherwise
/// keeps paths that cannot be taken and warns of writes to the addresses of the two states above (GCC 12).
inline cell* certain_cell(state_bits bits) noexcept {
  if (!is_cell(bits)) {
    __builtin_unreachable();
  }
  return as_cell(bits);
}
inline state_bits as_bits(cell* c) noexcept {
  state_bits const bits = reinterpret_cast<state_bits>(c);
  if (!is_cell(bits)) {
    __builtin_unreachable();
  }
  return bits;
}

/// Makes a cell of type C with one reference.
template <class C, class... A>
C* new_cell(A&&... arguments) {
  return ::new (fut::allocate_for<C>()) C(std::forward<A>(arguments)...);
}

/// Frees the memory of a cell whose contents have ended.
template <class C>
void free_cell(C* c) noexcept {
  c->~C();
  fut::deallocate_for<C>(c);
}

/// Results of types T, or the way to them, in a cell. Contents are managed by hand, as flags say.
template <class... T>
struct value_cell : cell {
  value_cell(fut::cell_ops const* ops_, std::uint8_t size_class_, std::intptr_t deps_, std::uint8_t flags_)
      : cell{ops_, deps_, nullptr, 1, size_class_, flags_} {}
  /// A plain cell: a promise's, or one that is about to get its results.
  value_cell(std::intptr_t deps_, std::uint8_t flags_)
      : value_cell(&ops_table, fut::pool_class_of(sizeof(value_cell), alignof(value_cell)), deps_, flags_) {}
  value_cell(value_cell const&) = delete;
  value_cell& operator=(value_cell const&) = delete;
  ~value_cell() {}  // not defaulted: the union has members that are not trivial

  template <class... A>
  void construct(A&&... arguments) {
    ::new (static_cast<void*>(&value)) results<T...>(std::forward<A>(arguments)...);
    flags = static_cast<std::uint8_t>((flags & ~fut::wants_result) | fut::has_result);
  }

  /// From now on the results are those of `ready_source`.
  void forward_to(cell* ready_source) noexcept {
    target = root(ready_source);
    fut::retain(target);
    flags = static_cast<std::uint8_t>((flags & ~fut::wants_result) | fut::forwarded);
  }

  void end_results() noexcept {
    if (flags & fut::forwarded) {
      fut::release(target);
    } else if (flags & fut::has_result) {
      value.~result_pack();
    }
  }

  /// The cell that really holds the results: forwarding never takes more than one step.
  static cell* root(cell* c) noexcept {
    return (c->flags & fut::forwarded) ? static_cast<value_cell*>(c)->target : c;
  }

  static void destroy(cell* c) noexcept {
    auto* const self = static_cast<value_cell*>(c);
    self->end_results();
    detail::free_cell(self);
  }

  static constexpr fut::cell_ops ops_table{&destroy, nullptr, nullptr, nullptr};

  union {
    results<T...> value;
    cell* target;
  };
};

template <>
struct value_cell<> : cell {
  value_cell(fut::cell_ops const* ops_, std::uint8_t size_class_, std::intptr_t deps_, std::uint8_t flags_)
      : cell{ops_, deps_, nullptr, 1, size_class_, flags_} {}
  value_cell(std::intptr_t deps_, std::uint8_t flags_)
      : value_cell(&ops_table, fut::pool_class_of(sizeof(value_cell), alignof(value_cell)), deps_, flags_) {}

  template <class... A>
  void construct(A&&...) noexcept {
    flags |= fut::has_result;
  }
  void forward_to(cell*) noexcept {}
  void end_results() noexcept {}

  static void destroy(cell* c) noexcept { free_cell(static_cast<value_cell*>(c)); }
  static constexpr fut::cell_ops ops_table{&destroy, nullptr, nullptr, nullptr};
};

/// Flags of a new cell that somebody else will fulfil.
template <class... T>
inline constexpr std::uint8_t unfulfilled_flags = sizeof...(T) == 0 ? 0 : fut::wants_result;

/// Results of a ready cell.
template <class... T>
results<T...> const& results_of(cell* c) noexcept {
  return static_cast<value_cell<T...>*>(value_cell<T...>::root(c))->value;
}

/// Size class of a plain cell that goes back to the pool as it is, since its results need no destructor; else 0.
template <class... T>
inline constexpr std::uint8_t plain_class = (std::is_trivially_destructible_v<T> && ...)
                                                ? fut::pool_class_of(sizeof(value_cell<T...>),
                                                                     alignof(value_cell<T...>))
                                                : 0;

/// Is it ready, with results of its own that nobody else looks at? All is looked at in one go: where the cell has
/// just been made, compilers then know the answer, also if there is another way to here.
template <class... T>
bool is_lone(state_bits bits) noexcept {
  if constexpr (sizeof...(T) == 0) {
    return bits == ready_state;
  } else {
    if (!is_cell(bits)) return false;
    cell const* const c = as_cell(bits);
    return (c->deps == 0) & (c->refs == 1) & (c->flags == fut::has_result) &
           (plain_class<T...> == 0 || c->size_class == plain_class<T...>);
  }
}

/// Drops a reference to a cell of known result types: a ready cell that is nothing but trivial results goes
/// straight back to the pool. Its list is known at compile time, so that the next pop does not have to wait
/// for a size class to be read (half the time of a `make_future`).
template <class... T>
void release_typed(cell* c) noexcept {
  if (--c->refs != 0) {
    return;
  }
  if constexpr (plain_class<T...> != 0) {
    if (c->size_class == plain_class<T...> && c->deps == 0 && !(c->flags & fut::forwarded)) {
      fut::pool_push(c, plain_class<T...>);
      return;
    }
  }
  fut::destroy_cell(c);
}

}  // namespace upcxx::inline UPCXX_MODE::detail
