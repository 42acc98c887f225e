// Futures and promises as programs use them around communication (core digest, chapter 5).

#include <memory>
#include <string>
#include <tuple>

#include "common.hpp"

namespace {

template <class Expected, class F>
void expect_type(F const&) {
  static_assert(std::is_same_v<F, Expected>);
}

struct move_only {
  std::unique_ptr<int> p;
};

}  // namespace

using future_test = multirank::fixture;

TEST_F(future_test, then_maps_values_futures_and_void) {
  multirank::shared_array<int> cells(2);
  cells.local()[0] = me;
  cells.local()[1] = 10 * me;
  upcxx::barrier();
  auto get = upcxx::rget(cells.at(right));
  auto doubled = get.then([](int v) { return v * 2; });
  auto chained = get.then([p = cells.at(right)](int) { return upcxx::rget(p + 1); });
  auto nothing = get.then([](int const&) {});
  auto two = get.then([](int v) { return upcxx::make_future(v, std::string("s")); });
  expect_type<upcxx::future<int>>(doubled);
  expect_type<upcxx::future<int>>(chained);
  expect_type<upcxx::future<>>(nothing);
  expect_type<upcxx::future<int, std::string>>(two);
  EXPECT_EQ(doubled.wait(), 2 * right);
  EXPECT_EQ(chained.wait(), 10 * right);
  nothing.wait();
  EXPECT_EQ(two.wait(), std::make_tuple(right, std::string("s")));
}

TEST_F(future_test, when_all_concatenates_results_in_argument_order) {
  auto f = upcxx::when_all(upcxx::rpc(right, [] { return 1; }), upcxx::make_future(), 2.5,
                           upcxx::rpc(left, [] { return std::string("three"); }), upcxx::barrier_async(),
                           upcxx::make_future(4, 'c'));
  expect_type<upcxx::future<int, double, std::string, int, char>>(f);
  EXPECT_EQ(f.wait(), std::make_tuple(1, 2.5, std::string("three"), 4, 'c'));
  double const constant = 1.5;
  auto values = upcxx::when_all(constant, std::string("x"));
  expect_type<upcxx::future<double, std::string>>(values);
  EXPECT_TRUE(values.ready());
  EXPECT_TRUE(upcxx::when_all().ready());
}

TEST_F(future_test, argument_dependent_lookup_finds_when_all) {
  upcxx::future<int> f = upcxx::rpc(right, [] { return 5; });
  EXPECT_EQ(when_all(f, upcxx::make_future(6)).wait(), std::make_tuple(5, 6));
}

TEST_F(future_test, both_branches_of_a_lambda_deduce_one_type) {
  multirank::shared_array<int> cells(1);
  *cells.local() = me;
  upcxx::barrier();
  auto lookup = [&](bool cached) {
    if (cached) {
      return upcxx::make_future(-1);
    }
    return upcxx::rget(cells.at(right));
  };
  EXPECT_EQ(lookup(true).wait() + lookup(false).wait(), right - 1);
  auto maybe_put = [&](bool skip) {
    if (skip) {
      return upcxx::make_future();
    }
    return upcxx::rput(1, cells.at(right));
  };
  upcxx::when_all(maybe_put(true), maybe_put(false)).wait();
}

TEST_F(future_test, accessors_return_the_types_of_the_table) {
  auto f = upcxx::make_future(1, std::string("two"));
  static_assert(std::is_same_v<decltype(f.result()), std::tuple<int, std::string>>);
  static_assert(std::is_same_v<decltype(f.result<0>()), int>);
  static_assert(std::is_same_v<decltype(f.result<1>()), std::string>);
  static_assert(std::is_same_v<decltype(f.result<2>()), void>);
  static_assert(std::is_same_v<decltype(f.result<-2>()), void>);
  static_assert(std::is_same_v<decltype(f.result_reference<1>()), std::string const&>);
  static_assert(std::is_same_v<decltype(f.result_tuple()), std::tuple<int, std::string>>);
  static_assert(std::is_same_v<decltype(f.wait_reference()), std::tuple<int const&, std::string const&>>);
  static_assert(std::is_same_v<decltype(upcxx::make_future().wait()), void>);
  static_assert(std::is_same_v<decltype(upcxx::make_future().result_tuple()), std::tuple<>>);
  static_assert(std::is_same_v<decltype(upcxx::make_future(1).result_tuple()), std::tuple<int>>);
  int object = 3;
  auto r = upcxx::make_future<int&>(object);
  static_assert(std::is_same_v<decltype(r.result()), int&>);
  EXPECT_EQ(&r.result(), &object);
  EXPECT_EQ(f.result_reference<1>(), "two");
  auto m = upcxx::make_future(move_only{std::make_unique<int>(9)});
  EXPECT_EQ(*m.result_reference().p, 9);
  auto by_reference = m.then([](move_only const& x) { return *x.p; });
  EXPECT_EQ(by_reference.result(), 9);
}

