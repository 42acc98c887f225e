#pragma once

/// The cell of `when_all` with inputs that are not ready: all registrations, captured values and the
/// concatenated results in one allocation.

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/future.hpp>
#include <upcxx/detail/future/traits.hpp>
#include <upcxx/detail/future/value_cell.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// One argument of `when_all`, waiting for the others: a value.
template <class Value>
struct when_all_input {
  using parts = std::tuple<Value&&>;

  template <class U>
  explicit when_all_input(U&& passed) : value(std::forward<U>(passed)) {}

  void attach(cell*) noexcept {}
  parts get() noexcept { return parts(static_cast<Value&&>(value)); }
  void drop() noexcept { value.~Value(); }
  ~when_all_input() {}

  union {
    Value value;  // ends when it has been moved to the results
  };
};

/// One argument of `when_all`: a future.
template <class... U>
struct when_all_input<future<U...>> {
  using parts = std::tuple<element_ref_t<U>...>;

  explicit when_all_input(future<U...> const& input) noexcept : bits(handle_access::bits(input)) {}

  /// Registers with the input, or keeps the results of a ready one.
  void attach(cell* owner) noexcept {
    if (bits == ready_state) {
      return;
    }
    cell* const input = as_cell(bits);
    if (input->deps == 0) {
      fut::retain(input);
      node.source = input;
    } else {
      node.owner = owner;
      fut::retain(owner);
      ++owner->deps;
#if ATOLL_CHECKED
      // While it is not ready, one of its inputs is not: known only if all are one persona's.
      owner->persona =
          owner->deps == 1 || owner->persona == input->persona ? input->persona : std::uint16_t{0};
#endif
      fut::add_dependent(input, &node);
    }
  }
  parts get() noexcept { return parts_of(node.source); }
  void drop() noexcept {
    if (cell* const input = std::exchange(node.source, nullptr)) {
      fut::release(input);
    }
  }

  static parts parts_of([[maybe_unused]] cell* ready) noexcept {
    if constexpr (sizeof...(U) == 0) {
      return parts();
    } else {
      return all_of(detail::results_of<U...>(ready), std::index_sequence_for<U...>{});
    }
  }
  template <class Results, std::size_t... Indices>
  static parts all_of(Results const& values, std::index_sequence<Indices...>) noexcept {
    return parts(values.template get<Indices>()...);
  }

  state_bits bits;  ///< of the argument; valid until `attach` only
  fut::dependent node;
};

/// Constructs concatenated results in `c` from a tuple of references to the parts.
template <class Cell, class Parts>
void construct_from_parts(Cell* c, Parts&& parts) {
  [&]<std::size_t... Indices>(std::index_sequence<Indices...>) {
    c->construct(std::in_place, std::get<Indices>(std::forward<Parts>(parts))...);
  }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<Parts>>>{});
}

/// The plain cell type of a future type.
template <class Future>
struct value_cell_of;
template <class... T>
struct value_cell_of<future<T...>> {
  using type = value_cell<T...>;
};

/// @tparam Carrier  index of the only argument that has results, if that is a future: its results are
///                  shared, not copied. -1: none such.
template <int Carrier, class Result, class... Input>
struct when_all_cell;

template <int Carrier, class... R, class... Input>
struct when_all_cell<Carrier, future<R...>, Input...> : value_cell<R...> {
  using base = value_cell<R...>;
  using inputs_pack = results<when_all_input<Input>...>;

  template <class... A>
  explicit when_all_cell(std::in_place_t, A&&... arguments)
      : base(&ops_table, fut::pool_class_of(sizeof(when_all_cell), alignof(when_all_cell)), 0,
             unfulfilled_flags<R...>),
        inputs(std::in_place, std::forward<A>(arguments)...) {
    for_each_input([this](auto& input) { input.attach(this); });
  }
  when_all_cell(when_all_cell const&) = delete;
  when_all_cell& operator=(when_all_cell const&) = delete;

  template <class F>
  void for_each_input(F&& visit) {
    [&]<std::size_t... Indices>(std::index_sequence<Indices...>) {
      (visit(inputs.template slot<Indices>()), ...);
    }
    (std::index_sequence_for<Input...>{});
  }

  static void complete(cell* c) noexcept {
    auto* const self = static_cast<when_all_cell*>(c);
    if constexpr (Carrier >= 0) {
      self->forward_to(self->inputs.template slot<static_cast<std::size_t>(Carrier)>().node.source);
    } else if constexpr (sizeof...(R) != 0) {
      [self]<std::size_t... Indices>(std::index_sequence<Indices...>) {
        detail::construct_from_parts(static_cast<base*>(self),
                                     std::tuple_cat(self->inputs.template slot<Indices>().get()...));
      }
      (std::index_sequence_for<Input...>{});
    }
    self->end_inputs();
  }

  void end_inputs() noexcept {
    inputs_ended = true;
    for_each_input([](auto& input) { input.drop(); });
  }

  static void destroy(cell* c) noexcept {
    auto* const self = static_cast<when_all_cell*>(c);
    if (!self->inputs_ended) {
      self->end_inputs();
    }
    self->end_results();
    detail::free_cell(self);
  }

  static constexpr fut::cell_ops ops_table{&destroy, nullptr, &complete, nullptr};

  inputs_pack inputs;
  bool inputs_ended = false;
};

}  // namespace upcxx::inline UPCXX_MODE::detail
