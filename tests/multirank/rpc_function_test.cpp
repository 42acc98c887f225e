// rpc and rpc_ff: everything that can be called, and how ranks are named (communication digest, 8.1 and 12).

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "common.hpp"

namespace {

int received;

int free_function(int x) { return x * 2 + upcxx::rank_me(); }
static double static_function(double a, float b) { return a + b; }
int noexcept_function(int x) noexcept { return x - 1; }
void count_up() { ++received; }
int overloaded(int x) { return x; }
[[maybe_unused]] int overloaded(std::string const& s) { return static_cast<int>(s.size()); }

template <class T>
T template_function(T a, T b) {
  return a + b;
}

struct with_static_member {
  static std::string greet(std::string const& name) { return "hello " + name; }
};

struct functor {
  int offset;
  int operator()(int x) const { return x + offset; }
};

struct mutable_functor {
  int state = 10;
  int operator()(int x) { return state += x; }
};

struct overloaded_functor {
  int operator()(int x) const { return x; }
  std::string operator()(std::string s) const { return s + s; }
  char const* unused = nullptr;
};

struct functor_with_fields {
  std::string prefix;
  std::vector<int> numbers;
  std::string operator()(int i) const {
    return prefix + std::to_string(numbers.at(static_cast<std::size_t>(i)));
  }
  UPCXX_SERIALIZED_FIELDS(prefix, numbers)
};

struct empty_functor {
  int operator()() const { return 321; }
};

enum rank_name { first_rank = 0 };

int many_arguments(char a, short b, int c, long d, unsigned char e, unsigned short f, unsigned g,
                   unsigned long h, bool i, float j, double k, long double l, char m, short n, int o,
                   std::string const& p, long q, char r, double s, std::vector<int> const& t) {
  return static_cast<int>(a + b + c + d + e + f + g + h + i + j + k + static_cast<double>(l) + m + n + o +
                          static_cast<int>(p.size()) + q + r + s + static_cast<int>(t.size()));
}

}  // namespace

int function_with_external_linkage(int a, int b) { return a * 100 + b; }
namespace elsewhere {
inline int inline_function(int x) { return -x; }
}  // namespace elsewhere

using rpc_function_test = multirank::fixture;

TEST_F(rpc_function_test, functions_travel_by_name) {
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(upcxx::rpc(r, free_function, 20).wait(), 40 + r);
    EXPECT_EQ(upcxx::rpc(r, static_function, 1.5, 2.0f).wait(), 3.5);
    EXPECT_EQ(upcxx::rpc(r, noexcept_function, 5).wait(), 4);
    EXPECT_EQ(upcxx::rpc(r, function_with_external_linkage, 3, 4).wait(), 304);
    EXPECT_EQ(upcxx::rpc(r, elsewhere::inline_function, 3).wait(), -3);
    EXPECT_EQ(upcxx::rpc(r, template_function<long>, 3L, 4L).wait(), 7);
    EXPECT_EQ(upcxx::rpc(r, template_function<std::string>, std::string("a"), std::string("b")).wait(), "ab");
    EXPECT_EQ(upcxx::rpc(r, with_static_member::greet, std::string("you")).wait(), "hello you");
    EXPECT_EQ(upcxx::rpc(r, static_cast<int (*)(int)>(overloaded), 8).wait(), 8);
  }
}

TEST_F(rpc_function_test, function_pointers_travel_by_value) {
  int (*pointer)(int) = free_function;
  EXPECT_EQ(upcxx::rpc(right, pointer, 1).wait(), 2 + right);
  EXPECT_EQ(upcxx::rpc(right, &free_function, 1).wait(), 2 + right);
  int (*const constant)(int) = &free_function;
  EXPECT_EQ(upcxx::rpc(right, constant, 2).wait(), 4 + right);
  int (*cannot_throw)(int) noexcept = noexcept_function;
  EXPECT_EQ(upcxx::rpc(right, cannot_throw, 2).wait(), 1);
  int (*const table[])(int) = {free_function, noexcept_function, elsewhere::inline_function};
  int const expected[] = {20 + right, 9, -10};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(upcxx::rpc(right, table[i], 10).wait(), expected[i]);
  }
  std::string (*member)(std::string const&) = &with_static_member::greet;
  EXPECT_EQ(upcxx::rpc(right, member, std::string("x")).wait(), "hello x");
}

