#include <upcxx/future.hpp>

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "unit/upcxx/support.hpp"

namespace {

using future_test::counted;
using future_test::move_only;
using future_test::pinned;
using upcxx::future;
using upcxx::make_future;
using upcxx::promise;
using upcxx::to_future;

template <class Expected, class Actual>
constexpr bool same = std::is_same_v<Expected, Actual>;

// Signatures of the specification.
static_assert(std::is_default_constructible_v<future<int>> && std::is_copy_constructible_v<future<int>>);
static_assert(std::is_copy_assignable_v<future<int>> && std::is_nothrow_move_constructible_v<future<int>>);
static_assert(std::is_nothrow_move_assignable_v<future<>> && std::is_nothrow_destructible_v<future<>>);
static_assert(!std::is_trivially_copyable_v<future<>> && !std::is_trivially_copyable_v<future<int>>);
static_assert(same<void, decltype(future<>().result())>);
static_assert(same<int, decltype(future<int>().result())>);
static_assert(same<int&, decltype(future<int&>().result())>);
static_assert(same<std::tuple<int, char&>, decltype(future<int, char&>().result())>);
static_assert(same<char&, decltype(future<int, char&>().result<1>())>);
static_assert(same<void, decltype(future<int, char&>().result<2>())>);
static_assert(same<void, decltype(future<int, char&>().result<-2>())>);
static_assert(same<void, decltype(future<>().result<0>())>);
static_assert(same<void, decltype(future<>().result_reference())>);
static_assert(same<int const&, decltype(future<int>().result_reference())>);
static_assert(same<int const&, decltype(future<int const>().result_reference())>);
static_assert(same<int&, decltype(future<int&>().result_reference())>);
static_assert(same<int&&, decltype(future<int&&>().result_reference())>);
static_assert(same<std::tuple<int const&, char&>, decltype(future<int, char&>().result_reference())>);
static_assert(same<std::tuple<>, decltype(future<>().result_tuple())>);
static_assert(same<std::tuple<int>, decltype(future<int>().result_tuple())>);
static_assert(same<void, decltype(future<int>().wait<7>())>);
static_assert(same<int, decltype(future<int>().wait())>);
static_assert(same<int const&, decltype(future<int>().wait_reference<0>())>);
static_assert(same<std::tuple<int>, decltype(future<int>().wait_tuple())>);
static_assert(noexcept(future<int>().result()) && noexcept(future<int>().wait()));

TEST(future, default_constructed_is_never_ready) {
  future<> nothing;
  future<int> number;
  EXPECT_FALSE(nothing.ready());
  EXPECT_FALSE(number.is_ready());
  bool ran = false;
  auto after = nothing.then([&] { ran = true; });
  auto after_number = number.then([&](int) {
    ran = true;
    return 1;
  });
  EXPECT_FALSE(after.ready());
  EXPECT_FALSE(after_number.ready());
  EXPECT_FALSE(ran);
  future<> copy = nothing;
  EXPECT_FALSE(copy.ready());
}

TEST(future, ready_without_values) {
  future<> f = make_future();
  EXPECT_TRUE(f.ready());
  f.result();
  f.wait();
  EXPECT_EQ(f.result_tuple(), std::tuple<>());
  f.result<3>();
  future<> other = f;
  EXPECT_TRUE(other.ready());
  other = future<>();
  EXPECT_FALSE(other.ready());
  other = std::move(f);
  EXPECT_TRUE(other.ready());
}

TEST(future, results_by_index_reference_and_tuple) {
  auto f = make_future(1, std::string("two"), 3.0);
  static_assert(same<future<int, std::string, double>, decltype(f)>);
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(f.result<0>(), 1);
  EXPECT_EQ(f.result<1>(), "two");
  EXPECT_EQ(f.result<2>(), 3.0);
  EXPECT_EQ(f.result(), std::make_tuple(1, std::string("two"), 3.0));
  EXPECT_EQ(f.result_tuple(), f.result());
  EXPECT_EQ(f.wait_tuple(), f.result());
  EXPECT_EQ(f.wait<1>(), "two");
  EXPECT_EQ(&f.result_reference<1>(), &std::get<1>(f.result_reference()));
  EXPECT_EQ(&f.wait_reference<1>(), &f.result_reference<1>());
  f.result<3>();
  f.result_reference<-5>();
}

TEST(future, make_future_decays_unless_asked_otherwise) {
  int x = 1;
  int const cx = 2;
  EXPECT_TRUE((same<future<int>, decltype(make_future(x))>));
  EXPECT_TRUE((same<future<int>, decltype(make_future(cx))>));
  EXPECT_TRUE((same<future<char const*>, decltype(make_future("text"))>));
  future<int&> ref = make_future<int&>(x);
  EXPECT_EQ(&ref.result(), &x);
  EXPECT_EQ(&ref.result_reference(), &x);
  future<int&&> rref = make_future<int&&>(std::move(x));
  EXPECT_EQ(&static_cast<int const&>(rref.result_reference()), &x);
  future<int const> constant = make_future<int const>(5);
  EXPECT_EQ(constant.result(), 5);
  EXPECT_TRUE((same<future<future<int>>, decltype(make_future(make_future(1)))>));
  EXPECT_EQ(make_future(make_future(7)).result().result(), 7);
}

TEST(future, make_future_moves_move_only_values) {
  auto f = make_future(move_only(4), std::make_unique<int>(5));
  EXPECT_EQ(f.result_reference<0>().value, 4);
  EXPECT_EQ(*f.result_reference<1>(), 5);
}

TEST(future, values_that_look_like_the_tuple_around_them) {
  auto f = make_future(std::make_tuple(1));
  static_assert(same<future<std::tuple<int>>, decltype(f)>);
  EXPECT_EQ(f.result(), std::make_tuple(1));
  EXPECT_EQ(f.result_tuple(), std::make_tuple(std::make_tuple(1)));
  auto p = make_future(std::make_pair(1, 2), std::make_tuple(3, 4));
  EXPECT_EQ(p.result<0>().second, 2);
}

TEST(future, to_future_keeps_futures_and_wraps_values) {
  auto f = make_future(1, 2);
  auto same_state = to_future(f);
  static_assert(same<future<int, int>, decltype(same_state)>);
  EXPECT_EQ(&f.result_reference<0>(), &same_state.result_reference<0>());
  EXPECT_TRUE((same<future<int>, decltype(to_future(3))>));
  EXPECT_EQ(to_future(3).result(), 3);
  EXPECT_EQ(to_future(move_only(3)).result_reference().value, 3);
  EXPECT_TRUE(to_future(make_future()).ready());
  EXPECT_FALSE(to_future(future<int>()).ready());
  EXPECT_EQ(to_future(make_future(make_future(9))).result().result(), 9);
}

TEST(future, copies_share_the_state) {
  promise<counted> p;
  future<counted> a = p.get_future();
  future<counted> b = a;
  future<counted> c;
  c = b;
  p.fulfill_result(counted(3));
  EXPECT_TRUE(a.ready() && b.ready() && c.ready());
  EXPECT_EQ(&a.result_reference(), &c.result_reference());
  a = future<counted>();
  future<counted> const& alias = b;
  b = alias;
  c = std::move(b);
  EXPECT_FALSE(b.ready());
  EXPECT_EQ(c.result_reference().value, 3);
  using std::swap;
  swap(a, c);
  EXPECT_TRUE(a.ready());
}

TEST(future, results_can_be_read_many_times) {
  counted::copies = 0;
  auto f = make_future(counted(8));
  EXPECT_EQ(counted::copies, 0);
  EXPECT_EQ(f.result().value, 8);
  EXPECT_EQ(f.result().value, 8);
  EXPECT_EQ(counted::copies, 2);
}

TEST(future, element_with_large_alignment) {
  struct alignas(64) line {
    int value;
  };
  promise<char, line> p;
  auto f = p.get_future().then([](char, line const& l) { return line{l.value + 1}; });
  auto g = upcxx::when_all(f, 1);
  p.fulfill_result('a', line{4});
  EXPECT_EQ(f.result_reference().value, 5);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&f.result_reference()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&g.result_reference<0>()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&p.get_future().result_reference<1>()) % 64, 0U);
}

