#pragma once

/// Remote procedure calls. Specification chapter "Remote procedure call".
///
/// Function and arguments are serialised before the call returns, once, into the buffer that leaves. The
/// callback runs in user-level progress of the target's master persona, never inside the call, also when the
/// target is the caller.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/engine/am.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/completion_apart.hpp>
#include <upcxx/detail/completion_later.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/pool.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/rpc_record.hpp>
#include <upcxx/detail/rpc_target.hpp>
#include <upcxx/detail/rpc_wire.hpp>
#include <upcxx/detail/send.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/team.hpp>

namespace upcxx::inline UPCXX_MODE {

namespace detail {

template <class F, class... Args>
consteval bool check_call() {
  constexpr bool sent = wire_function<std::decay_t<F>>::ok && (wire_of<Args>::ok && ...);
  static_assert(
      !sent || rpc_callable<F, Args...>,
      "rpc: the function cannot be called with these arguments at the target. Arguments arrive as rvalues of "
      "their deserialised types: take them by value, by T const& or by T&&, not by T& (only dist_object<T>& "
      "and team& arrive as lvalues); a dist_object or team must be taken by reference");
  return sent && rpc_callable<F, Args...>;
}

/// Names the function that a call with these types runs at the target.
template <bool RoundTrip, class F, class... Args>
using call_token = atl::engine::token_cache<&incoming_call<RoundTrip, F, Args...>::run>;

inline void check_target([[maybe_unused]] std::int32_t target) {
  check_injection("rpc");
  ATOLL_CHECK(target >= 0 && target < rank_n(),
              "rpc: the target is rank %d, but the job has the ranks 0 to %d", static_cast<int>(target),
              static_cast<int>(rank_n()) - 1);
}

/// Where a team or a dist_object is named, the target must be one of its ranks: the call would wait there for ever.
template <class Arg>
void check_named([[maybe_unused]] std::int32_t target, [[maybe_unused]] Arg const& arg) {
  if constexpr (std::is_same_v<Arg, team>) {
    ATOLL_CHECK(
        arg.from_world(target, -1) >= 0,
        "an argument of a call is a team of which the target, rank %d, is no member: the call would wait "
        "there for ever",
        static_cast<int>(target));
  } else if constexpr (is_dist_object_v<Arg>) {
    ATOLL_CHECK(
        arg.team().from_world(target, -1) >= 0,
        "an argument of a call is a dist_object of a team of which the target, rank %d, is no member: the "
        "call would wait there for ever",
        static_cast<int>(target));
  }
}

/// One way. `Args` are decayed: only their types matter to the target.
template <class F, class... Args>
void send_call(std::int32_t target, atl::engine::pressure when_full, F const& function, Args const&... args) {
  using function_wire = wire_function<F>;
  check_target(target);
  (detail::check_named(target, args), ...);
  auto const& f = function_wire::send(function);
  std::size_t bound = detail::bound_after(without_cookie, f);
  ((bound = detail::bound_after(bound, wire_of<Args>::send(args))), ...);
  outgoing_message m(target, bound, when_full, atl::engine::lane::request);
  m.write(without_cookie, true, f, wire_of<Args>::send(args)...);
  m.commit(atl::engine::message_kind::request, call_token<false, F, Args...>::get());
  atl::rt::note_rpc(target, false);
}

/// The data are there already, and no program expects a put to be refused: where calls would be, for want of memory,
/// this one is kept all the same.
template <class F, class... Args>
void send_remote_completion(std::int32_t target, rpc_item<F, Args...> const& item) {
  if constexpr (check_call<F, Args...>()) {
    auto const send = [&](atl::engine::pressure when_full) {
      std::apply([&](auto const&... args) { detail::send_call(target, when_full, item.function, args...); },
                 item.arguments);
    };
    for (atl::engine::pressure when_full = current_pressure();; when_full = atl::engine::pressure::always) {
      try {
        return send(when_full);
      } catch (bad_shared_alloc const&) {
        if (when_full == atl::engine::pressure::always) throw;  // out of the program's serialization
      }
    }
  }
}

/// The initiator's record of a round trip, with everything that waits for the reply.
template <class Cx, class Return>
struct pending_call final : atl::rt::pending_rpc, atl::fut::pooled<pending_call<Cx, Return>> {
  using events = operation_events<true, false, true, typename Return::values>;
  using notifications_type = notifications<events, Cx>;

  notifications_type waiting;

  template <class C>
  pending_call(C&& cx, typename notifications_type::futures& out)
      : atl::rt::pending_rpc{&receive, atl::rt::this_thread().current}, waiting(std::forward<C>(cx), out) {
    expect_notification(*initiator);
  }

  static void receive(atl::rt::pending_rpc* base, atl::engine::message* m) {
    auto* const self = static_cast<pending_call*>(base);
    detail::notification_arrived(*self->initiator);
    receive_values(self, m, typename Return::wire{}, typename Return::values{});
  }