TEST_F(rpc_function_test, standard_library_functions_can_be_called) {
  // A function that lives in another shared object than the program.
  int (*absolute)(int) = std::abs;
  EXPECT_EQ(upcxx::rpc(right, absolute, -12).wait(), 12);
}

TEST_F(rpc_function_test, functors_travel_with_their_state) {
  EXPECT_EQ(upcxx::rpc(right, functor{100}, 5).wait(), 105);
  functor const constant{200};
  EXPECT_EQ(upcxx::rpc(right, constant, 5).wait(), 205);
  mutable_functor changing;
  EXPECT_EQ(upcxx::rpc(right, changing, 5).wait(), 15);
  EXPECT_EQ(upcxx::rpc(right, changing, 5).wait(), 15);  // each call has its own copy
  EXPECT_EQ(changing.state, 10);
  EXPECT_EQ(upcxx::rpc(right, empty_functor()).wait(), 321);
  EXPECT_EQ(upcxx::rpc(right, overloaded_functor(), 4).wait(), 4);
  EXPECT_EQ(upcxx::rpc(right, overloaded_functor(), std::string("ab")).wait(), "abab");
  functor_with_fields const rich{"no. ", {7, 8, 9}};
  EXPECT_EQ(upcxx::rpc(right, rich, 2).wait(), "no. 9");
  EXPECT_EQ(upcxx::rpc(right, functor_with_fields{"#", {1}}, 0).wait(), "#1");
  EXPECT_EQ(upcxx::rpc(right, std::plus<int>(), 4, 5).wait(), 9);
  EXPECT_EQ(upcxx::rpc(right, std::plus<>(), 4, 5).wait(), 9);
}

TEST_F(rpc_function_test, lambdas_travel_with_their_captures) {
  int a = me * 10;
  double b = 0.5;
  struct {
    int x[4];
  } block = {{1, 2, 3, 4}};
  upcxx::global_ptr<int> cell = upcxx::new_<int>(0);
  EXPECT_EQ(upcxx::rpc(right, [] { return upcxx::rank_me(); }).wait(), right);
  EXPECT_EQ(upcxx::rpc(
                right, [a, b, block](int i) { return a + b + block.x[i]; }, 2)
                .wait(),
            me * 10 + 0.5 + 3);
  upcxx::rpc(right, [cell, v = 77] { return upcxx::rput(v, cell); }).wait();
  EXPECT_EQ(*cell.local(), 77);
  auto lvalue = [a](int x) { return a - x; };
  auto const const_lvalue = [a](int x) { return a + x; };
  EXPECT_EQ(upcxx::rpc(right, lvalue, 1).wait(), a - 1);
  EXPECT_EQ(upcxx::rpc(right, const_lvalue, 1).wait(), a + 1);
  EXPECT_EQ(upcxx::rpc(right, std::move(lvalue), 2).wait(), a - 2);
  EXPECT_EQ(upcxx::rpc(right, [count = 5]() mutable { return ++count; }).wait(), 6);
  EXPECT_EQ(upcxx::rpc(
                right, [](auto x, auto y) { return x + y; }, 1, 2.5)
                .wait(),
            3.5);
  EXPECT_EQ(upcxx::rpc(
                right, [](auto&&... x) { return static_cast<int>(sizeof...(x)); }, 1, 2, 3)
                .wait(),
            3);
  EXPECT_EQ(upcxx::rpc(
                right, [](int x, int y = 5) { return x * y; }, 4)
                .wait(),
            20);
  EXPECT_EQ(upcxx::rpc(
                right, +[](int x) { return x; }, 4)
                .wait(),
            4);
  upcxx::delete_(cell);
}

