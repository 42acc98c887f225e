#pragma once

/// Operations that fulfil one promise and nothing else, and complete later: those that a persona begins behind each other share one
/// completion, which fulfils the promise for all of them. Nobody sees the difference: a promise becomes ready with the last of them.

#include <cstdint>
#include <memory>
#include <type_traits>

#include <atoll/engine/memory_copy.hpp>
#include <atoll/engine/rma.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/pool.hpp>
#include <upcxx/detail/future/raw.hpp>
#include <upcxx/detail/lpc.hpp>
#include <upcxx/detail/persona_state.hpp>

namespace atl::rt {

/// Ends, and fulfils the promise, in user-level progress of its persona when no operation of it is under way; from then on it is not the
/// persona's any more.
struct promise_series : engine::copy_completion, task, fut::pooled<promise_series> {
  persona_state* initiator;
  void* cell = nullptr;     ///< raw handle of the promise
  std::intptr_t count = 0;  ///< operations, ever

  ATOLL_EXPORT promise_series(persona_state& persona, void (*finish)(task*)) noexcept;
};

}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE::detail {

template <class Cx>
inline constexpr bool is_only_promise = false;
template <timing When, class... T>
inline constexpr bool is_only_promise<completions<promise_item<operation_event, When, T...>>> = true;
/// Does the completion object ask for nothing but that a promise be fulfilled?
template <class Cx>
inline constexpr bool wants_only_promise = is_only_promise<std::remove_cvref_t<Cx>>;

inline void finish_series(atl::rt::task* t) {
  auto* const self = static_cast<atl::rt::promise_series*>(t);
  atl::rt::persona_state& persona = *self->initiator;
  if (persona.series == self) persona.series = nullptr;
  notification_arrived(persona);
  void* const cell = self->cell;
  std::intptr_t const count = self->count;
  delete self;
  cell_fulfill_anonymous(cell, count);
  fut::release(static_cast<fut::cell*>(cell));
}

/// Begins an operation as one of several, if there are others: `join(completion, fresh)` does as engine::join_put(). False: nothing has
/// happened.
template <class Cx, class Join>
bool join_others(Cx const& cx, Join const& join) {
  using atl::engine::joined;
  auto const& target = cx.items.first.target;
  atl::rt::persona_state& persona = *atl::rt::this_thread().current;
  atl::rt::promise_series* all = persona.series;
  if (all != nullptr && all->cell != reinterpret_cast<void*>(handle_access::bits(target))) all = nullptr;
  joined how = join(all, false);
  if (how == joined::needs_completion) {
    auto fresh = std::make_unique<atl::rt::promise_series>(persona, &finish_series);
    how = join(fresh.get(), true);
    if (how != joined::yes) return false;
    all = fresh.release();
    all->cell = detail::promise_share(target);
    persona.series = all;
    expect_notification(persona);
  }
  if (how != joined::yes) return false;
  target.require_anonymous(1);
  ++all->count;
  return true;
}

}  // namespace upcxx::inline UPCXX_MODE::detail