  template <class... Wire, class... V>
  static void receive_values(pending_call* self, atl::engine::message* m, type_list<Wire...>,
                             type_list<V...>) {
    reader r = read_from(m, with_cookie);
    notifications_type waiting = std::move(self->waiting);
    delete self;
    if constexpr (sizeof...(Wire) == 0) {
      atl::engine::release(m);
      waiting.fire();
    } else if constexpr (sizeof...(Wire) == 1 && notifications_type::one_future) {
      // Straight from the message into the future's state.
      cell_fulfill_reading<Wire..., V...>(waiting.raw(), r, m);
    } else {
      auto values = std::tuple<deserialized_type_t<Wire>...>{detail::read_value<Wire>(r)...};
      atl::engine::release(m);
      std::apply([&](auto&... v) { waiting.fire(std::move(v)...); }, values);
    }
  }

  template <class Wire, class V>
  static void cell_fulfill_reading(void* raw, reader& r, atl::engine::message* m) {
    detail::cell_fulfill_call_and_release<V>(raw, [&]() -> V {
      struct release_after {
        atl::engine::message* m;
        ~release_after() { atl::engine::release(m); }
      } const after{m};
      return detail::read_value<Wire>(r);
    });
  }
};

/// A reply whose values several personas want: each reads them out of the message.
template <class Return>
struct shared_reply : atl::rt::pending_rpc {
  atl::engine::message* reply = nullptr;

  /// No initiator: it is taken as soon as it is seen.
  explicit shared_reply(void (*taken)(pending_rpc*, atl::engine::message*))
      : atl::rt::pending_rpc{taken, nullptr} {}

  template <bool Last>
  auto values() const {
    return read(typename Return::wire{});
  }
  void end() noexcept { atl::engine::release(reply); }

