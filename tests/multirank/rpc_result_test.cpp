// rpc: every kind of result, and how long arguments live (communication digest, 12.3 and 12.4).

#include <sched.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "common.hpp"

namespace {

std::string shared_text = "unset";
std::vector<int> shared_numbers;

/// Counts the instances that are alive in this process.
struct tracked {
  static inline int alive = 0;
  int value = 0;
  tracked() { ++alive; }
  explicit tracked(int v) : value(v) { ++alive; }
  tracked(tracked const& o) : value(o.value) { ++alive; }
  tracked(tracked&& o) noexcept : value(o.value) {
    o.value = -1;
    ++alive;
  }
  tracked& operator=(tracked const&) = default;
  ~tracked() {
    value = -2;
    --alive;
  }
  UPCXX_SERIALIZED_VALUES(value)
};

/// Takes its time to die once a callback armed it, and then says so in the memory of whoever sent it.
struct slow_to_die {
  upcxx::global_ptr<int> dead;
  bool armed = false;
  explicit slow_to_die(upcxx::global_ptr<int> flag) : dead(flag) {}
  slow_to_die(slow_to_die&& o) noexcept : dead(o.dead), armed(std::exchange(o.armed, false)) {}
  ~slow_to_die() {
    if (!armed) return;
    auto const until = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    while (std::chrono::steady_clock::now() < until) sched_yield();
    std::atomic_ref(*dead.local()).fetch_add(1);
  }
  UPCXX_SERIALIZED_VALUES(dead)
};

/// Arrives as an int at whoever receives one.
struct asymmetric {
  int v = 0;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, asymmetric const& a) {
      w.write(a.v);
    }
    template <class Reader>
    static int* deserialize(Reader& r, void* storage) {
      return ::new (storage) int(r.template read<int>() + 1000);
    }
  };
};

template <class Expected, class F>
void expect_future(F const&) {
  static_assert(std::is_same_v<F, Expected>);
}

/// A future that the target's own progress readies later.
upcxx::future<> later() {
  return upcxx::current_persona().lpc([] {}).then([] { return upcxx::current_persona().lpc([] {}); });
}

}  // namespace

using rpc_result_test = multirank::fixture;

TEST_F(rpc_result_test, void_and_empty_futures_carry_nothing) {
  auto f = upcxx::rpc(right, [] {});
  expect_future<upcxx::future<>>(f);
  auto g = upcxx::rpc(right, [] { return upcxx::make_future(); });
  expect_future<upcxx::future<>>(g);
  auto h = upcxx::rpc(right, [] { return later(); });
  expect_future<upcxx::future<>>(h);
  upcxx::when_all(f, g, h).wait();
}

TEST_F(rpc_result_test, values_come_back) {
  expect_future<upcxx::future<int>>(upcxx::rpc(right, [] { return 1; }));
  EXPECT_EQ(upcxx::rpc(right, [] { return upcxx::rank_me(); }).wait(), right);
  EXPECT_EQ(upcxx::rpc(right, [] { return std::string("text"); }).wait(), "text");
  EXPECT_TRUE(upcxx::rpc(right, [] { return true; }).wait());
  EXPECT_EQ(upcxx::rpc(right, [] { return std::vector<std::string>{"a", "b"}; }).wait().at(1), "b");
  auto const tuple = upcxx::rpc(right, [] { return std::make_tuple(1, std::string("t"), 2.5); }).wait();
  EXPECT_EQ(std::get<1>(tuple), "t");
  std::vector<int> const large = upcxx::rpc(
                                     right, [](int k) { return std::vector<int>(1000000, k); }, me)
                                     .wait();
  EXPECT_EQ(large, std::vector<int>(1000000, me));
}

TEST_F(rpc_result_test, constness_of_a_value_is_kept) {
  struct returns_const {
    static std::string const text() { return "const"; }
  };
  auto f = upcxx::rpc(right, returns_const::text);
  expect_future<upcxx::future<std::string const>>(f);
  EXPECT_EQ(f.wait(), "const");
}

TEST_F(rpc_result_test, references_come_back_as_values) {
  shared_text = "text of rank " + std::to_string(me);
  upcxx::barrier();
  auto f = upcxx::rpc(right, []() -> std::string& { return shared_text; });
  auto g = upcxx::rpc(right, []() -> std::string const& { return shared_text; });
  auto h = upcxx::rpc(right, []() -> std::string&& { return std::move(shared_text); });
  expect_future<upcxx::future<std::string>>(f);
  expect_future<upcxx::future<std::string>>(g);
  expect_future<upcxx::future<std::string>>(h);
  std::string const expected = "text of rank " + std::to_string(right);
  EXPECT_EQ(f.wait(), expected);
  EXPECT_EQ(g.wait(), expected);
  EXPECT_EQ(h.wait(), expected);
  upcxx::barrier();
  EXPECT_EQ(shared_text, "text of rank " + std::to_string(me))
      << "serialising must not move from the referent";
}

