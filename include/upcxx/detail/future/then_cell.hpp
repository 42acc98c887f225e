#pragma once

/// The cell of `then` on a future that is not ready: continuation, callback and result in one allocation.
///
/// States: callback pending (registered with the source); then ready, or, when the callback returned a
/// future that is not ready, waiting (registered with that one) until it can forward to its results.

#include <cstdint>
#include <new>
#include <utility>

#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/traits.hpp>
#include <upcxx/detail/future/value_cell.hpp>
#include <upcxx/detail/runtime.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

template <class Fn, class Result, class... T>
struct then_cell;

template <class Fn, class... R, class... T>
struct then_cell<Fn, future<R...>, T...> : value_cell<R...> {
  using traits = callback_traits<Fn, T...>;
  using base = value_cell<R...>;

  template <class F>
  explicit then_cell(F&& function)
      : base(&ops_table, fut::pool_class_of(sizeof(then_cell), alignof(then_cell)), 1,
             unfulfilled_flags<R...> | fut::callback_pending),
        callback(std::forward<F>(function)) {
    node.owner = this;
  }
  then_cell(then_cell const&) = delete;
  then_cell& operator=(then_cell const&) = delete;
  ~then_cell() {}  // not defaulted: the callback ends when it has run

  static void end_callback(cell* c) noexcept {
    auto* const self = static_cast<then_cell*>(c);
    self->flags &= static_cast<std::uint8_t>(~fut::callback_pending);
    self->callback.~Fn();
  }

  static bool run(cell* c) noexcept try {
    auto* const self = static_cast<then_cell*>(c);
    cell* const source = self->node.source;
    if constexpr (traits::returns_void) {
      traits::run(self->callback, source);
      end_callback(self);
      return true;
    } else if constexpr (traits::returns_future) {
      future<R...> inner = traits::run(self->callback, source);
      end_callback(self);
      return self->follow(handle_access::give_up(inner));
    } else {
      self->construct(from_call_t{}, [&]() -> decltype(auto) { return traits::run(self->callback, source); });
      end_callback(self);
      return true;
    }
  } catch (...) {
    // Not left to the end of noexcept: a promise may be fulfilled, and so this run, outside any progress.
    atl::rt::exception_left("a callback of then");
  }

  /// Takes the results of the returned future, now or when it is ready. Consumes the reference in `bits`.
  bool follow(state_bits bits) noexcept {
    node.source = nullptr;
    if (!is_cell(bits)) {
      if (bits == ready_state) {
        return true;
      }
      fut::release(this);  // will never be ready
      return false;
    }
    cell* const inner = as_cell(bits);
    if (inner->deps == 0) {
      this->forward_to(inner);
      fut::release(inner);
      return true;
    }
    fut::add_dependent(inner, &node);
    fut::release(inner);  // the last reference: takes this cell along
    return false;
  }

  static void complete(cell* c) noexcept {
    auto* const self = static_cast<then_cell*>(c);
    cell* const inner = std::exchange(self->node.source, nullptr);
    self->forward_to(inner);
    fut::release(inner);
  }

  static void destroy(cell* c) noexcept {
    auto* const self = static_cast<then_cell*>(c);
    if (self->flags & fut::callback_pending) {
      end_callback(self);
    }
    self->end_results();
    detail::free_cell(self);
  }

  static constexpr fut::cell_ops ops_table{&destroy, &run, &complete, &end_callback};

  fut::dependent node;
  union {
    Fn callback;
  };
};

}  // namespace upcxx::inline UPCXX_MODE::detail
