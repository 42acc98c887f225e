#pragma once

/// Notifications of transfers that complete later: those of device memory, and of host memory that this process
/// does not address.
///
/// Everything is prepared when the transfer starts: calls for the target are serialised into private memory,
/// LPCs are ready tasks. When the data is in place, progress of any level sends the calls and queues the LPCs;
/// the futures and promises are fulfilled in user-level progress of the persona that started it. Source
/// completion, where it comes earlier, is told in the same way.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <atoll/engine/am.hpp>
#include <atoll/engine/memory_copy.hpp>
#include <atoll/engine/rma.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/completion_now.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/pool.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/detail/send.hpp>
#include <upcxx/rpc.hpp>

namespace atl::rt {

struct free_memory {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};

/// A call of remote completion, serialised: what a message of it will hold after the header.
struct held_call {
  std::int32_t target = -1;
  engine::function_token token = 0;
  std::size_t bytes = 0;  ///< of the message, header included
  std::size_t alignment = 0;
  std::unique_ptr<std::byte, free_memory> message;  ///< where it is large: with room for the header
  std::byte small[64];

  std::byte const* payload() const noexcept {
    return message != nullptr ? message.get() + engine::header_bytes : small;
  }
};

/// An LPC that waits for its event.
struct held_task {
  persona_state* target = nullptr;
  task* work = nullptr;
  bool of_source = false;
};

/// A copy under way and all that waits for it. Lives until its tasks have run or, if nothing is left to be
/// done on the initiating persona, until the data has arrived.
struct late_copy : engine::copy_completion, task {
  persona_state* initiator = nullptr;
  held_call* calls = nullptr;
  held_task* tasks = nullptr;
  task* source_task =
      nullptr;  ///< fulfils what waits for the source on the initiating persona; null: nothing does
  std::uint16_t call_count = 0;
  std::uint16_t task_count = 0;
  bool wanted_back = false;   ///< `run` has something to do
  bool call_travels = false;  ///< the first call leaves with the data
  bool source_told = false;
  std::atomic<bool> source_left{false};

