#pragma once

/// Notifications of an operation that completes later and tells personas other than the one that started it.
///
/// Such a persona must hear of the operation although its initiator makes no more progress, or is gone: so the
/// event does not wait for the initiator's queue. Every receiver has a share, made when the operation starts:
/// each LPC of the operation is one, the initiator's futures and promises together are another. When the event
/// comes, progress of any level and any thread queues the shares (no memory is taken, nothing of the program
/// runs); each is then served in user-level progress of its persona, which makes the values for itself. The
/// last one served ends the operation's record.

#include <atomic>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <upcxx/detail/completion_items.hpp>
#include <upcxx/detail/completion_later.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/pool.hpp>
#include <upcxx/detail/lpc.hpp>
#include <upcxx/detail/persona_state.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

template <class Item>
inline constexpr bool is_operation_lpc = is_lpc_item<Item>&& is_about<Item, operation_event>;

template <class Cx>
inline constexpr bool asks_for_lpc = false;
template <class... Items>
inline constexpr bool asks_for_lpc<completions<Items...>> = (is_operation_lpc<Items> || ...);

/// Does an LPC of the operation go to another persona than the caller's current one?
template <class... Items>
bool tells_others(completions<Items...> const& cx) {
  atl::rt::persona_state const* const current = atl::rt::this_thread().current;
  bool others = false;
  auto const look = [&]<class Item>(Item const& item) {
    if constexpr (is_operation_lpc<Item>) others |= &persona_access::state(*item.target) != current;
  };
  detail::apply_items([&](Items const&... items) { (look(items), ...); }, cx.items);
  return others;
}

inline completions<> join_all() { return {}; }
template <class First, class... More>
auto join_all(First first, More... more) {
  return detail::join(std::move(first), detail::join_all(std::move(more)...));
}
/// The requests but for LPCs of the operation, which stay untouched also if `cx` is an rvalue.
template <class Cx>
auto without_lpcs(Cx&& cx) {
  auto const keep = []<class Item>(Item&& item) {
    using item_type = std::remove_cvref_t<Item>;
    if constexpr (is_operation_lpc<item_type>) {
      return completions<>{};
    } else {
      return completions<item_type>{{std::forward<Item>(item), {}}};
    }
  };
  return detail::apply_items(
      [&]<class... Item>(Item&&... items) { return detail::join_all(keep(std::forward<Item>(items))...); },
      std::forward<Cx>(cx).items);
}

/// The record of such an operation. `Source` is its base and knows the values:
///
///   template <bool Last> auto values()  a tuple of them; concurrently by several shares, unless it is the only
///   void end() noexcept                 when all shares have their values
template <class Events, class Source, class Cx>
class shared_event;
template <class Events, class Source, class... Items>
class shared_event<Events, Source, completions<Items...>> final
    : public Source,
      public atl::fut::pooled<shared_event<Events, Source, completions<Items...>>> {
  using rest_cx = decltype(detail::without_lpcs(std::declval<completions<Items...>>()));
  using rest_type = notifications<Events, rest_cx>;

  static constexpr int lpcs = (0 + ... + (is_operation_lpc<Items> ? 1 : 0));
  static constexpr bool initiator_waits =
      ((is_about<Items, operation_event> && !is_operation_lpc<Items>) || ...);
  static constexpr int share_count = lpcs + (initiator_waits ? 1 : 0);

  struct rest_share : atl::rt::task {
    shared_event* whole = nullptr;
  };
  template <class F>
  struct lpc_share : atl::rt::task {
    shared_event* whole = nullptr;
    atl::rt::persona_state* target;
    std::optional<F> function;

    explicit lpc_share(lpc_item<operation_event, F> const& item)
        : target(&persona_access::state(*item.target)), function(std::in_place, detail::function_of(item)) {}
    explicit lpc_share(lpc_item<operation_event, F>&& item)
        : target(&persona_access::state(*item.target)), function(std::in_place, std::move(item.function)) {}
  };
  struct no_share {
    template <class Item>
    explicit no_share(Item const&) {}
  };
  template <class Item>
  struct share_of {
    using type = no_share;
  };
  template <class Event, class F>
  requires(is_operation_lpc<lpc_item<Event, F>>) struct share_of<lpc_item<Event, F>> {
    using type = lpc_share<F>;
  };

 public:
  using futures = typename rest_type::futures;

  /// Registers every request; the futures go to `out`. `source`: for the constructor of the base.
  /// What an rvalue holds is moved on: each item is used either for `waiting_` or for `shares_`.
  template <class Cx, class... From>
  shared_event(Cx&& cx, futures& out, From&&... source)
      : Source(std::forward<From>(source)...),
        initiator_(atl::rt::this_thread().current),
        waiting_(std::in_place, detail::without_lpcs(std::forward<Cx>(cx)), out),
        shares_(detail::apply_items(
            []<class... Item>(Item&&... items) {
              return std::tuple<typename share_of<Items>::type...>(std::forward<Item>(items)...);
            },
            std::forward<Cx>(cx).items)) {
    rest_.whole = this;
    rest_.run = &serve_initiator;
    if constexpr (initiator_waits) expect_notification(*initiator_);
    each_lpc([this]<class F>(lpc_share<F>& share) {
      share.whole = this;
      share.run = &serve_lpc<F>;
      if (share.target == initiator_) expect_notification(*initiator_);
    });
  }

  /// The event has come. From any thread, at any level of progress; nothing of this object may be touched after.
  void happened() noexcept {
    // While a share has not been queued, it has not been served, and this object lives.
    each_lpc([]<class F>(lpc_share<F>& share) { atl::rt::enqueue(*share.target, &share); });
    if constexpr (initiator_waits) atl::rt::enqueue(*initiator_, &rest_);
  }

 private:
  template <class Use>
  void each_lpc(Use const& use) {
    auto const look = [&]<class Share>(Share& share) {
      if constexpr (!std::is_same_v<Share, no_share>) use(share);
    };
    std::apply([&](auto&... shares) { (look(shares), ...); }, shares_);
  }

  void served() noexcept {
    // Release and acquire: what the others did with the values comes before the end of these.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    this->end();
    delete this;
  }

  template <class F>
  static void serve_lpc(atl::rt::task* t) {
    auto* const share = static_cast<lpc_share<F>*>(t);
    shared_event* const self = share->whole;
    if (share->target == self->initiator_) detail::notification_arrived(*self->initiator_);
    auto values = self->template values<share_count == 1>();
    detail::call_with(*share->function, values);
    share->function.reset();  // captures end with their persona
    self->served();
  }

  static void serve_initiator(atl::rt::task* t) {
    shared_event* const self = static_cast<rest_share*>(t)->whole;
    detail::notification_arrived(*self->initiator_);
    auto values = self->template values<share_count == 1>();
    rest_type waiting = std::move(*self->waiting_);
    self->served();
    std::apply([&](auto&... v) { waiting.fire(std::move(v)...); }, values);
  }

  atl::rt::persona_state* initiator_;
  std::atomic<int> left_{share_count};
  rest_share rest_;
  std::optional<rest_type> waiting_;
  std::tuple<typename share_of<Items>::type...> shares_;
};

}  // namespace upcxx::inline UPCXX_MODE::detail
