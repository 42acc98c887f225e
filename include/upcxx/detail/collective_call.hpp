#pragma once

/// What collectives have in common: their buffers, and the way from the engine's `done` to the notifications.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/engine/collectives.hpp>
#include <atoll/transport/message.hpp>
#include <upcxx/detail/completion_apart.hpp>
#include <upcxx/detail/completion_later.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/pool.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/detail/runtime.hpp>
#include <upcxx/team.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// Stops, in opt code, too, unless `root` is a rank of the team.
inline void check_root(std::int32_t root, team const& over, char const* call) {
  if (root >= 0 && root < over.rank_n()) [[likely]]
    return;
  atl::check_failed("%s: the root is rank %d, but the team has the ranks 0 to %d", call,
                    static_cast<int>(root), static_cast<int>(over.rank_n()) - 1);
}

/// Checked builds stop over buffers of a collective that are null.
inline void check_collective_buffer([[maybe_unused]] void const* buffer, [[maybe_unused]] std::size_t count,
                                    [[maybe_unused]] char const* call, [[maybe_unused]] char const* role) {
  ATOLL_CHECK(buffer != nullptr || count == 0, "%s: the %s is a null pointer, for %zu elements", call, role,
              count);
}

struct no_buffer {
  void take(type_list<>) {}
};

struct bytes_of {
  void const* address;
};

/// One value that the collective reads and replaces.
template <class T>
class value_buffer {
 public:
  explicit value_buffer(T const& value) {
    std::memcpy(bytes_, static_cast<void const*>(std::addressof(value)), sizeof(T));
  }
  /// From the bytes of a T that may not be aligned.
  explicit value_buffer(bytes_of from) { std::memcpy(bytes_, from.address, sizeof(T)); }
  T* data() { return std::launder(reinterpret_cast<T*>(bytes_)); }
  T& value() { return *data(); }
  /// The result, out of the buffer.
  value_buffer take() const { return *this; }
  /// The same, for one of several.
  value_buffer copy() const { return *this; }

 private:
  alignas(T) std::byte bytes_[sizeof(T)];
};

template <class T, class Op>
class reduce_buffer : public value_buffer<T> {
 public:
  template <class O>
  reduce_buffer(T const& value, O&& op) : value_buffer<T>(value), op_(std::forward<O>(op)) {}
  Op* operation() { return std::addressof(op_); }

 private:
  Op op_;
};

/// Of arrays: they stay where the program has them.
template <class Op>
class operation_buffer {
 public:
  template <class O>
  explicit operation_buffer(std::in_place_t, O&& op) : op_(std::forward<O>(op)) {}
  Op* operation() { return std::addressof(op_); }

 private:
  Op op_;
};

/// Functors that take `(T const&, T&)` get the second value as one of their own.
template <class T, class Op>
T combine_two(Op& op, T& x, T const& y) {
  if constexpr (std::is_invocable_r_v<T, Op&, T&, T const&>) {
    return op(x, y);
  } else {
    value_buffer<T> own(y);
    return op(std::as_const(x), own.value());
  }
}

/// Whichever rank's progress an operation runs in, an exception out of it has nowhere to go.
template <class T, class Op>
[[gnu::visibility("hidden")]] void combine(void* a, void const* b, std::size_t count,
                                           void const* operation) noexcept try {
  auto& op = *static_cast<Op*>(const_cast<void*>(operation));
  auto* const x = static_cast<T*>(a);
  auto const* const y = static_cast<T const*>(b);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (alignof(T) > atl::transport::buffer_alignment) {
      // What arrived is aligned like a message, which is less than this type wants.
      value_buffer<T> arrived(bytes_of{static_cast<std::byte const*>(b) + i * sizeof(T)});
      T const result = detail::combine_two<T>(op, x[i], std::as_const(arrived.value()));
      std::memcpy(static_cast<void*>(x + i), static_cast<void const*>(std::addressof(result)), sizeof(T));
    } else {
      T const result = detail::combine_two<T>(op, x[i], y[i]);
      std::memcpy(static_cast<void*>(x + i), static_cast<void const*>(std::addressof(result)), sizeof(T));
    }
  }
} catch (...) {
  atl::rt::exception_left("the operation of a reduction");
}

/// A collective under way: its buffer and what waits for it. The engine's `done` queues it for the persona
/// that was current at initiation; there the notifications fire.
template <class Values, class Cx, class Buffer>
struct collective_call;
template <class... V, class Cx, class Buffer>
struct collective_call<type_list<V...>, Cx, Buffer> final
    : atl::rt::task,
      atl::fut::pooled<collective_call<type_list<V...>, Cx, Buffer>> {
  using events = operation_events<false, false, true, type_list<V...>>;
  using notifications_type = notifications<events, Cx>;

  Buffer buffer;
  atl::rt::persona_state* initiator;
  notifications_type waiting;

  template <class C>
  collective_call(C&& cx, Buffer&& b, typename notifications_type::futures& out)
      : buffer(std::move(b)), initiator(atl::rt::this_thread().current), waiting(std::forward<C>(cx), out) {
    run = &fire;
    expect_notification(*initiator);
  }

  static void done(void* context) {
    auto* const self = static_cast<collective_call*>(context);
    atl::rt::enqueue(*self->initiator, self);
  }

  static void fire(atl::rt::task* t) {
    auto* const self = static_cast<collective_call*>(t);
    detail::notification_arrived(*self->initiator);
    notifications_type waiting = std::move(self->waiting);
    if constexpr (sizeof...(V) == 0) {
      delete self;
      waiting.fire();
    } else {
      static_assert(sizeof...(V) == 1);
      auto result = self->buffer.take();
      delete self;
      waiting.fire(std::move(result.value()));
    }
  }
};

/// The buffer of a collective whose values several personas want.
template <class Values, class Buffer>
struct shared_result {
  Buffer buffer;

  explicit shared_result(Buffer&& b) : buffer(std::move(b)) {}

  template <bool Last>
  auto values() {
    if constexpr (std::is_same_v<Values, type_list<>>) {
      return std::tuple<>{};
    } else {
      auto result = [this] {
        if constexpr (Last) {
          return buffer.take();
        } else {
          return buffer.copy();
        }
      }();
      return std::tuple<std::remove_reference_t<decltype(result.value())>>(std::move(result.value()));
    }
  }
  void end() noexcept {}
};

/// Registers the notifications and calls `start(buffer, done)`.
template <class Values, class Cx, class Buffer, class Start>
auto start_collective(Cx&& completions, Buffer&& buffer, Start start) {
  using requests = std::remove_cvref_t<Cx>;
  using buffer_type = std::remove_cvref_t<Buffer>;
  using call = collective_call<Values, requests, buffer_type>;
  detail::check_requests<typename call::events>(completions);
  typename call::notifications_type::futures futures;
  if constexpr (asks_for_lpc<requests>) {
    if (detail::tells_others(completions)) {
      using shared = shared_event<typename call::events, shared_result<Values, buffer_type>, requests>;
      auto* const s = new shared(std::forward<Cx>(completions), futures, std::move(buffer));
      start(s->buffer,
            atl::engine::on_done{[](void* context) { static_cast<shared*>(context)->happened(); }, s});
      return detail::unwrap(std::move(futures));
    }
  }
  auto* const c = new call(std::forward<Cx>(completions), std::forward<Buffer>(buffer), futures);
  start(c->buffer, atl::engine::on_done{&call::done, c});
  return detail::unwrap(std::move(futures));
}

}  // namespace upcxx::inline UPCXX_MODE::detail