TEST_F(rpc_result_test, references_to_the_calls_own_arguments_are_allowed) {
  std::vector<int> numbers(100000);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<int>(i) * 3 + me;
  }
  EXPECT_EQ(upcxx::rpc(
                right, [](std::vector<int> const& v) -> std::vector<int> const& { return v; }, numbers)
                .wait(),
            numbers);
  EXPECT_EQ(upcxx::rpc(
                right, [](std::vector<int>&& v) -> std::vector<int>& { return v; }, numbers)
                .wait(),
            numbers);
  auto f = upcxx::rpc(
      right,
      [](std::vector<int> const& v, std::string const& s) {
        return upcxx::make_future<std::vector<int> const&, std::string const&>(v, s);
      },
      numbers, std::string("beside"));
  expect_future<upcxx::future<std::vector<int>, std::string>>(f);
  EXPECT_EQ(f.wait<0>(), numbers);
  EXPECT_EQ(f.result<1>(), "beside");
  // And inside a future that is ready only later.
  auto g = upcxx::rpc(
      right,
      [](std::vector<int> const& v) { return later().then([&v]() -> std::vector<int> const& { return v; }); },
      numbers);
  expect_future<upcxx::future<std::vector<int>>>(g);
  EXPECT_EQ(g.wait(), numbers);
}

TEST_F(rpc_result_test, ready_futures_are_unwrapped) {
  auto f = upcxx::rpc(right, [] { return upcxx::make_future(1, std::string("two"), 3.0); });
  expect_future<upcxx::future<int, std::string, double>>(f);
  EXPECT_EQ(f.wait(), std::make_tuple(1, std::string("two"), 3.0));
  EXPECT_EQ(f.result<1>(), "two");
  EXPECT_EQ(upcxx::rpc(right, [] { return upcxx::to_future(5); }).wait(), 5);
}

TEST_F(rpc_result_test, a_future_that_becomes_ready_later_delays_the_reply) {
  static upcxx::promise<int, std::string> promise;
  promise = upcxx::promise<int, std::string>();
  upcxx::barrier();
  auto f = upcxx::rpc(right, [] { return promise.get_future(); });
  expect_future<upcxx::future<int, std::string>>(f);
  // A later call to the same rank returns although the first has not.
  upcxx::rpc(right, [] {}).wait();
  multirank::poll();
  EXPECT_FALSE(f.ready());
  upcxx::barrier();
  promise.fulfill_result(me, std::to_string(me));
  EXPECT_EQ(f.wait(), std::make_tuple(right, std::to_string(right)));
  upcxx::barrier();
}

TEST_F(rpc_result_test, a_callback_may_wait_for_another_rank_through_its_future) {
  auto f = upcxx::rpc(
      right,
      [](int origin) {
        int const next = (upcxx::rank_me() + 1) % upcxx::rank_n();
        return upcxx::rpc(next, [] { return upcxx::rank_me() * 10; }).then([origin](int v) {
          return v + origin;
        });
      },
      me);
  EXPECT_EQ(f.wait(), (right + 1) % n * 10 + me);
}

TEST_F(rpc_result_test, asymmetric_results_arrive_deserialised) {
  auto f = upcxx::rpc(right, [] { return asymmetric{5}; });
  expect_future<upcxx::future<int>>(f);
  EXPECT_EQ(f.wait(), 1005);
  auto g = upcxx::rpc(right, [] {
    return upcxx::make_future(asymmetric{1}, std::vector<asymmetric>{{2}, {3}});
  });
  expect_future<upcxx::future<int, std::vector<int>>>(g);
  EXPECT_EQ(g.wait<0>(), 1001);
  EXPECT_EQ(g.result<1>(), (std::vector<int>{1002, 1003}));
}

TEST_F(rpc_result_test, operation_lpc_and_promise_take_the_result) {
  std::string got;
  bool done = false;
  upcxx::rpc(right,
             upcxx::operation_cx::as_lpc(upcxx::current_persona(),
                                         [&](std::string&& s, int&& i) {
                                           got = s + std::to_string(i);
                                           done = true;
                                         }),
             [] { return upcxx::make_future(std::string("lpc"), 4); });
  multirank::spin_until([&] { return done; });
  EXPECT_EQ(got, "lpc4");
  upcxx::promise<std::string, int> p;
  upcxx::rpc(right, upcxx::operation_cx::as_promise(p),
             [] { return upcxx::make_future(std::string("promise"), 5); });
  upcxx::future<std::string, int> f = p.finalize();
  EXPECT_EQ(f.wait<0>(), "promise");
  EXPECT_EQ(f.result<1>(), 5);
}