 private:
  template <class... Wire>
  auto read(type_list<Wire...>) const {
    [[maybe_unused]] reader r = read_from(reply, with_cookie);  // for no values it is not read
    return std::tuple<deserialized_type_t<Wire>...>{detail::read_value<Wire>(r)...};
  }
};

/// Makes the initiator's record of a round trip.
template <class Return, class Cx, class Futures>
atl::rt::pending_rpc* make_record(Cx&& cx, Futures& futures) {
  using requests = std::remove_cvref_t<Cx>;
  using pending = pending_call<requests, Return>;
  if constexpr (asks_for_lpc<requests>) {
    if (detail::tells_others(cx)) {
      using shared = shared_event<typename pending::events, shared_reply<Return>, requests>;
      return new shared(std::forward<Cx>(cx), futures,
                        [](atl::rt::pending_rpc* record, atl::engine::message* m) {
                          auto* const self = static_cast<shared*>(record);
                          self->reply = m;
                          self->happened();
                        });
    }
  }
  return new pending(std::forward<Cx>(cx), futures);
}

template <class F, class... Args, class Cx>
auto send_round_trip(std::int32_t target, Cx&& cx, F const& function, Args const&... args) {
  using function_wire = wire_function<F>;
  using result = rpc_return_of<rpc_result_t<F, Args...>>;
  using pending = pending_call<std::remove_cvref_t<Cx>, result>;
  detail::check_requests<typename pending::events>(cx);
  check_target(target);
  (detail::check_named(target, args), ...);
  auto const& f = function_wire::send(function);
  typename pending::notifications_type::futures futures;
  std::size_t bound = detail::bound_after(with_cookie, f);
  ((bound = detail::bound_after(bound, wire_of<Args>::send(args))), ...);
  outgoing_message m(target, bound, current_pressure(), atl::engine::lane::request);
  // Source completion is told with the record, before the commit: nothing may be left to copy then that others may overwrite.
  constexpr bool copied_by_commit = !tells_source_by_lpc<std::remove_cvref_t<Cx>>;
  m.write(with_cookie, copied_by_commit, f, wire_of<Args>::send(args)...);
  m.secure();
  // From here on nothing can throw: only now are promises touched.
  m.put_word(without_cookie,
             reinterpret_cast<std::uintptr_t>(detail::make_record<result>(std::forward<Cx>(cx), futures)));
  atl::rt::note_rpc(target, true);
  m.commit(atl::engine::message_kind::request, call_token<true, F, Args...>::get());
  return detail::unwrap(std::move(futures));
}

template <class Cx, class F, class... Args>
auto call_round_trip(std::int32_t target, Cx&& cx, F&& function, Args&&... args) {
  if constexpr (check_call<std::decay_t<F>, std::remove_cvref_t<Args>...>()) {
    return detail::send_round_trip<std::decay_t<F>, std::remove_cvref_t<Args>...>(
        target, std::forward<Cx>(cx), function, args...);
  }
}

using rpc_ff_events = operation_events<true, false, false>;

template <class Cx, class F, class... Args>
auto call_one_way(std::int32_t target, Cx&& cx, F&& function, Args&&... args) {
  if constexpr (check_call<std::decay_t<F>, std::remove_cvref_t<Args>...>()) {
    detail::send_call<std::decay_t<F>, std::remove_cvref_t<Args>...>(target, current_pressure(), function,
                                                                     args...);
  }
  return detail::complete_now<rpc_ff_events>(std::forward<Cx>(cx));
}

using default_rpc_completion = completions<blocking_item, future_item<operation_event, default_timing>>;

template <class T>
concept rank_like = std::is_convertible_v<T, intrank_t>;
template <class T>
concept not_completion = !is_completions_v<T>;

}  // namespace detail

/// Runs `func(args...)` on `recipient` and forgets about it (fire and forget).
///
/// @param recipient  rank in world(); may be the caller.
/// @param func       function, function pointer, function object or lambda; any result is thrown away.
/// @param args       Serializable, dist_object or team. Serialised before the call returns.
/// @throws           bad_shared_alloc when the message finds neither room nor private memory;
///                   nothing has happened then.
/// @progress         internal. Waits for room in the target's queue, but runs no callbacks.
template <typename Func, typename... Args>
requires(detail::not_completion<Func>) void rpc_ff(intrank_t recipient, Func&& func, Args&&... args) {
  detail::call_one_way(recipient, detail::completions<>{}, std::forward<Func>(func),
                       std::forward<Args>(args)...);
}
/// As above, with source completion as asked for.
template <typename Cx, typename Func, typename... Args>
requires(detail::is_completions_v<Cx>) ATOLL_NODISCARD_FUTURE
    auto rpc_ff(intrank_t recipient, Cx&& completions, Func&& func, Args&&... args) {
  return detail::call_one_way(recipient, std::forward<Cx>(completions), std::forward<Func>(func),
                              std::forward<Args>(args)...);
}
/// As above; `recipient` is a rank of `team`.
template <detail::rank_like Rank, typename Func, typename... Args>
requires(detail::not_completion<Func>) void rpc_ff(team const& team, Rank recipient, Func&& func,
                                                   Args&&... args) {
  detail::call_one_way(team[static_cast<intrank_t>(recipient)], detail::completions<>{},
                       std::forward<Func>(func), std::forward<Args>(args)...);
}
template <detail::rank_like Rank, typename Cx, typename Func, typename... Args>
requires(detail::is_completions_v<Cx>) ATOLL_NODISCARD_FUTURE
    auto rpc_ff(team const& team, Rank recipient, Cx&& completions, Func&& func, Args&&... args) {
  return detail::call_one_way(team[static_cast<intrank_t>(recipient)], std::forward<Cx>(completions),
                              std::forward<Func>(func), std::forward<Args>(args)...);
}

/// Runs `func(args...)` on `recipient` and brings its result back.
///
/// @param recipient  rank in world(); may be the caller.
/// @param func       as for rpc_ff; returns void, a Serializable type, or a future of such
///                   (the reply then waits for it).
/// @param args       as for rpc_ff.
/// @return           by the completions asked for; by default a future of the deserialised result.
/// @throws           bad_shared_alloc as rpc_ff; promises that were passed keep their state then.
/// @progress         internal.
template <typename Func, typename... Args>
requires(detail::not_completion<Func>) ATOLL_NODISCARD_FUTURE
    auto rpc(intrank_t recipient, Func&& func, Args&&... args) {
  return detail::call_round_trip(recipient, detail::default_rpc_completion{}, std::forward<Func>(func),
                                 std::forward<Args>(args)...);
}
template <typename Cx, typename Func, typename... Args>
requires(detail::is_completions_v<Cx>) ATOLL_NODISCARD_FUTURE
    auto rpc(intrank_t recipient, Cx&& completions, Func&& func, Args&&... args) {
  return detail::call_round_trip(recipient, std::forward<Cx>(completions), std::forward<Func>(func),
                                 std::forward<Args>(args)...);
}
template <detail::rank_like Rank, typename Func, typename... Args>
requires(detail::not_completion<Func>) ATOLL_NODISCARD_FUTURE
    auto rpc(team const& team, Rank recipient, Func&& func, Args&&... args) {
  return detail::call_round_trip(team[static_cast<intrank_t>(recipient)], detail::default_rpc_completion{},
                                 std::forward<Func>(func), std::forward<Args>(args)...);
}
template <detail::rank_like Rank, typename Cx, typename Func, typename... Args>
requires(detail::is_completions_v<Cx>) ATOLL_NODISCARD_FUTURE
    auto rpc(team const& team, Rank recipient, Cx&& completions, Func&& func, Args&&... args) {
  return detail::call_round_trip(team[static_cast<intrank_t>(recipient)], std::forward<Cx>(completions),
                                 std::forward<Func>(func), std::forward<Args>(args)...);
}

}  // namespace upcxx::inline UPCXX_MODE