TEST_F(rpc_function_test, thirty_different_lambdas_are_told_apart) {
  auto check = []<int... I>(int target, std::integer_sequence<int, I...>) {
    int wrong = 0;
    ((wrong += upcxx::rpc(
                   target, [](int x) { return x * 1000 + I; }, I)
                           .wait() != I * 1001
                   ? 1
                   : 0),
     ...);
    return wrong;
  };
  EXPECT_EQ(check(right, std::make_integer_sequence<int, 30>()), 0);
}

TEST_F(rpc_function_test, twenty_arguments_of_all_widths_arrive_in_order) {
  int const expected = 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 1 + 10 + 11 + 12 + 13 + 14 + 15 + 4 + 17 + 18 + 19 + 3;
  std::vector<int> const three{1, 2, 3};
  EXPECT_EQ(upcxx::rpc(right, many_arguments, char{1}, short{2}, 3, 4L, static_cast<unsigned char>(5),
                       static_cast<unsigned short>(6), 7u, 8ul, true, 10.0f, 11.0, 12.0L, char{13}, short{14},
                       15, std::string("four"), 17L, char{18}, 19.0, three)
                .wait(),
            expected);
}

TEST_F(rpc_function_test, ranks_of_any_integral_type_name_the_target) {
  auto who = [] { return upcxx::rank_me(); };
  EXPECT_EQ(upcxx::rpc(static_cast<std::size_t>(right), who).wait(), right);
  EXPECT_EQ(upcxx::rpc(static_cast<short>(right), who).wait(), right);
  EXPECT_EQ(upcxx::rpc(static_cast<std::uint8_t>(right), who).wait(), right);
  EXPECT_EQ(upcxx::rpc(static_cast<long>(right), who).wait(), right);
  EXPECT_EQ(upcxx::rpc(first_rank, who).wait(), 0);
  upcxx::intrank_t const target = right;
  EXPECT_EQ(upcxx::rpc(target, who).wait(), right);
}

TEST_F(rpc_function_test, team_and_completion_overloads_are_told_apart) {
  auto add = [](int x) { return x + 1; };
  std::vector<int> numbers{1, 2, 3};
  upcxx::team const& constant = upcxx::world();
  upcxx::team& plain = upcxx::world();
  EXPECT_EQ(upcxx::rpc(constant, right, add, 1).wait(), 2);
  EXPECT_EQ(upcxx::rpc(plain, static_cast<std::size_t>(right), add, 2).wait(), 3);
  EXPECT_EQ(upcxx::rpc(upcxx::local_team(), upcxx::local_team().rank_me(), add, 3).wait(), 4);
  EXPECT_EQ(upcxx::rpc(
                constant, right, [](upcxx::view<int> v) { return static_cast<int>(v.size()); },
                upcxx::make_view(numbers))
                .wait(),
            3);
  auto const cx = upcxx::operation_cx::as_future();
  EXPECT_EQ(upcxx::rpc(right, cx, add, 4).wait(), 5);
  EXPECT_EQ(upcxx::rpc(plain, right, cx, add, 5).wait(), 6);
  EXPECT_EQ(upcxx::rpc(constant, right, upcxx::operation_cx::as_future(), free_function, 5).wait(),
            10 + right);
  // The first argument of the function may itself be a rank or a team.
  EXPECT_EQ(upcxx::rpc(
                right, [](int a, int b) { return a - b; }, right, 5)
                .wait(),
            right - 5);
  EXPECT_EQ(upcxx::rpc(
                right, [](upcxx::team& t, int r) { return t[r]; }, upcxx::world(), 0)
                .wait(),
            0);
}

