#pragma once

/// Every form of completion in cases of its own, for operations that stand for many: one of each way in which
/// the library completes (while the call is made or later, with values or without, with each set of events).
/// The other operations have the cases of completion_together_cases.hpp: these take 3 s of compilation each.

#include <optional>
#include <tuple>

#include "completion_forms.hpp"

namespace multirank::forms {

template <class Op>
class completion_test : public fixture {
 protected:
  using future_type = typename Op::future_type;

  static void expect_result(Op& op, future_type f) { forms::expect_result(op, f); }
  using value_promise = forms::value_promise<Op>;
};

TYPED_TEST_SUITE_P(completion_test);

TYPED_TEST_P(completion_test, as_future_returns_exactly_one_future_of_the_events_values) {
  arena a;
  auto op = make<TypeParam>(a);
  auto f = op.start(upcxx::operation_cx::as_future());
  static_assert(std::is_same_v<decltype(f), typename TypeParam::future_type>);
  this->expect_result(op, f);
}

TYPED_TEST_P(completion_test, as_defer_future_is_never_ready_before_user_progress) {
  arena a;
  auto op = make<TypeParam>(a);
  auto f = op.start(upcxx::operation_cx::as_defer_future());
  static_assert(std::is_same_v<decltype(f), typename TypeParam::future_type>);
  EXPECT_FALSE(f.ready());
  for (int i = 0; i < 20; ++i) {
    upcxx::progress(upcxx::progress_level::internal);
  }
  EXPECT_FALSE(f.ready());
  bool in_progress = false;
  auto chained = f.then([&](auto const&...) { in_progress = upcxx::in_progress(); });
  chained.wait();
  EXPECT_TRUE(in_progress);
  this->expect_result(op, f);
}

TYPED_TEST_P(completion_test, as_eager_future_may_be_ready_and_becomes_ready) {
  arena a;
  auto op = make<TypeParam>(a);
  auto f = op.start(upcxx::operation_cx::as_eager_future());
  static_assert(std::is_same_v<decltype(f), typename TypeParam::future_type>);
  this->expect_result(op, f);
}

TYPED_TEST_P(completion_test, as_promise_adds_one_dependency_and_delivers_the_value) {
  arena a;
  auto op = make<TypeParam>(a);
  typename TestFixture::value_promise p;
  static_assert(std::is_void_v<decltype(op.start(upcxx::operation_cx::as_promise(p)))>);
  op.start(upcxx::operation_cx::as_promise(p));
  EXPECT_FALSE(p.get_future().ready());  // our own dependency is still open
  this->expect_result(op, p.finalize());
}

TYPED_TEST_P(completion_test, as_defer_promise_is_not_fulfilled_before_user_progress) {
  arena a;
  auto op = make<TypeParam>(a);
  typename TestFixture::value_promise p;
  op.start(upcxx::operation_cx::as_defer_promise(p));
  auto f = p.finalize();
  EXPECT_FALSE(f.ready());
  for (int i = 0; i < 20; ++i) {
    upcxx::progress(upcxx::progress_level::internal);
  }
  EXPECT_FALSE(f.ready());
  this->expect_result(op, f);
}

TYPED_TEST_P(completion_test, as_eager_promise_cannot_close_an_open_promise) {
  arena a;
  auto op = make<TypeParam>(a);
  typename TestFixture::value_promise p;
  op.start(upcxx::operation_cx::as_eager_promise(p));
  auto f = p.get_future();
  poll(200);
  EXPECT_FALSE(f.ready());
  this->expect_result(op, p.finalize());
}

TYPED_TEST_P(completion_test, a_promise_of_other_type_can_track_a_valueless_event) {
  arena a;
  auto op = make<TypeParam>(a);
  if constexpr (!has_value<TypeParam>) {
    upcxx::promise<std::string, int> p;
    op.start(upcxx::operation_cx::as_promise(p));
    p.fulfill_result("kept", 3);
    upcxx::future<std::string, int> f = p.get_future();
    EXPECT_EQ(f.template wait<0>(), "kept");
    EXPECT_EQ(f.template result<1>(), 3);
    EXPECT_TRUE(op.arrived());
  } else {
    // The counterpart: a valued event into a promise whose own dependency was given away before.
    upcxx::promise<int> p(3);
    op.start(upcxx::operation_cx::as_promise(p));
    p.fulfill_anonymous(3);
    this->expect_result(op, p.get_future());
  }
}

TYPED_TEST_P(completion_test, as_lpc_runs_once_in_progress_of_the_named_persona_never_in_the_call) {
  arena a;
  auto op = make<TypeParam>(a);
  int runs = 0;
  bool in_progress = false, persona_active = false;
  std::optional<int> value;
  auto body = [&](auto&&... v) {
    ++runs;
    in_progress = upcxx::in_progress();
    persona_active =
        upcxx::current_persona().active_with_caller() && upcxx::master_persona().active_with_caller();
    if constexpr (sizeof...(v) == 1) {
      static_assert((std::is_same_v<decltype(v), int&&> && ...), "a value arrives as an rvalue");
      value = (v, ...);
    }
    static_assert(sizeof...(v) == (has_value<TypeParam> ? 1 : 0));
  };
  static_assert(
      std::is_void_v<decltype(op.start(upcxx::operation_cx::as_lpc(upcxx::current_persona(), body)))>);
  op.start(upcxx::operation_cx::as_lpc(upcxx::current_persona(), body));
  EXPECT_EQ(runs, 0);
  for (int i = 0; i < 20; ++i) {
    upcxx::progress(upcxx::progress_level::internal);
  }
  EXPECT_EQ(runs, 0);
  spin_until([&] { return runs != 0; });
  EXPECT_TRUE(in_progress);
  EXPECT_TRUE(persona_active);
  EXPECT_TRUE(op.arrived());
  if constexpr (has_value<TypeParam>) {
    if (value_is_defined<TypeParam>()) {
      EXPECT_EQ(value, op.expected());
    }
  }
  poll();
  EXPECT_EQ(runs, 1);
}

TYPED_TEST_P(completion_test, as_lpc_waits_for_its_persona_to_become_active) {
  arena a;
  auto op = make<TypeParam>(a);
  upcxx::persona other;
  int runs = 0;
  op.start(upcxx::operation_cx::as_lpc(other, [&](auto&&...) {
    ++runs;
    EXPECT_TRUE(other.active_with_caller());
  }));
  // A second operation behind it proves that completions do flow meanwhile.
  op.start(upcxx::operation_cx::as_future()).wait_tuple();
  poll(200);
  EXPECT_EQ(runs, 0);
  {
    upcxx::persona_scope scope(other);
    spin_until([&] { return runs != 0; });
  }
  EXPECT_EQ(runs, 1);
}

TYPED_TEST_P(completion_test, two_futures_come_back_as_a_tuple_that_holds_the_same_result) {
  arena a;
  auto op = make<TypeParam>(a);
  auto both = op.start(upcxx::operation_cx::as_future() | upcxx::operation_cx::as_defer_future());
  static_assert(std::is_same_v<decltype(both),
                               std::tuple<typename TypeParam::future_type, typename TypeParam::future_type>>);
  EXPECT_FALSE(std::get<1>(both).ready());
  this->expect_result(op, std::get<0>(both));
  this->expect_result(op, std::get<1>(both));
}

TYPED_TEST_P(completion_test, many_notifications_of_one_event_all_fire) {
  arena a;
  auto op = make<TypeParam>(a);
  int lpcs = 0;
  typename TestFixture::value_promise p, q;
  upcxx::promise<> done;
  done.require_anonymous(2);
  auto count = [&lpcs, done](auto&&...) {
    ++lpcs;
    done.fulfill_anonymous(1);
  };
  auto futures = op.start(
      upcxx::operation_cx::as_promise(p) | upcxx::operation_cx::as_future() |
      upcxx::operation_cx::as_lpc(upcxx::current_persona(), count) |
      (upcxx::operation_cx::as_eager_promise(q) | upcxx::operation_cx::as_eager_future()) |
      upcxx::operation_cx::as_lpc(upcxx::master_persona(), count) | upcxx::operation_cx::as_defer_future());
  static_assert(std::tuple_size_v<decltype(futures)> == 3);
  this->expect_result(op, std::get<0>(futures));
  this->expect_result(op, std::get<1>(futures));
  this->expect_result(op, std::get<2>(futures));
  this->expect_result(op, p.finalize());
  this->expect_result(op, q.finalize());
  done.finalize().wait();
  EXPECT_EQ(lpcs, 2);
}

TYPED_TEST_P(completion_test, a_const_completion_object_serves_many_operations) {
  arena a;
  auto op = make<TypeParam>(a);
  auto const future_cx = upcxx::operation_cx::as_future();
  for (int i = 0; i < 5; ++i) {
    this->expect_result(op, op.start(future_cx));
  }
  int runs = 0;
  auto const lpc_cx = upcxx::operation_cx::as_lpc(upcxx::current_persona(), [&runs](auto&&...) { ++runs; });
  auto copy_of_cx = lpc_cx;
  for (int i = 0; i < 5; ++i) {
    op.start(lpc_cx);
    op.start(copy_of_cx);
  }
  spin_until([&] { return runs >= 10; });
  poll();
  EXPECT_EQ(runs, 10);
  EXPECT_TRUE(std::is_copy_assignable_v<decltype(copy_of_cx)>);
  EXPECT_TRUE(std::is_copy_assignable_v<std::remove_const_t<decltype(future_cx)>>);
  if constexpr (!has_value<TypeParam>) {
    upcxx::promise<> p;
    auto cx = upcxx::operation_cx::as_promise(p);
    auto const combined = cx | cx;
    for (int i = 0; i < 10; ++i) {
      op.start(cx);
      op.start(combined);
    }
    p.finalize().wait();
    EXPECT_TRUE(op.arrived());
  }
}

TYPED_TEST_P(completion_test, source_events_notify_in_every_form) {
  if constexpr (TypeParam::has_source) {
    arena a;
    auto op = make<TypeParam>(a);
    using upcxx::operation_cx;
    using upcxx::source_cx;
    using result = typename TypeParam::future_type;
    auto source_first = op.start(source_cx::as_future() | operation_cx::as_future());
    static_assert(std::is_same_v<decltype(source_first), std::tuple<upcxx::future<>, result>>);
    std::get<0>(source_first).wait();
    this->expect_result(op, std::get<1>(source_first));

    auto source_last = op.start(operation_cx::as_future() | source_cx::as_future());
    static_assert(std::is_same_v<decltype(source_last), std::tuple<result, upcxx::future<>>>);
    this->expect_result(op, std::get<0>(source_last));
    std::get<1>(source_last).wait();

    auto deferred =
        op.start(source_cx::as_defer_future() | operation_cx::as_future() | source_cx::as_eager_future());
    static_assert(std::is_same_v<decltype(deferred), std::tuple<upcxx::future<>, result, upcxx::future<>>>);
    EXPECT_FALSE(std::get<0>(deferred).ready());
    std::get<0>(deferred).wait();
    std::get<2>(deferred).wait();
    this->expect_result(op, std::get<1>(deferred));

    upcxx::promise<> p;
    upcxx::promise<int> other;
    auto operation =
        op.start(source_cx::as_promise(p) | source_cx::as_defer_promise(p) | source_cx::as_eager_promise(p) |
                 source_cx::as_promise(other) | operation_cx::as_future());
    static_assert(std::is_same_v<decltype(operation), result>);
    p.finalize().wait();
    other.fulfill_result(1);
    EXPECT_EQ(other.get_future().wait(), 1);
    this->expect_result(op, operation);

    int runs = 0;
    bool in_progress = false;
    auto f = op.start(source_cx::as_lpc(upcxx::current_persona(),
                                        [&] {
                                          ++runs;
                                          in_progress = upcxx::in_progress();
                                        }) |
                      operation_cx::as_future());
    EXPECT_EQ(runs, 0);
    spin_until([&] { return runs != 0; });
    EXPECT_TRUE(in_progress);
    this->expect_result(op, f);
    EXPECT_EQ(runs, 1);
  }
}

TYPED_TEST_P(completion_test, buffered_and_blocking_add_nothing_to_the_result) {
  if constexpr (TypeParam::has_source) {
    arena a;
    auto op = make<TypeParam>(a);
    using upcxx::operation_cx;
    using upcxx::source_cx;
    auto buffered = op.start(source_cx::as_buffered() | operation_cx::as_future());
    static_assert(std::is_same_v<decltype(buffered), typename TypeParam::future_type>);
    this->expect_result(op, buffered);
    auto blocking = op.start(operation_cx::as_defer_future() | source_cx::as_blocking());
    static_assert(std::is_same_v<decltype(blocking), typename TypeParam::future_type>);
    EXPECT_FALSE(blocking.ready());
    this->expect_result(op, blocking);
    auto together = op.start(source_cx::as_buffered() | source_cx::as_defer_future() |
                             operation_cx::as_future() | source_cx::as_blocking());
    static_assert(
        std::is_same_v<decltype(together), std::tuple<upcxx::future<>, typename TypeParam::future_type>>);
    EXPECT_FALSE(std::get<0>(together).ready());
    std::get<0>(together).wait();
    this->expect_result(op, std::get<1>(together));
  }
}

TYPED_TEST_P(completion_test, as_rpc_runs_once_per_operation_at_the_owner_of_the_destination) {
  if constexpr (TypeParam::has_remote) {
    remote::reset();
    arena a;
    auto op = make<TypeParam>(a);
    using upcxx::operation_cx;
    using upcxx::remote_cx;
    // One rank sends to each rank (a ring, or each to itself): 3 runs of 1, 10 and 100.
    static_assert(std::is_void_v<decltype(op.start(remote_cx::as_rpc(remote::note, 1)))>);
    op.start(remote_cx::as_rpc(remote::note, 1));
    if (op.remote_rank() == a.me()) {
      EXPECT_EQ(remote::runs, 0);  // never inside the call, also for one's own memory
    }
    auto f = op.start(remote_cx::as_rpc([](int x) { remote::note(x); }, 10) | operation_cx::as_future());
    static_assert(std::is_same_v<decltype(f), typename TypeParam::future_type>);
    std::string text = "lvalue";
    auto const cx = operation_cx::as_future() | remote_cx::as_rpc(
                                                    [](int x, std::string const& s, std::vector<int>&& v) {
                                                      remote::note(x + static_cast<int>(v.size()));
                                                      remote::text = s;
                                                    },
                                                    97, text, std::vector<int>{1, 2, 3});
    auto g = op.start(cx);
    text = "changed after the call";
    f.wait();
    g.wait();
    spin_until([] { return remote::runs == 3; });
    poll();
    EXPECT_EQ(remote::runs, 3);
    EXPECT_EQ(remote::sum, 111);
    EXPECT_EQ(remote::text, "lvalue");
    EXPECT_TRUE(remote::always_in_progress);
    EXPECT_TRUE(remote::always_with_master);
    upcxx::barrier();
  }
}

TYPED_TEST_P(completion_test, as_rpc_objects_are_reusable_and_several_fit_one_operation) {
  if constexpr (TypeParam::has_remote) {
    remote::reset();
    arena a;
    auto op = make<TypeParam>(a);
    using upcxx::operation_cx;
    using upcxx::remote_cx;
    auto const twice = remote_cx::as_rpc(remote::note, 1) |
                       remote_cx::as_rpc([](std::string s) { remote::note(static_cast<int>(s.size())); },
                                         std::string("moved in once"));
    upcxx::promise<> p;
    for (int i = 0; i < 10; ++i) {
      op.start(twice);
      op.start(twice | operation_cx::as_promise(p));
    }
    p.finalize().wait();
    spin_until([] { return remote::runs == 40; });
    EXPECT_EQ(remote::sum, 20 * (1 + 13));
    upcxx::barrier();
  }
}

TYPED_TEST_P(completion_test, as_rpc_takes_teams_and_distributed_objects) {
  if constexpr (TypeParam::has_remote) {
    remote::reset();
    arena a;
    auto op = make<TypeParam>(a);
    upcxx::dist_object<int> counter(1000 * a.me());
    op.start(upcxx::remote_cx::as_rpc(
        [](upcxx::dist_object<int>& c, int x, upcxx::team& t, upcxx::dist_object<int> const& same) {
          EXPECT_EQ(&c, &same);
          EXPECT_EQ(&t, &upcxx::world());
          *c += x;
          remote::note(x);
        },
        counter, 5, upcxx::world(), counter));
    spin_until([] { return remote::runs == 1; });
    EXPECT_EQ(*counter, 1000 * a.me() + 5);
    upcxx::barrier();
  }
}

TYPED_TEST_P(completion_test, as_rpc_keeps_arguments_alive_until_a_returned_future_is_ready) {
  if constexpr (TypeParam::has_remote) {
    remote::reset();
    arena a;
    auto op = make<TypeParam>(a);
    std::vector<int> numbers(1000);
    std::iota(numbers.begin(), numbers.end(), 0);
    op.start(upcxx::remote_cx::as_rpc(
        [](std::string const& s, upcxx::view<int> v) {
          // The value is read two turns of progress later.
          return upcxx::current_persona()
              .lpc([] {})
              .then([] { return upcxx::current_persona().lpc([] {}); })
              .then([&s, v] {
                EXPECT_EQ(v.size(), 1000u);
                int sum = 0;
                for (int x : v) {
                  sum += x;
                }
                remote::text = s;
                remote::note(sum);
              });
        },
        std::string(100, 'x'), upcxx::make_view(numbers)));
    numbers.assign(1000, -1);
    spin_until([] { return remote::runs == 1; });
    EXPECT_EQ(remote::sum, 999 * 1000 / 2);
    EXPECT_EQ(remote::text, std::string(100, 'x'));
    upcxx::barrier();
  }
}

TYPED_TEST_P(completion_test, everything_at_once) {
  if constexpr (TypeParam::has_source && TypeParam::has_remote) {
    remote::reset();
    arena a;
    auto op = make<TypeParam>(a);
    using upcxx::operation_cx;
    using upcxx::remote_cx;
    using upcxx::source_cx;
    upcxx::promise<> p;
    int lpcs = 0;
    std::tuple<upcxx::future<>, upcxx::future<>, upcxx::future<>> r =
        op.start(operation_cx::as_promise(p) | source_cx::as_future() | operation_cx::as_future() |
                 operation_cx::as_future() | source_cx::as_lpc(upcxx::current_persona(), [&] { ++lpcs; }) |
                 remote_cx::as_rpc(remote::note, 3) | source_cx::as_promise(p));
    std::get<0>(r).wait();
    std::get<1>(r).wait();
    std::get<2>(r).wait();
    p.finalize().wait();
    spin_until([&] { return lpcs == 1 && remote::runs == 1; });
    EXPECT_EQ(remote::sum, 3);
    EXPECT_TRUE(op.arrived());
    upcxx::barrier();
  }
}

TYPED_TEST_P(completion_test, operations_started_in_a_callback_complete) {
  if constexpr (!TypeParam::is_collective) {  // collectives are forbidden in the restricted context
    arena a;
    auto op = make<TypeParam>(a);
    upcxx::promise<> done;
    upcxx::current_persona().lpc_ff([&] {
      EXPECT_TRUE(upcxx::in_progress());
      op.start(upcxx::operation_cx::as_defer_future()).then([&](auto const&...) {
        done.fulfill_anonymous(1);
      });
    });
    done.get_future().wait();
    EXPECT_TRUE(op.arrived());
  }
}

REGISTER_TYPED_TEST_SUITE_P(
    completion_test, as_future_returns_exactly_one_future_of_the_events_values,
    as_defer_future_is_never_ready_before_user_progress, as_eager_future_may_be_ready_and_becomes_ready,
    as_promise_adds_one_dependency_and_delivers_the_value,
    as_defer_promise_is_not_fulfilled_before_user_progress, as_eager_promise_cannot_close_an_open_promise,
    a_promise_of_other_type_can_track_a_valueless_event,
    as_lpc_runs_once_in_progress_of_the_named_persona_never_in_the_call,
    as_lpc_waits_for_its_persona_to_become_active,
    two_futures_come_back_as_a_tuple_that_holds_the_same_result, many_notifications_of_one_event_all_fire,
    a_const_completion_object_serves_many_operations, source_events_notify_in_every_form,
    buffered_and_blocking_add_nothing_to_the_result,
    as_rpc_runs_once_per_operation_at_the_owner_of_the_destination,
    as_rpc_objects_are_reusable_and_several_fit_one_operation, as_rpc_takes_teams_and_distributed_objects,
    as_rpc_keeps_arguments_alive_until_a_returned_future_is_ready, everything_at_once,
    operations_started_in_a_callback_complete);

}  // namespace multirank::forms
