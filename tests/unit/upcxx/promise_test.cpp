#include <upcxx/promise.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>
#include <upcxx/detail/future/raw.hpp>
#include <upcxx/future.hpp>

#include "unit/upcxx/support.hpp"

namespace {

using future_test::counted;
using future_test::move_only;
using future_test::pinned;
using upcxx::future;
using upcxx::promise;
namespace detail = upcxx::detail;

static_assert(std::is_convertible_v<std::intptr_t, promise<int>>);  // not explicit
static_assert(std::is_copy_assignable_v<promise<int>> && std::is_nothrow_move_constructible_v<promise<int>>);
static_assert(!std::is_trivially_copyable_v<promise<int>>);
static_assert(std::is_same_v<future<int, char>, decltype(promise<int, char>().get_future())>);
static_assert(std::is_same_v<future<int>, decltype(promise<int>().finalize())>);

TEST(promise, one_dependency_by_default) {
  promise<> empty;
  promise<int> number;
  auto f = empty.get_future();
  auto g = number.get_future();
  EXPECT_FALSE(f.ready());
  EXPECT_FALSE(g.ready());
  empty.fulfill_anonymous(1);
  number.fulfill_result(7);
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(g.result(), 7);
}

TEST(promise, result_counts_as_one_dependency) {
  promise<int> const p(3);
  auto f = p.get_future();
  p.fulfill_result(1);
  EXPECT_FALSE(f.ready());
  p.fulfill_anonymous(0);
  p.fulfill_anonymous(1);
  EXPECT_FALSE(f.ready());
  p.fulfill_anonymous(1);
  EXPECT_EQ(f.result(), 1);
}

TEST(promise, result_may_come_first_or_last) {
  promise<int> p(2);
  p.fulfill_anonymous(1);
  EXPECT_FALSE(p.get_future().ready());
  p.fulfill_result(5);
  EXPECT_EQ(p.get_future().result(), 5);
}

TEST(promise, of_nothing_takes_a_result_as_a_decrement) {
  promise<> p(2);
  p.fulfill_result();
  EXPECT_FALSE(p.get_future().ready());
  p.fulfill_anonymous(1);
  EXPECT_TRUE(p.get_future().ready());
}

TEST(promise, counts_operations) {
  promise<> p;
  for (int i = 0; i < 10; ++i) {
    p.require_anonymous(1);
  }
  p.require_anonymous(0);
  auto all = p.finalize();
  EXPECT_FALSE(all.ready());
  p.fulfill_anonymous(9);
  EXPECT_FALSE(all.ready());
  p.fulfill_anonymous(1);
  EXPECT_TRUE(all.ready());
}

TEST(promise, with_value_and_finalize) {
  promise<int> p;
  p.require_anonymous(1);
  auto f = p.finalize();
  EXPECT_FALSE(f.ready());
  p.fulfill_result(3);
  EXPECT_EQ(f.result(), 3);
}

TEST(promise, finalize_is_ready_at_once_without_operations) { EXPECT_TRUE(promise<>().finalize().ready()); }

TEST(promise, huge_counts) {
  promise<> p(INTPTR_MAX);
  p.fulfill_anonymous(INTPTR_MAX - 1);
  EXPECT_FALSE(p.get_future().ready());
  p.fulfill_anonymous(1);
  EXPECT_TRUE(p.get_future().ready());
}

TEST(promise, copies_are_the_same_promise) {
  promise<int> p;
  promise<int> q = p;
  promise<int> r;
  r = q;
  auto f = p.get_future();
  q.require_anonymous(1);
  r.fulfill_anonymous(1);
  p.fulfill_result(4);
  EXPECT_EQ(f.result(), 4);
  EXPECT_TRUE(r.get_future().ready());
  promise<int> moved = std::move(q);
  EXPECT_EQ(moved.get_future().result(), 4);
}

TEST(promise, futures_are_equivalent) {
  promise<std::string> p;
  auto before = p.get_future();
  p.fulfill_result("text");  // converted in place
  auto after = p.get_future();
  EXPECT_EQ(&before.result_reference(), &after.result_reference());
}

TEST(promise, constructs_results_in_place) {
  promise<pinned, int> p;
  p.fulfill_result(6, 7);
  EXPECT_EQ(p.get_future().result_reference<0>().sum, 6);
  promise<move_only> q;
  q.fulfill_result(move_only(2));
  EXPECT_EQ(q.get_future().result_reference().value, 2);
}

TEST(promise, of_references) {
  int x = 1;
  promise<int&, int&&> p;
  p.fulfill_result(x, std::move(x));
  EXPECT_EQ(&p.get_future().result<0>(), &x);
  int&& second = p.get_future().result_reference<1>();
  EXPECT_EQ(&second, &x);
}

TEST(promise, callback_may_end_the_promise_that_is_being_fulfilled) {
  auto p = std::make_unique<promise<int>>();
  int seen = 0;
  auto after = p->get_future().then([&](int const& v) {
    p.reset();
    seen = v;
  });
  p->fulfill_result(3);
  EXPECT_EQ(seen, 3);
  EXPECT_TRUE(after.ready());

  auto q = std::make_unique<promise<>>();
  q->get_future().then([&] { q.reset(); });
  EXPECT_TRUE(q->finalize().ready());
}

TEST(promise, dropped_unfulfilled_is_silent) {
  counted::alive = 0;
  future<int> f;
  {
    promise<counted> p;
    f = p.get_future().then([c = counted(1)](counted const&) { return 1; });
    EXPECT_EQ(counted::alive, 1);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_FALSE(f.ready());
}

TEST(promise, dropped_with_result_but_open_dependencies) {
  counted::alive = 0;
  {
    promise<counted> p(2);
    p.fulfill_result(counted(1));
    EXPECT_EQ(counted::alive, 1);
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(raw_handles, promise_as_a_cookie) {
  promise<int> p;
  auto f = p.get_future();
  void* cookie = detail::promise_release(std::move(p));
  detail::cell_fulfill_result_and_release<int>(cookie, 5);
  EXPECT_EQ(f.result(), 5);
}

TEST(raw_handles, type_erased_fulfilment) {
  promise<int> p;
  void* operation = detail::promise_require(p);
  void* shared = detail::promise_share(p);
  p.fulfill_result(1);
  EXPECT_FALSE(p.get_future().ready());
  detail::cell_release(shared);
  detail::cell_fulfill_and_release(operation);
  EXPECT_TRUE(p.get_future().ready());
}

TEST(raw_handles, pending_state) {
  auto pending = detail::make_pending<>();
  bool ran = false;
  pending.result.then([&] { ran = true; });
  detail::cell_fulfill_and_release(pending.raw);
  EXPECT_TRUE(pending.result.ready());
  EXPECT_TRUE(ran);

  auto value = detail::make_pending<pinned>();
  detail::cell_fulfill_call_and_release<pinned>(value.raw, [] { return pinned(1, 2); });
  EXPECT_EQ(value.result.result_reference().sum, 3);

  auto dropped = detail::make_pending<int>();
  detail::cell_release(dropped.raw);
  EXPECT_FALSE(dropped.result.ready());
}

TEST(raw_handles, futures_go_through_pointers) {
  auto f = upcxx::make_future(std::string("value"));
  void* raw = detail::future_release(std::move(f));
  EXPECT_FALSE(f.ready());
  f = detail::future_adopt<std::string>(raw);
  EXPECT_EQ(f.result(), "value");
  EXPECT_TRUE(detail::future_adopt<>(detail::future_release(upcxx::make_future())).ready());
}

#if !defined(UPCXX_CODEMODE) || !UPCXX_CODEMODE
TEST(promise_checks, misuse_stops) {
  EXPECT_DEATH(promise<>(0), "at least one dependency");
  EXPECT_DEATH(promise<>().require_anonymous(-1), "must not be negative");
  EXPECT_DEATH(promise<>().fulfill_anonymous(-1), "must not be negative");
  EXPECT_DEATH(promise<>().fulfill_anonymous(2), "fewer dependencies");
  EXPECT_DEATH(promise<int>().finalize(), "results were not supplied");
  EXPECT_DEATH(
      {
        promise<int> p(3);
        p.fulfill_result(1);
        p.fulfill_result(1);
      },
      "only once");
  EXPECT_DEATH(
      {
        promise<> p;
        p.fulfill_anonymous(1);
        p.require_anonymous(0);
      },
      "fulfilled promise");
  EXPECT_DEATH(
      {
        promise<> p;
        p.fulfill_anonymous(1);
        p.fulfill_anonymous(0);
      },
      "fulfilled promise");
}
#endif

}  // namespace