TEST_F(rpc_function_test, rpc_ff_returns_nothing_and_runs_everywhere) {
  received = 0;
  upcxx::barrier();
  static_assert(std::is_void_v<decltype(upcxx::rpc_ff(0, count_up))>);
  static_assert(
      std::is_same_v<decltype(upcxx::rpc_ff(0, upcxx::source_cx::as_future(), count_up)), upcxx::future<>>);
  for (int r = 0; r < n; ++r) {
    upcxx::rpc_ff(r, count_up);
    upcxx::rpc_ff(upcxx::world(), r, count_up);
    upcxx::rpc_ff(
        r, [](std::unique_ptr<int>*) { ++received; }, static_cast<std::unique_ptr<int>*>(nullptr));
    upcxx::rpc_ff(r, upcxx::source_cx::as_buffered(), count_up);
    upcxx::rpc_ff(r, upcxx::source_cx::as_future(), count_up).wait();
    upcxx::promise<> p;
    upcxx::rpc_ff(upcxx::world(), r, upcxx::source_cx::as_promise(p), count_up);
    p.finalize().wait();
    // Any result is thrown away, whether it could travel or not.
    upcxx::rpc_ff(r, [] {
      ++received;
      return std::unique_ptr<int>(new int(1));
    });
    upcxx::rpc_ff(r, [] {
      ++received;
      return upcxx::make_future(1, std::string("dropped"));
    });
  }
  multirank::spin_until([this] { return received == 8 * n; });
  multirank::poll();
  EXPECT_EQ(received, 8 * n);
}

TEST_F(rpc_function_test, a_call_to_oneself_is_asynchronous_and_serialised) {
  received = 0;
  int local = 5;
  upcxx::future<int*> f = upcxx::rpc(
      me,
      [](int const& arrived) {
        ++received;
        return const_cast<int*>(&arrived);
      },
      local);
  EXPECT_FALSE(f.ready());
  EXPECT_EQ(received, 0);
  upcxx::rpc_ff(me, count_up);
  EXPECT_EQ(received, 0);
  upcxx::progress(upcxx::progress_level::internal);
  EXPECT_EQ(received, 0);
  EXPECT_NE(f.wait(), &local);
  multirank::spin_until([] { return received == 2; });
}

TEST_F(rpc_function_test, arguments_are_consumed_before_the_call_returns) {
  std::string text = "original";
  std::vector<int> numbers(5000, me);
  auto f = upcxx::rpc(
      right,
      [](std::string const& s, std::vector<int> const& v, upcxx::view<int> w) {
        return s + std::to_string(v.back()) + std::to_string(w.back());
      },
      text, numbers, upcxx::make_view(numbers));
  text = "changed";
  numbers.assign(5000, -1);
  EXPECT_EQ(f.wait(), "original" + std::to_string(me) + std::to_string(me));
}

TEST_F(rpc_function_test, callbacks_inject_calls_that_run_later) {
  static int depth;
  static int inside;
  depth = inside = 0;
  struct bounce {
    static void run(int left_to_go) {
      EXPECT_EQ(inside, 0) << "a callback ran inside another";
      ++inside;
      ++depth;
      if (left_to_go > 0) {
        upcxx::rpc_ff(upcxx::rank_me(), run, left_to_go - 1);
      }
      --inside;
    }
  };
  upcxx::rpc_ff(me, bounce::run, 99);
  multirank::spin_until([] { return depth == 100; });
}

TEST_F(rpc_function_test, a_chain_of_calls_walks_around_the_ring_and_returns_through_futures) {
  struct walker {
    static upcxx::future<int> step(int hops, int sum) {
      int const next = (upcxx::rank_me() + 1) % upcxx::rank_n();
      if (hops == 0) {
        return upcxx::make_future(sum);
      }
      return upcxx::rpc(next, step, hops - 1, sum + upcxx::rank_me());
    }
  };
  int expected = 0;
  for (int i = 0; i < 3 * n; ++i) {
    expected += (right + i) % n;
  }
  EXPECT_EQ(upcxx::rpc(right, walker::step, 3 * n, 0).wait(), expected);
}

TEST_F(rpc_function_test, recursive_calls_compute_fibonacci_across_ranks) {
  struct fib {
    static upcxx::future<long> of(int k) {
      if (k < 2) {
        return upcxx::make_future(static_cast<long>(k));
      }
      int const size = upcxx::rank_n();
      return upcxx::when_all(upcxx::rpc((upcxx::rank_me() + 1) % size, of, k - 1),
                             upcxx::rpc((upcxx::rank_me() + k) % size, of, k - 2))
          .then([](long a, long b) { return a + b; });
    }
  };
  if (me == 0) {
    EXPECT_EQ(fib::of(15).wait(), 610);
  }
}