TEST(future, of_an_incomplete_type_may_be_a_member) {
  struct node {
    int value;
    future<node> next;
  };
  node const end{2, {}};
  node const start{1, make_future(end)};
  EXPECT_EQ(start.next.result().value, 2);
}

TEST(future, both_branches_of_a_lambda_deduce_the_same_type) {
  promise<int> p;
  auto pick = [&](bool now) {
    if (now) {
      return make_future(1);
    }
    return p.get_future();
  };
  EXPECT_TRUE(pick(true).ready());
  EXPECT_FALSE(pick(false).ready());
}

// Constant initialisation, and ends after everything else.
constinit future<> static_never;
future<> static_ready = make_future();
future<int> static_value = make_future(3);
promise<std::string> static_promise;
future<> static_waiting = static_promise.get_future().then([](std::string const&) {});

TEST(future, of_static_storage_duration) {
  EXPECT_FALSE(static_never.ready());
  EXPECT_TRUE(static_ready.ready());
  EXPECT_EQ(static_value.result(), 3);
  EXPECT_FALSE(static_waiting.ready());
}

// Cells that are let go of too early are taken again by the next future.
TEST(future, waited_for_as_a_temporary) {
  EXPECT_EQ(make_future(5).wait(), 5);
  EXPECT_EQ(make_future(std::string("text")).wait(), "text");
  int variable = 1;
  EXPECT_EQ(&make_future<int&>(variable).wait(), &variable);

  future<int> const kept = make_future(7);
  EXPECT_EQ(future<int>(kept).wait(), 7);
  future<int> const another = make_future(8);
  EXPECT_EQ(kept.result(), 7);

  promise<int> source;
  future<int> passed_on = source.get_future().then([&](int v) { return v == 1 ? another : make_future(0); });
  future<int> calculated = source.get_future().then([](int v) { return v + 1; });
  source.fulfill_result(1);
  EXPECT_EQ(std::move(passed_on).wait(), 8);
  EXPECT_EQ(std::move(calculated).wait(), 2);
  EXPECT_EQ(source.get_future().wait(), 1);
  future<int> const last = make_future(9);
  EXPECT_EQ(another.result(), 8);
  EXPECT_EQ(last.result(), 9);
}

#if !defined(UPCXX_CODEMODE) || !UPCXX_CODEMODE
TEST(future_checks, reading_too_early_stops) {
  EXPECT_DEATH(promise<int>().get_future().result(), "before it is ready");
  EXPECT_DEATH(future<int>().result_reference(), "before it is ready");
  EXPECT_DEATH(future<>().result(), "before it is ready");
}
#endif

}  // namespace
