#pragma once

/// Every form of completion in one object, to be instantiated for a list of operations. The forms one by one
/// are in completion_forms_cases.hpp.

#include <memory>
#include <tuple>
#include <utility>

#include "completion_forms.hpp"

namespace multirank::forms {

template <class Op>
class completion_together_test : public fixture {};

TYPED_TEST_SUITE_P(completion_together_test);

TYPED_TEST_P(completion_together_test, a_future_alone_and_a_promise_alone) {
  arena a;
  auto op = make<TypeParam>(a);
  auto deferred = op.start(upcxx::operation_cx::as_defer_future());
  static_assert(std::is_same_v<decltype(deferred), typename TypeParam::future_type>);
  for (int i = 0; i < 20; ++i) {
    upcxx::progress(upcxx::progress_level::internal);
  }
  EXPECT_FALSE(deferred.ready());
  expect_result(op, deferred);

  value_promise<TypeParam> p;
  static_assert(std::is_void_v<decltype(op.start(upcxx::operation_cx::as_promise(p)))>);
  op.start(upcxx::operation_cx::as_promise(p));
  EXPECT_FALSE(p.get_future().ready());  // our own dependency is still open
  expect_result(op, p.finalize());
}

TYPED_TEST_P(completion_together_test, every_form_in_one_object) {
  using upcxx::operation_cx;
  using upcxx::remote_cx;
  using upcxx::source_cx;
  using future_type = typename TypeParam::future_type;
  remote::reset();
  arena a;
  auto op = make<TypeParam>(a);
  value_promise<TypeParam> p;
  upcxx::promise<> source_promise;
  int lpcs = 0, source_lpcs = 0;
  auto const operation = operation_cx::as_future() | operation_cx::as_promise(p) |
                         operation_cx::as_lpc(upcxx::current_persona(),
                                              [&lpcs](auto&&... v) {
                                                static_assert(sizeof...(v) == (has_value<TypeParam> ? 1 : 0));
                                                lpcs += upcxx::in_progress() ? 1 : 100;
                                              }) |
                         operation_cx::as_defer_future();
  auto const source = [&] {
    if constexpr (TypeParam::has_source) {
      return source_cx::as_defer_future() | source_cx::as_promise(source_promise) | source_cx::as_buffered() |
             source_cx::as_lpc(upcxx::current_persona(), [&source_lpcs] { ++source_lpcs; }) | operation;
    } else {
      return operation;
    }
  }();
  auto const all = [&] {
    if constexpr (TypeParam::has_remote) {
      return remote_cx::as_rpc(
                 [](int x, std::string const& s) { remote::note(x + static_cast<int>(s.size())); }, 3,
                 std::string("four")) |
             source;
    } else {
      return source;
    }
  }();

  auto futures = op.start(all);
  EXPECT_EQ(lpcs + source_lpcs, 0);
  EXPECT_FALSE(p.get_future().ready());
  constexpr std::size_t first = TypeParam::has_source ? 1 : 0;
  EXPECT_FALSE(std::get<first + 1>(futures).ready());
  if constexpr (TypeParam::has_source) {
    static_assert(std::is_same_v<decltype(futures), std::tuple<upcxx::future<>, future_type, future_type>>);
    EXPECT_FALSE(std::get<0>(futures).ready());
    std::get<0>(futures).wait();
    source_promise.finalize().wait();
    spin_until([&] { return source_lpcs != 0; });
  } else {
    static_assert(std::is_same_v<decltype(futures), std::tuple<future_type, future_type>>);
  }
  expect_result(op, std::get<first>(futures));
  expect_result(op, std::get<first + 1>(futures));
  expect_result(op, p.finalize());
  spin_until([&] { return lpcs != 0; });
  if constexpr (TypeParam::has_remote) {
    spin_until([] { return remote::runs != 0; });
  }
  poll();
  EXPECT_EQ(lpcs, 1);
  EXPECT_EQ(source_lpcs, TypeParam::has_source ? 1 : 0);
  if constexpr (TypeParam::has_remote) {
    EXPECT_EQ(remote::runs, 1);
    EXPECT_EQ(remote::sum, 7);
    EXPECT_TRUE(remote::always_in_progress && remote::always_with_master);
  }
  upcxx::barrier();
}

/// An argument that cannot be copied.
struct move_only {
  int value = 0;
  move_only() = default;
  explicit move_only(int v) : value(v) {}
  move_only(move_only&&) = default;
  UPCXX_SERIALIZED_FIELDS(value)
};

TYPED_TEST_P(completion_together_test, functions_and_arguments_that_can_only_be_moved) {
  using upcxx::operation_cx;
  remote::reset();
  arena a;
  auto op = make<TypeParam>(a);
  auto op_again = make<TypeParam>(a);
  int lpcs = 0, source_lpcs = 0;
  auto const request = [&] {
    return operation_cx::as_lpc(upcxx::current_persona(),
                                [&lpcs, one = std::make_unique<int>(1)](auto&&...) { lpcs += *one; });
  };
  auto const all = [&] {
    if constexpr (TypeParam::has_source) {
      return request() | upcxx::source_cx::as_lpc(
                             upcxx::current_persona(),
                             [&source_lpcs, one = std::make_unique<int>(1)] { source_lpcs += *one; });
    } else {
      return request();
    }
  };
  if constexpr (TypeParam::has_remote) {
    op.start(all() | upcxx::remote_cx::as_rpc([](move_only&& m) { remote::note(m.value); }, move_only(7)));
  } else {
    op.start(all());
  }
  poll();
  upcxx::barrier();  // between two operations of one kind
  auto kept = all();
  auto moved = std::move(kept);
  auto const result = op_again.start(operation_cx::as_defer_future() | std::move(moved));
  result.wait();
  spin_until([&] { return lpcs == 2 && source_lpcs == (TypeParam::has_source ? 2 : 0); });
  if constexpr (TypeParam::has_remote) {
    spin_until([] { return remote::runs != 0; });
    EXPECT_EQ(remote::sum, 7);
  }
  upcxx::barrier();
}

REGISTER_TYPED_TEST_SUITE_P(completion_together_test, a_future_alone_and_a_promise_alone,
                            every_form_in_one_object, functions_and_arguments_that_can_only_be_moved);

}  // namespace multirank::forms
