#include <upcxx/when_all.hpp>

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>
#include <upcxx/future.hpp>

#include "unit/upcxx/support.hpp"

namespace {

using future_test::counted;
using future_test::move_only;
using upcxx::future;
using upcxx::make_future;
using upcxx::promise;

template <class Expected, class Actual>
constexpr bool same = std::is_same_v<Expected, Actual>;

static_assert(same<future<>, decltype(upcxx::when_all())>);
static_assert(same<future<int>, decltype(when_all(future<int>()))>);  // found by ADL
static_assert(same<future<int, char, long>,
                   decltype(when_all(future<int, char>(), future<>(), std::declval<future<long> const&>()))>);
static_assert(
    same<future<double, char const*>, decltype(upcxx::when_all(std::declval<double const&>(), "text"))>);
static_assert(same<future<int&, int const>, decltype(when_all(future<int&>(), future<int const>()))>);
static_assert(same<future<future<int>>, decltype(when_all(future<future<int>>()))>);
static_assert(
    same<future<std::tuple<int, char>, int>, decltype(when_all(future<std::tuple<int, char>>(), 1))>);

TEST(when_all, of_nothing_is_ready) { EXPECT_TRUE(upcxx::when_all().ready()); }

TEST(when_all, of_values_is_ready) {
  int x = 1;
  auto f = upcxx::when_all(x, std::string("s"), move_only(3));
  static_assert(same<future<int, std::string, move_only>, decltype(f)>);
  x = 2;
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(f.result<0>(), 1);
  EXPECT_EQ(f.result<1>(), "s");
  EXPECT_EQ(f.result_reference<2>().value, 3);
}

TEST(when_all, of_ready_futures_is_ready) {
  auto f = when_all(make_future(1), make_future(), make_future(std::string("two"), 3.0), 'c');
  static_assert(same<future<int, std::string, double, char>, decltype(f)>);
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(f.result(), std::make_tuple(1, std::string("two"), 3.0, 'c'));
  EXPECT_TRUE(when_all(make_future(), make_future()).ready());
}

TEST(when_all, waits_for_every_argument) {
  promise<int> p;
  promise<> q;
  promise<std::string> r;
  auto f = when_all(p.get_future(), q.get_future(), r.get_future(), 7);
  r.fulfill_result("last");
  EXPECT_FALSE(f.ready());
  p.fulfill_result(1);
  EXPECT_FALSE(f.ready());
  bool ran = false;
  f.then([&](int a, std::string const& b, int c) {
    ran = true;
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, "last");
    EXPECT_EQ(c, 7);
  });
  q.fulfill_anonymous(1);
  EXPECT_TRUE(ran);
  EXPECT_EQ(f.result(), std::make_tuple(1, std::string("last"), 7));
}

TEST(when_all, mixes_ready_and_unready) {
  promise<int> p;
  auto f = when_all(make_future(std::string("ready")), p.get_future(), make_future());
  EXPECT_FALSE(f.ready());
  p.fulfill_result(3);
  EXPECT_EQ(f.result(), std::make_tuple(std::string("ready"), 3));
}

TEST(when_all, same_future_twice) {
  promise<int> p;
  auto f = p.get_future();
  auto g = when_all(f, f);
  auto e = when_all(f.then([](int) {}), f.then([](int) {}));
  p.fulfill_result(2);
  EXPECT_EQ(g.result(), std::make_tuple(2, 2));
  EXPECT_TRUE(e.ready());
}

TEST(when_all, values_are_captured_at_the_call) {
  promise<> p;
  std::string text = "before";
  auto f = when_all(p.get_future(), text, std::make_unique<int>(4));
  text = "after";
  p.fulfill_anonymous(1);
  EXPECT_EQ(f.result_reference<0>(), "before");
  EXPECT_EQ(*f.result_reference<1>(), 4);
}

TEST(when_all, reference_elements_stay_references) {
  int x = 1;
  promise<int&> p;
  auto f = when_all(p.get_future(), 5);
  p.fulfill_result(x);
  EXPECT_EQ(&f.result<0>(), &x);
}

TEST(when_all, one_future_alone_is_the_result) {
  promise<move_only> p;
  auto f = p.get_future();
  auto g = when_all(f);
  auto h = when_all(make_future(), f, make_future());
  promise<> q;
  auto late = when_all(f, q.get_future());
  p.fulfill_result(move_only(1));
  EXPECT_EQ(&g.result_reference(), &f.result_reference());
  EXPECT_EQ(&h.result_reference(), &f.result_reference());
  EXPECT_FALSE(late.ready());
  q.fulfill_anonymous(1);
  EXPECT_EQ(&late.result_reference(), &f.result_reference());
}

TEST(when_all, keeps_what_it_needs_of_dropped_inputs) {
  promise<> gate;
  future<std::string, int> f;
  {
    promise<std::string> p;
    f = when_all(p.get_future(), gate.get_future(), 1);
    p.fulfill_result(std::string(40, 'z'));
  }
  gate.fulfill_anonymous(1);
  EXPECT_EQ(f.result<0>(), std::string(40, 'z'));
}

TEST(when_all, inputs_end_when_it_is_ready) {
  counted::alive = 0;
  promise<> gate;
  {
    auto f = when_all(make_future(counted(1)), counted(2), gate.get_future());
    EXPECT_EQ(counted::alive, 2);
    gate.fulfill_anonymous(1);
    EXPECT_EQ(counted::alive, 2);  // moved or copied, and the inputs are gone
    EXPECT_EQ(f.result_reference<0>().value, 1);
    EXPECT_EQ(f.result_reference<1>().value, 2);
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(when_all, with_an_input_that_is_never_ready) {
  promise<int> p;
  EXPECT_FALSE(when_all(p.get_future(), future<>()).ready());
  EXPECT_FALSE(when_all(future<int>()).ready());
  EXPECT_FALSE(when_all(make_future(), future<>()).ready());
  p.fulfill_result(1);
}

TEST(when_all, with_an_input_that_is_dropped) {
  counted::alive = 0;
  promise<> p;
  {
    future<counted> f;
    {
      promise<> dropped;
      f = when_all(p.get_future(), dropped.get_future(), counted(1));
    }
    p.fulfill_anonymous(1);
    EXPECT_FALSE(f.ready());
    EXPECT_EQ(counted::alive, 1);
  }
  EXPECT_EQ(counted::alive, 0);
}

/// Its copies look at a future.
struct watcher {
  future<int, watcher> const* watched = nullptr;
  int* seen_ready;

  watcher(future<int, watcher> const* what, int* count) : watched(what), seen_ready(count) {}
  watcher(watcher const& other) : watched(other.watched), seen_ready(other.seen_ready) {
    if (watched->ready()) ++*seen_ready;
  }
};

TEST(when_all, is_not_ready_while_results_are_being_copied_into_it) {
  int seen_ready = 0;
  future<int, watcher> all;
  promise<int> number;
  promise<watcher> value;
  all = when_all(number.get_future(), value.get_future());
  value.fulfill_result(watcher(&all, &seen_ready));
  number.fulfill_result(1);
  EXPECT_TRUE(all.ready());
  EXPECT_EQ(seen_ready, 0);
}

TEST(when_all, accumulates_in_a_loop) {
  future<> all = make_future();
  promise<> p;
  for (int i = 0; i < 10; ++i) {
    all = when_all(all, i % 2 ? make_future() : p.get_future());
  }
  EXPECT_FALSE(all.ready());
  p.fulfill_anonymous(1);
  EXPECT_TRUE(all.ready());
}

}  // namespace