  ATOLL_EXPORT late_copy() noexcept;
  /// There are calls, which may leave ahead of the data.
  ATOLL_EXPORT void announce_calls() noexcept;
  /// Makes internal progress until the memory that is read may be written again.
  ATOLL_EXPORT void wait_for_source() const;
  /// The first call, if there is one, as a notice that travels with the data.
  ATOLL_EXPORT engine::arrival_notice call_with_data() noexcept;
};

}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE::detail {

/// Serialises a one-way call into private memory.
template <class F, class... Args>
void hold_call(std::int32_t target, rpc_item<F, Args...> const& item, atl::rt::held_call& call) {
  using function_wire = wire_function<F>;
  using atl::serialization::heap_buffer;
  check_target(target);
  call.target = target;
  if constexpr (check_call<F, Args...>()) {
    call.token = call_token<false, F, std::remove_cvref_t<Args>...>::get();
    auto const& f = function_wire::send(item.function);
    std::apply(
        [&](auto const&... args) {
          (detail::check_named(target, args), ...);
          [&](auto const&... wire) {
            alignas(message_alignment) std::byte scratch[256];
            heap_buffer memory;
            writer w(scratch, without_cookie, sizeof scratch, &heap_buffer::grow, &memory);
            detail::serialize(w, f);
            (detail::serialize(w, wire), ...);
            call.bytes = w.size();
            call.alignment = w.max_alignment() > message_alignment ? w.max_alignment() : message_alignment;
            std::size_t const payload = call.bytes - atl::engine::header_bytes;
            if (memory.data() == nullptr && payload > sizeof call.small) {
              std::size_t capacity = 0;
              heap_buffer::grow(&memory, scratch, call.bytes, call.bytes, message_alignment, &capacity);
            }
            if (memory.data() != nullptr) {
              call.message.reset(memory.release());
            } else {
              // What is larger lies in `memory`, which compilers do not see.
              std::memcpy(call.small, scratch + atl::engine::header_bytes,
                          std::min(payload, sizeof call.small));
            }
          }(wire_of<Args>::send(args)...);
        },
        item.arguments);
  }
}

template <class Cx>
class pending_copy;

/// The record of one copy, with room for what its completion object asks for.
template <class... Items>
class pending_copy<completions<Items...>> final
    : public atl::rt::late_copy,
      public atl::fut::pooled<pending_copy<completions<Items...>>> {
  template <class Item>
  static constexpr bool is_state =
      !is_rpc_item<Item> && !is_lpc_item<Item> && !std::is_same_v<Item, blocking_item>;
  static constexpr std::size_t n_calls = (std::size_t{0} + ... + (is_rpc_item<Items> ? 1 : 0));
  static constexpr std::size_t n_tasks = (std::size_t{0} + ... + (is_lpc_item<Items> ? 1 : 0));
  static constexpr std::size_t n_source_states =
      (std::size_t{0} + ... + (is_state<Items> && is_about<Items, source_event> ? 1 : 0));
  static constexpr std::size_t n_states =
      (std::size_t{0} + ... + (is_state<Items> && !is_about<Items, source_event> ? 1 : 0));

 public:
  /// Source completion comes before the call returns.
  static constexpr bool blocks = (std::is_same_v<Items, blocking_item> || ...);
  static constexpr bool wants_source = (is_about<Items, source_event> || ...);
  static constexpr bool calls_target = n_calls != 0;

  /// What can throw comes first; only register_all touches promises.
  pending_copy(std::int32_t target, completions<Items...> const& cx) {
    initiator = atl::rt::this_thread().current;
    run = &finish;
    calls = call_places_.data();
    tasks = task_places_.data();
    detail::apply_items([&](Items const&... items) { (hold(target, items), ...); }, cx.items);
  }

  /// Registers futures, promises and LPCs; the futures in the order of the requests.
  /// What an rvalue holds is moved on. `source_complete`: nobody waits for the source, and what asks for it is told now.
  /// `stays`: somebody else than these looks at this object before the initiator's next user-level progress.
  template <class Cx>
  auto register_all(Cx&& cx, bool source_complete = false, bool stays = blocks) {
    source_told = source_complete;
    wanted_back = n_states + n_source_states != 0 || stays;
    if constexpr (n_source_states != 0) {
      if (!source_complete) {
        source_task_.whole = this;
        source_task_.run = &finish_source;
        source_task = &source_task_;
        ++runs_left_;
      }
    }
    if (wanted_back) expect_notification(*initiator);
    return detail::apply_items(
        [&]<class... Item>(Item&&... items) { return join_parts(add(std::forward<Item>(items))...); },
        std::forward<Cx>(cx).items);
  }

 private:
  struct task_of_source : atl::rt::task {
    pending_copy* whole;
  };

  template <class Item>
  void hold(std::int32_t target, Item const& item) {
    if constexpr (is_rpc_item<Item>) {
      detail::hold_call(target, item, call_places_[call_count]);
      ++call_count;
    }
  }

  template <class Event>
  void keep(void* raw) {
    if constexpr (std::is_same_v<Event, source_event>) {
      source_states_[source_count_++] = raw;
    } else {
      states_[state_count_++] = raw;
    }
  }
  template <class Event>
  bool is_over() const {
    return std::is_same_v<Event, source_event> && source_told;
  }

  template <class Event, timing When>
  std::tuple<future<>> add(future_item<Event, When> const& item) {
    if (is_over<Event>()) return detail::notify_now(item);
    auto pending = make_pending<>();
    keep<Event>(pending.raw);
    return {std::move(pending.result)};
  }
  template <class Event, timing When, class... T>
  std::tuple<> add(promise_item<Event, When, T...> const& item) {
    if (is_over<Event>()) return detail::notify_now(item);
    keep<Event>(detail::promise_require(item.target));
    return {};
  }
  template <class Item>
  requires is_lpc_item<std::remove_cvref_t<Item>> std::tuple<> add(Item&& item) {
    using event = typename std::remove_cvref_t<Item>::event;
    if (is_over<event>()) return detail::notify_now(std::forward<Item>(item));
    using task_type = callable_task<decltype(std::remove_cvref_t<Item>::function)>;
    atl::rt::persona_state* const target = &persona_access::state(*item.target);
    tasks[task_count++] = {target, new task_type(detail::function_of(std::forward<Item>(item))),
                           std::is_same_v<event, source_event>};
    return {};
  }
  template <class F, class... Args>
  std::tuple<> add(rpc_item<F, Args...> const&) {
    return {};
  }
  std::tuple<> add(blocking_item const&) { return {}; }

  template <class... Futures>
  static auto join_parts(Futures&&... parts) {
    return std::tuple_cat(std::move(parts)...);
  }

  /// One of the tasks has run.
  void drop() {
    if (--runs_left_ != 0) return;
    if (wanted_back) notification_arrived(*initiator);
    delete this;
  }
  template <std::size_t Count>
  void fulfil(std::array<void*, Count> const& states, std::size_t count) {
    std::array<void*, Count> copies;
    // GCC 13 does not see that there are no more than Count, and warns.
    std::copy_n(states.data(), std::min(count, Count), copies.data());
    drop();
    std::for_each_n(copies.data(), count, [](void* state) { cell_fulfill_and_release(state); });
  }
  static void finish(atl::rt::task* t) {
    auto* const self = static_cast<pending_copy*>(t);
    self->fulfil(self->states_, self->state_count_);
  }
  static void finish_source(atl::rt::task* t) {
    pending_copy* const self = static_cast<task_of_source*>(t)->whole;
    self->fulfil(self->source_states_, self->source_count_);
  }

  // Most of these are empty, and take next to no room then: larger records would not be pooled.
  std::array<atl::rt::held_call, n_calls> call_places_;
  std::array<atl::rt::held_task, n_tasks> task_places_;
  std::array<void*, n_states> states_;
  std::array<void*, n_source_states> source_states_;
  std::size_t state_count_ = 0;
  std::size_t source_count_ = 0;
  int runs_left_ = 1;
  task_of_source source_task_;
};

/// Starts a copy of device memory, which completes later. `target`: rank that remote completion goes to.
template <class Cx>
auto copy_later(atl::engine::memory_place to, atl::engine::memory_place from, std::size_t bytes,
                std::int32_t target, Cx&& cx) {
  using pending = pending_copy<std::remove_cvref_t<Cx>>;
  detail::check_requests<operation_events<true, true, true>>(cx);
  auto* const started = new pending(target, cx);
  if (started->call_count != 0) started->announce_calls();
  auto futures = started->register_all(std::forward<Cx>(cx));
  atl::engine::start_copy(to, from, bytes, started);
  if constexpr (pending::blocks) started->wait_for_source();
  return detail::unwrap(std::move(futures));
}

}  // namespace upcxx::inline UPCXX_MODE::detail