TEST_F(future_test, a_default_future_never_becomes_ready) {
  upcxx::future<int> never;
  bool ran = false;
  auto chained = never.then([&](int) { ran = true; });
  auto joined = upcxx::when_all(never, upcxx::make_future(1));
  multirank::poll();
  EXPECT_FALSE(never.ready());
  EXPECT_FALSE(chained.ready());
  EXPECT_FALSE(joined.ready());
  EXPECT_FALSE(ran);
}

TEST_F(future_test, a_promise_tracks_many_operations_and_one_value) {
  multirank::shared_array<int> cells(101);
  cells.local()[100] = me + 500;
  upcxx::barrier();
  upcxx::promise<int> p;
  for (int i = 0; i < 100; ++i) {
    upcxx::rput(i, cells.at(right) + i, upcxx::operation_cx::as_promise(p));
  }
  upcxx::rget(cells.at(right) + 100, upcxx::operation_cx::as_promise(p));
  EXPECT_EQ(p.finalize().wait(), right + 500);
  upcxx::barrier();
  EXPECT_EQ(cells.local()[99], 99);
}

TEST_F(future_test, results_supplied_early_stay_invisible_until_the_count_is_zero) {
  upcxx::promise<std::string> p(3);
  upcxx::future<std::string> f = p.get_future();
  p.fulfill_result("early");
  EXPECT_FALSE(f.ready());
  p.require_anonymous(1);
  p.fulfill_anonymous(2);
  EXPECT_FALSE(f.ready());
  upcxx::promise<std::string> const copy = p;
  copy.fulfill_anonymous(1);
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(f.result(), "early");
}

TEST_F(future_test, fulfilling_inside_a_callback_takes_effect_at_once) {
  upcxx::promise<> outer;
  upcxx::promise<int> inner;
  std::string order;
  inner.get_future().then([&](int v) { order += "inner" + std::to_string(v); });
  outer.get_future().then([&] {
    order += "[";
    inner.fulfill_result(5);
    order += inner.get_future().ready() ? "]" : "!";
  });
  outer.fulfill_anonymous(1);
  EXPECT_EQ(order, "[inner5]");
}

TEST_F(future_test, chains_of_a_million_links_need_constant_stack) {
  upcxx::promise<> start;
  upcxx::future<int> f = start.get_future().then([] { return 0; });
  for (int i = 0; i < 1000000; ++i) {
    f = f.then([](int v) { return v + 1; });
  }
  start.fulfill_anonymous(1);
  EXPECT_EQ(f.result(), 1000000);
  upcxx::promise<> gate;
  upcxx::future<> all = upcxx::make_future();
  for (int i = 0; i < 300000; ++i) {
    all = upcxx::when_all(all, gate.get_future());
  }
  EXPECT_FALSE(all.ready());
  gate.fulfill_anonymous(1);
  EXPECT_TRUE(all.ready());
  // Dropped without being fulfilled.
  upcxx::promise<> dropped;
  upcxx::future<> g = dropped.get_future();
  for (int i = 0; i < 1000000; ++i) {
    g = g.then([] {});
  }
}

TEST_F(future_test, callbacks_release_their_captures_after_they_ran) {
  auto token = std::make_shared<int>(0);
  upcxx::future<int> f = upcxx::rpc(right, [] { return 1; });
  auto g = f.then([token](int v) { return v + *token; });
  EXPECT_EQ(token.use_count(), 2);
  EXPECT_EQ(g.wait(), 1);
  EXPECT_EQ(token.use_count(), 1);
  {
    upcxx::promise<> never;
    never.get_future().then([token] {});
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST_F(future_test, a_callback_may_drop_the_last_handle) {
  auto holder = std::make_shared<upcxx::future<int>>(upcxx::rpc(right, [] { return 3; }));
  int got = 0;
  bool done = false;
  holder->then([&got, &done, holder](int v) {
    *holder = upcxx::future<int>();
    got = v;
    done = true;
  });
  multirank::spin_until([&] { return done; });
  EXPECT_EQ(got, 3);
}