TEST_F(rpc_result_test, arguments_live_until_the_returned_future_is_ready_and_then_die) {
  tracked::alive = 0;
  upcxx::barrier();
  {
    auto f = upcxx::rpc(
        right,
        [](tracked const& t) {
          EXPECT_GE(tracked::alive, 1);
          return later().then([&t] { return t.value; });
        },
        tracked(me + 5));
    EXPECT_EQ(f.wait(), me + 5);
    auto g = upcxx::rpc(
        right, [](tracked t, tracked&& u) { return t.value + u.value; }, tracked(1), tracked(2));
    EXPECT_EQ(g.wait(), 3);
    upcxx::rpc(
        right, [](tracked const&) {}, tracked(1))
        .wait();
  }
  upcxx::barrier();
  // Operation completion includes the destruction of what the runtime managed at the target.
  EXPECT_EQ(tracked::alive, 0);
}

TEST_F(rpc_result_test, operation_completion_comes_after_the_end_of_the_arguments) {
  // What ends says so by a store, not by a call.
  if (upcxx::local_team().rank_n() != n) GTEST_SKIP() << "needs memory that all ranks address";
  upcxx::global_ptr<int> const dead = upcxx::new_<int>(0);
  auto const ended = [&] { return std::atomic_ref(*dead.local()).exchange(0); };
  upcxx::rpc(
      right, [](slow_to_die&& a) { a.armed = true; }, slow_to_die(dead))
      .wait();
  EXPECT_EQ(ended(), 1);
  auto value = upcxx::rpc(
      right,
      [](slow_to_die&& a, slow_to_die&& b, std::string const& text) -> std::string const& {
        a.armed = b.armed = true;
        return text;
      },
      slow_to_die(dead), slow_to_die(dead), std::string(3000, 'x'));
  EXPECT_EQ(value.wait(), std::string(3000, 'x'));
  EXPECT_EQ(ended(), 2);
  auto delayed = upcxx::rpc(
      right,
      [](slow_to_die&& a, int const& number) {
        a.armed = true;
        return later().then([&number]() -> int const& { return number; });
      },
      slow_to_die(dead), 7);
  EXPECT_EQ(delayed.wait(), 7);
  EXPECT_EQ(ended(), 1);
  upcxx::barrier();
  upcxx::delete_(dead);
}

TEST_F(rpc_result_test, fire_and_forget_keeps_arguments_until_its_future_is_ready) {
  static int finished;
  static int sum;
  finished = sum = 0;
  tracked::alive = 0;
  upcxx::barrier();
  for (int i = 0; i < 10; ++i) {
    upcxx::rpc_ff(
        right,
        [](tracked const& t, std::vector<int> const& v) {
          return later().then([&t, &v] {
            sum += t.value + v.back();
            ++finished;
          });
        },
        tracked(i), std::vector<int>(1000, i));
  }
  multirank::spin_until([] { return finished == 10; });
  EXPECT_EQ(sum, 2 * 45);
  multirank::spin_until([] { return tracked::alive == 0; });
}

TEST_F(rpc_result_test, thousands_of_round_trips_in_flight_all_return_their_own_result) {
  constexpr int count = 5000;
  int wrong = 0;
  upcxx::future<> all = upcxx::make_future();
  for (int i = 0; i < count; ++i) {
    int const target = i % n;
    all =
        upcxx::when_all(all, upcxx::rpc(
                                 target, [](int x) { return x * 8 + upcxx::rank_me(); }, i)
                                 .then([&wrong, i, target](int v) { wrong += v != i * 8 + target ? 1 : 0; }));
  }
  all.wait();
  EXPECT_EQ(wrong, 0);
}

TEST_F(rpc_result_test, results_of_any_size_come_back) {
  for (std::size_t const size : multirank::interesting_sizes(1 << 20)) {
    std::vector<std::uint8_t> const got = upcxx::rpc(
                                              right,
                                              [](std::size_t count) {
                                                std::vector<std::uint8_t> v(count);
                                                multirank::fill_pattern(v.data(), count, upcxx::rank_me());
                                                return v;
                                              },
                                              size)
                                              .wait();
    ASSERT_EQ(got.size(), size);
    ASSERT_EQ(multirank::first_mismatch(got.data(), size, right), size);
  }
}
