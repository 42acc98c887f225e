#include <upcxx/future.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "unit/upcxx/support.hpp"

namespace {

using future_test::counted;
using future_test::end_mark;
using future_test::move_only;
using upcxx::future;
using upcxx::make_future;
using upcxx::promise;
using upcxx::when_all;

template <class Expected, class Actual>
constexpr bool same = std::is_same_v<Expected, Actual>;

template <class... T, class Fn>
auto after(future<T...> f, Fn fn) {
  return f.then(fn);
}

struct returns {
  struct object {};
  object const operator()(int) const { return {}; }
};
static_assert(same<future<>, decltype(after(future<int>(), [](int) {}))>);
static_assert(same<future<long>, decltype(after(future<int>(), [](int) { return 1L; }))>);
static_assert(same<future<char, int>, decltype(after(future<>(), [] { return future<char, int>(); }))>);
static_assert(same<future<future<int>>, decltype(after(future<>(), [] { return future<future<int>>(); }))>);
static_assert(
    same<future<int const&>, decltype(after(future<int>(), [](int const& x) -> int const& { return x; }))>);
static_assert(same<future<returns::object const>, decltype(after(future<int>(), returns{}))>);
static_assert(
    same<future<int>, decltype(after(future<int&>(), [](int& x) -> int&& { return std::move(x); }))>);
static_assert(same<future<int>, decltype(after(future<int>(), [](int) -> future<int> const { return {}; }))>);
static_assert(same<future<int>, decltype(after(
                                    future<future<int>>(), [](auto& f) -> auto& { return f; }))>);

// Arguments are `U const&` or the reference itself, nothing else.
struct expects_exactly {
  void operator()(int const&, char&, std::string&&, double const&) const {}
  template <class A, class B, class C, class D>
  void operator()(A&&, B&&, C&&, D&&) const = delete;
};
static_assert(
    same<future<>, decltype(future<int, char&, std::string&&, double const>().then(expects_exactly{}))>);

TEST(then, runs_at_once_when_ready) {
  bool ran = false;
  auto f = make_future().then([&] { ran = true; });
  EXPECT_TRUE(ran);
  EXPECT_TRUE(f.ready());
  auto g = make_future(2, 3).then([](int a, int b) { return a * b; });
  EXPECT_TRUE(g.ready());
  EXPECT_EQ(g.result(), 6);
}

TEST(then, runs_inside_the_fulfilling_call) {
  promise<int> p;
  int seen = 0;
  auto f = p.get_future().then([&](int v) { seen = v; });
  auto g = p.get_future().then([&](int v) { return v + 1; });
  EXPECT_EQ(seen, 0);
  EXPECT_FALSE(f.ready());
  p.fulfill_result(4);
  EXPECT_EQ(seen, 4);
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(g.result(), 5);
}

TEST(then, callbacks_of_one_future_run_in_order_of_registration) {
  promise<> p;
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    p.get_future().then([&order, i] { order.push_back(i); });
  }
  p.fulfill_anonymous(1);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(then, callback_runs_though_its_future_is_dropped) {
  promise<> p;
  bool ran = false;
  p.get_future().then([&] { ran = true; });
  p.fulfill_anonymous(1);
  EXPECT_TRUE(ran);
}

TEST(then, flattens_one_level) {
  promise<int> outer;
  promise<std::string> inner;
  auto f = outer.get_future().then([&](int) { return inner.get_future(); });
  static_assert(same<future<std::string>, decltype(f)>);
  auto length = f.then([](std::string const& s) { return s.size(); });
  outer.fulfill_result(1);
  EXPECT_FALSE(f.ready());
  inner.fulfill_result("four");
  EXPECT_EQ(f.result(), "four");
  EXPECT_EQ(length.result(), 4U);
}

TEST(then, flattens_ready_and_never_ready_futures) {
  promise<> p;
  auto ready = p.get_future().then([] { return make_future(3); });
  auto empty = p.get_future().then([] { return make_future(); });
  auto never = p.get_future().then([] { return future<int>(); });
  auto dropped = p.get_future().then([] { return promise<int>().get_future(); });
  p.fulfill_anonymous(1);
  EXPECT_EQ(ready.result(), 3);
  EXPECT_TRUE(empty.ready());
  EXPECT_FALSE(never.ready());
  EXPECT_FALSE(dropped.ready());
  EXPECT_EQ(make_future(1).then([](int) { return make_future(2); }).result(), 2);
  EXPECT_FALSE(make_future(1).then([](int) { return future<int>(); }).ready());
}

TEST(then, flattening_needs_no_copies) {
  promise<> outer;
  promise<move_only> inner;
  auto f = outer.get_future().then([&] { return inner.get_future(); });
  auto g = outer.get_future().then([&] { return f; });
  auto h = g.then([](move_only const& m) { return m.value; });
  outer.fulfill_anonymous(1);
  inner.fulfill_result(move_only(6));
  EXPECT_EQ(f.result_reference().value, 6);
  EXPECT_EQ(&g.result_reference(), &f.result_reference());
  EXPECT_EQ(h.result(), 6);
  inner = promise<move_only>();
  f = {};
  EXPECT_EQ(g.result_reference().value, 6);  // kept by the forwarding state alone
}

TEST(then, keeps_references_and_decays_rvalue_references) {
  promise<> p;
  int x = 1;
  auto lvalue = p.get_future().then([&]() -> int& { return x; });
  std::string text = "text";
  auto rvalue = p.get_future().then([&]() -> std::string&& { return std::move(text); });
  static_assert(same<future<int&>, decltype(lvalue)> && same<future<std::string>, decltype(rvalue)>);
  p.fulfill_anonymous(1);
  EXPECT_EQ(&lvalue.result(), &x);
  EXPECT_EQ(rvalue.result(), "text");
  EXPECT_TRUE(text.empty());
}

TEST(then, move_only_results) {
  auto f = make_future(move_only(1)).then([](move_only const& m) { return move_only(m.value + 1); });
  EXPECT_EQ(f.result_reference().value, 2);
  promise<std::unique_ptr<int>> p;
  auto g = p.get_future().then([](std::unique_ptr<int> const& i) { return std::make_unique<int>(*i + 1); });
  p.fulfill_result(std::make_unique<int>(4));
  EXPECT_EQ(*g.result_reference(), 5);
}

TEST(then, accepts_many_kinds_of_callables) {
  struct object {
    int value;
    int get() const { return value; }
  };
  struct rvalue_only {
    int operator()(int v) && { return v + 1; }
  };
  struct lvalue_only {
    int operator()(int v) & { return v + 2; }
  };
  for (bool ready_now : {true, false}) {
    promise<int> p;
    promise<object> q;
    if (ready_now) {
      p.fulfill_result(1);
      q.fulfill_result(object{3});
    }
    auto f = p.get_future();
    auto a = f.then([m = move_only(5)](int v) { return v + m.value; });
    auto b = f.then(rvalue_only{});
    auto c = f.then(lvalue_only{});
    auto d = f.then([n = 0](int v) mutable { return n += v; });
    auto e = f.then(static_cast<int (*)(int)>(+[](int v) { return -v; }));
    auto g = q.get_future().then(&object::value);
    auto h = q.get_future().then(&object::get);
    auto i = f.then([](auto&&... values) { return sizeof...(values); });
    if (!ready_now) {
      p.fulfill_result(1);
      q.fulfill_result(object{3});
    }
    EXPECT_EQ(a.result(), 6);
    EXPECT_EQ(b.result(), 2);
    EXPECT_EQ(c.result(), 3);
    EXPECT_EQ(d.result(), 1);
    EXPECT_EQ(e.result(), -1);
    EXPECT_EQ(g.result(), 3);
    EXPECT_EQ(h.result(), 3);
    EXPECT_EQ(i.result(), 1U);
  }
}

int twice(int const& v) { return 2 * v; }

TEST(then, accepts_plain_functions) {
  promise<int> p;
  auto f = p.get_future().then(twice);
  p.fulfill_result(4);
  EXPECT_EQ(f.result(), 8);
  EXPECT_EQ(make_future(5).then(&twice).result(), 10);
}

TEST(then, copies_lvalue_callbacks_and_moves_rvalues) {
  counted::alive = counted::copies = 0;
  promise<> p;
  auto callback = [c = counted(1)] { EXPECT_EQ(c.value, 1); };
  p.get_future().then(callback);
  EXPECT_EQ(counted::copies, 1);
  p.get_future().then(std::move(callback));
  EXPECT_EQ(counted::copies, 1);
  p.fulfill_anonymous(1);
  make_future().then([c = counted(1)] { EXPECT_EQ(c.value, 1); });
  EXPECT_EQ(counted::copies, 1);
}

TEST(then, captures_end_promptly) {
  promise<> p;
  bool ended = false;
  auto first = p.get_future().then([mark = end_mark(ended)] {});
  bool ended_before_next = false;
  auto next = first.then([&] { ended_before_next = ended; });
  EXPECT_FALSE(ended);
  p.fulfill_anonymous(1);
  EXPECT_TRUE(ended);
  EXPECT_TRUE(ended_before_next);

  bool ended_when_ready = false;
  auto callback = [mark = end_mark(ended_when_ready)] {};
  make_future().then(std::move(callback));
  EXPECT_TRUE(ended_when_ready);
}

TEST(then, nested_fulfilment_runs_its_callbacks_before_it_returns) {
  promise<int> outer;
  promise<int> inner;
  std::vector<std::string> log;
  auto chain = inner.get_future().then([&](int v) { return v + 1; }).then([&](int v) {
    log.push_back("inner " + std::to_string(v));
  });
  outer.get_future().then([&](int) {
    log.push_back("before");
    inner.fulfill_result(1);
    EXPECT_TRUE(chain.ready());
    log.push_back("after");
  });
  outer.get_future().then([&](int) { log.push_back("second"); });
  outer.fulfill_result(0);
  EXPECT_EQ(log, (std::vector<std::string>{"before", "inner 2", "after", "second"}));
}

TEST(then, callbacks_see_consistent_readiness) {
  // Both inputs of `both` are ready once `inner` is fulfilled, though `outer` is still telling
  // its dependents.
  promise<> outer;
  promise<> inner;
  future<> both;
  bool saw_ready = false;
  outer.get_future().then([&] {
    inner.fulfill_anonymous(1);
    saw_ready = both.ready();
  });
  both = when_all(outer.get_future(), inner.get_future());
  outer.fulfill_anonymous(1);
  EXPECT_TRUE(saw_ready);
}

TEST(then, attached_inside_a_callback_runs_at_once) {
  promise<int> p;
  auto f = p.get_future();
  int inner = 0;
  f.then([&](int) {
    EXPECT_TRUE(f.ready());
    f.then([&](int v) { inner = v; });
    EXPECT_EQ(inner, 9);
  });
  f.then([&](int) { EXPECT_EQ(inner, 9); });
  p.fulfill_result(9);
}

TEST(then, callback_may_drop_the_last_handle) {
  auto f = std::make_unique<future<std::string>>(make_future(std::string(100, 'x')));
  auto size = f->then([&](std::string const& s) {
    f.reset();
    return s.size();
  });
  EXPECT_EQ(size.result(), 100U);

  auto p = std::make_unique<promise<std::string>>();
  future<std::string> only = p->get_future();
  auto later = only.then([&](std::string const& s) {
    only = {};
    p.reset();
    return s.size();
  });
  p->fulfill_result(std::string(50, 'y'));
  EXPECT_EQ(later.result(), 50U);
}

TEST(then, loops_with_recursion_through_futures) {
  std::vector<promise<>> steps(100);
  struct loop {
    std::vector<promise<>>& steps;
    future<int> operator()(std::size_t i) const {
      return steps[i].get_future().then([*this, i]() -> future<int> {
        return i + 1 == steps.size() ? make_future(static_cast<int>(i)) : (*this)(i + 1);
      });
    }
  };
  auto f = loop{steps}(0);
  for (auto& p : steps) {
    EXPECT_FALSE(f.ready());
    p.fulfill_anonymous(1);
  }
  EXPECT_EQ(f.result(), 99);
}

}  // namespace
