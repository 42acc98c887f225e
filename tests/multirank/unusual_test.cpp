// What programs do that no chapter names: odd callables, odd types, odd orders.

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>

#include "common.hpp"

namespace {

struct bulky {
  std::array<double, 2500> d;  // 20 kB
};
struct alignas(128) wide {
  int v;
};

struct once {
  std::unique_ptr<int> p;
  int operator()() && { return *p; }
};

long bounces;
void bounce(int left) {
  ++bounces;
  if (left > 0) {
    upcxx::rpc_ff((upcxx::rank_me() + 1) % upcxx::rank_n(), bounce, left - 1);
  }
}

template <int N>
struct fold {
  static int sum(int x) { return x + fold<N - 1>::sum(x); }
};
template <>
struct fold<0> {
  static int sum(int) { return 0; }
};

}  // namespace

using unusual_test = multirank::fixture;

TEST_F(unusual_test, large_and_over_aligned_values_go_through_collectives) {
  bulky b;
  b.d.fill(me);
  EXPECT_EQ(upcxx::broadcast(b, n - 1).wait_reference().d[2499], n - 1);
  auto const sum = upcxx::reduce_all(b, [](bulky const& x, bulky const& y) {
    bulky z;
    for (std::size_t i = 0; i < z.d.size(); ++i) {
      z.d[i] = x.d[i] + y.d[i];
    }
    return z;
  });
  EXPECT_EQ(sum.wait_reference().d[1234], n * (n - 1) / 2);
  auto const w = upcxx::reduce_all(wide{me}, [](wide const& x, wide const& y) { return wide{x.v + y.v}; });
  EXPECT_EQ(w.wait_reference().v, n * (n - 1) / 2);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&w.result_reference()) % 128, 0u);
  std::vector<wide> many(100, wide{me});
  upcxx::broadcast(many.data(), many.size(), n - 1).wait();
  EXPECT_EQ(many[99].v, n - 1);
}

TEST_F(unusual_test, reductions_take_any_callable) {
  EXPECT_EQ(upcxx::reduce_all(me, std::plus<int>()).wait(), n * (n - 1) / 2);
  EXPECT_EQ(upcxx::reduce_all(me, std::plus<>()).wait(), n * (n - 1) / 2);
  std::function<int(int, int)> const erased = [](int a, int b) { return a + b; };
  EXPECT_EQ(upcxx::reduce_all(me, erased).wait(), n * (n - 1) / 2);
  int calls = 0;
  auto counting = [&calls](int a, int b) {
    ++calls;
    return a + b;
  };
  upcxx::future<int> f = upcxx::reduce_all(me, counting);
  EXPECT_EQ(f.wait(), n * (n - 1) / 2);
  if (n == 1) {
    EXPECT_EQ(calls, 0) << "one rank alone combines nothing";
  }
  upcxx::barrier();
}

TEST_F(unusual_test, string_literals_and_const_arrays_can_be_put) {
  multirank::shared_array<char> text(32);
  upcxx::rput("seven!", text.at(right), 7).wait();
  std::array<char, 3> const more{'a', 'b', 'c'};
  upcxx::rput(more.data(), text.at(right) + 10, more.size()).wait();
  upcxx::barrier();
  EXPECT_STREQ(text.local(), "seven!");
  EXPECT_EQ(text.local()[12], 'c');
}

TEST_F(unusual_test, lvalues_of_every_constness_name_pointers_and_values) {
  multirank::shared_array<long> cells(2);
  upcxx::global_ptr<long> p = cells.at(right);
  upcxx::global_ptr<long> const q = p + 1;
  long const value = 40 + me;
  long other = 50 + me;
  upcxx::rput(value, p).wait();
  upcxx::rput(other, q).wait();
  upcxx::barrier();
  EXPECT_EQ(upcxx::rget(p).wait() + upcxx::rget(q).wait(), 90 + 2 * me);
  long both[2];
  upcxx::rget(p, both, 2).wait();
  EXPECT_EQ(both[1], 50 + me);
}

TEST_F(unusual_test, local_calls_may_be_callable_only_once) {
  upcxx::future<int> f = upcxx::current_persona().lpc(once{std::make_unique<int>(6)});
  EXPECT_EQ(f.wait(), 6);
  upcxx::current_persona().lpc_ff(once{std::make_unique<int>(7)});
  upcxx::current_persona().lpc([] {}).wait();
  multirank::poll();
}

TEST_F(unusual_test, results_of_local_calls_may_be_futures_of_remote_calls) {
  auto f = upcxx::master_persona().lpc([this] {
    return upcxx::when_all(upcxx::rpc(right, [] { return 1; }),
                           upcxx::rpc(left, [] { return std::string("2"); }));
  });
  static_assert(std::is_same_v<decltype(f), upcxx::future<int, std::string>>);
  EXPECT_EQ(f.wait<1>(), "2");
}

TEST_F(unusual_test, many_hops_of_one_call_need_no_stack) {
  bounces = 0;
  upcxx::barrier();
  // Beside a computing job each hop to another rank may wait for a time slice.
  int const hops = n == 1 ? 100000 : 10000;
  if (me == 0) {
    upcxx::rpc_ff(0, bounce, hops - 1);
  }
  // hops / n on each rank, the first ones one more
  long const mine = hops / n + (me < hops % n ? 1 : 0);
  multirank::spin_until([&] { return bounces == mine; });
}

TEST_F(unusual_test, template_recursion_and_references_to_functions_can_be_sent) {
  EXPECT_EQ(upcxx::rpc(right, fold<20>::sum, 3).wait(), 60);
  int (&reference)(int) = fold<5>::sum;
  EXPECT_EQ(upcxx::rpc(right, reference, 3).wait(), 15);
  auto const& pointer = &fold<6>::sum;
  EXPECT_EQ(upcxx::rpc(right, pointer, 3).wait(), 18);
}

TEST_F(unusual_test, futures_in_containers_and_maps_complete_in_any_order) {
  std::map<std::string, upcxx::future<int>> pending;
  for (int i = 0; i < 200; ++i) {
    pending[std::to_string(i)] = upcxx::rpc((me + i) % n, [](int x) { return x * x; }, i);
  }
  long sum = 0;
  for (auto& [name, f] : pending) {
    EXPECT_EQ(f.wait(), std::stoi(name) * std::stoi(name));
    sum += f.result();
  }
  EXPECT_EQ(sum, 199L * 200 * 399 / 6);
}

TEST_F(unusual_test, is_ready_is_a_synonym) {
  EXPECT_TRUE(upcxx::make_future().is_ready());
  EXPECT_FALSE(upcxx::promise<int>().get_future().is_ready());
}

TEST_F(unusual_test, optional_has_the_interface_of_the_standard) {
  upcxx::optional<std::string> o;
  EXPECT_FALSE(o.has_value());
  o.emplace("set");
  EXPECT_EQ(*o, "set");
}

TEST_F(unusual_test, a_rank_that_computes_without_progress_is_served_later) {
  static int served;
  served = 0;
  multirank::shared_array<int> flag(1);
  *flag.local() = 0;
  upcxx::barrier();
  upcxx::future<> reply = upcxx::rpc(right, [] { ++served; });
  // One-sided operations need nothing of the busy target.
  upcxx::rput(me + 1, flag.at(right)).wait();
  EXPECT_EQ(upcxx::rget(flag.at(right)).wait(), me + 1);
  double volatile busy = 1;
  for (int i = 0; i < 1000000; ++i) {
    busy = busy * 1.0000001;
  }
  reply.wait();
  upcxx::barrier();
  EXPECT_EQ(served, 1);
}

TEST_F(unusual_test, views_of_global_pointers_and_pairs_arrive) {
  multirank::shared_array<int> cells(10);
  std::iota(cells.local(), cells.local() + 10, me * 100);
  upcxx::barrier();
  std::vector<upcxx::global_ptr<int>> pointers;
  std::vector<std::pair<int, upcxx::global_ptr<int>>> pairs;
  for (int i = 0; i < 10; ++i) {
    pointers.push_back(cells.at(left) + i);
    pairs.emplace_back(i, cells.at(left) + i);
  }
  auto f = upcxx::rpc(
      right,
      [](upcxx::view<upcxx::global_ptr<int>> v, upcxx::view<std::pair<int, upcxx::global_ptr<int>>> w) {
        upcxx::future<int> sum = upcxx::make_future(0);
        for (auto const& p : v) {
          sum = upcxx::when_all(sum, upcxx::rget(p)).then([](int a, int b) { return a + b; });
        }
        for (auto const& [i, p] : w) {
          sum = upcxx::when_all(sum, upcxx::rget(p), i).then([](int a, int b, int c) { return a + b - c; });
        }
        return sum;
      },
      upcxx::make_view(pointers), upcxx::make_view(pairs));
  EXPECT_EQ(f.wait(), 20 * 100 * left + 45 + 45 - 45);
  upcxx::barrier();
}

/// Its address is not what `&` gives.
struct astray {
  long first, second;
  long* operator&() { return std::addressof(second); }
  long const* operator&() const { return std::addressof(second); }
};

TEST_F(unusual_test, a_type_may_have_its_own_operator_for_addresses) {
  auto const both = [](astray const& a) { return std::pair(a.first, a.second); };
  using pair = std::pair<long, long>;
  EXPECT_EQ(both(upcxx::broadcast(astray{3 + me, 4}, 0).wait()), pair(3, 4));
  auto const add = [](astray a, astray const& b) { return astray{a.first + b.first, a.second + b.second}; };
  EXPECT_EQ(both(upcxx::reduce_all(astray{1, 5}, add).wait()), pair(n, 5L * n));
  multirank::shared_array<astray> there(1);
  upcxx::rput(astray{me, 7}, there.at(right)).wait();
  upcxx::barrier();
  EXPECT_EQ(both(upcxx::rget(there.at(me)).wait()), pair(left, 7));
  EXPECT_EQ(both(upcxx::rget(there.at(right)).wait()), pair(me, 7));
  upcxx::dist_object<astray> object(astray{8, me});
  EXPECT_EQ(both(object.fetch(right).wait()), pair(8, right));
  EXPECT_EQ(object->second, me);
  std::vector<astray> const sent{{1, 2}, {3, 4}};
  EXPECT_EQ(both(upcxx::rpc(
                     right, [](std::vector<astray> const& v) { return v[1]; }, sent)
                     .wait()),
            pair(3, 4));
  upcxx::barrier();
}

/// Functions that a search by arguments would find in calls of the library's own.
namespace with_names {

struct element {
  int value;
};
struct record {
  std::string text;
  UPCXX_SERIALIZED_FIELDS(text)
};
template <class Archive>
void serialize(Archive& archive, record& r) {
  archive.of_another_library(r.text);
}
template <class Archive>
void serialize(Archive& archive, record const& r) {
  archive.of_another_library(r.text);
}
int found = 0;
template <class... T>
int make_future(T&&...) {
  return ++found;
}
template <class... T>
int when_all(T&&...) {
  return ++found;
}
template <class... T>
int make_waiting(T&&...) {
  return ++found;
}
template <class... T>
int check_range(T&&...) {
  return ++found;
}
template <class... T>
int list_runs(T&&...) {
  return ++found;
}
template <class... T>
int notify_now(T&&...) {
  return ++found;
}
template <class... T>
int bound_after(T&&...) {
  return ++found;
}
template <class... T>
int owner_word(T&&...) {
  return ++found;
}

}  // namespace with_names

TEST_F(unusual_test, a_program_may_have_functions_with_names_of_ours) {
  using with_names::element;
  upcxx::dist_object<element> object(element{me});
  EXPECT_EQ(object.id().when_here().wait()->value, me);
  EXPECT_EQ(object.fetch(right).wait().value, right);
  multirank::shared_array<element> there(2);
  upcxx::rput(element{me}, there.at(right)).wait();
  element const source{me + 1};
  upcxx::copy(&source, there.at(right) + 1, 1).wait();
  upcxx::barrier();
  EXPECT_EQ(upcxx::rget(there.at(me)).wait().value, left);
  std::vector<element> got(2);
  std::vector<std::pair<upcxx::global_ptr<element>, std::size_t>> const from{{there.at(right), 2}};
  std::vector<std::pair<element*, std::size_t>> const to{{got.data(), 2}};
  upcxx::rget_irregular(from.begin(), from.end(), to.begin(), to.end()).wait();
  EXPECT_EQ(got[0].value, me);
  EXPECT_EQ(got[1].value, me + 1);
  auto const told =
      upcxx::experimental::broadcast_nontrivial(with_names::record{std::to_string(me)}, 0).wait();
  EXPECT_EQ(told.text, "0");
  EXPECT_EQ(upcxx::rpc(
                right, [](with_names::record const& r) { return r.text; }, told)
                .wait(),
            "0");
  EXPECT_EQ(upcxx::reduce_all(element{1}, [](element a, element b) { return element{a.value + b.value}; })
                .wait()
                .value,
            n);
  EXPECT_EQ(with_names::found, 0);
  upcxx::barrier();
}

/// Bytes that can be moved, not copied.
struct moved_only {
  int value;
  explicit moved_only(int v = 0) : value(v) {}
  moved_only(moved_only&&) = default;
  moved_only& operator=(moved_only&&) = default;
};
static_assert(upcxx::is_trivially_serializable<moved_only>::value);

TEST_F(unusual_test, values_that_can_only_be_moved_are_put_and_got) {
  multirank::shared_array<moved_only> there(1);
  upcxx::rput(moved_only(me + 5), there.at(right)).wait();
  upcxx::barrier();
  upcxx::future<moved_only> const got = upcxx::rget(there.at(right));
  got.wait_reference();
  EXPECT_EQ(got.result_reference().value, me + 5);
  upcxx::promise<moved_only> kept;
  upcxx::rget(there.at(me), upcxx::operation_cx::as_promise(kept));
  EXPECT_EQ(kept.finalize().wait_reference().value, left + 5);
  int seen = -1;
  upcxx::rget(there.at(me),
              upcxx::operation_cx::as_lpc(upcxx::current_persona(), [&](moved_only m) { seen = m.value; }));
  while (seen < 0) upcxx::progress();
  EXPECT_EQ(seen, left + 5);
  upcxx::rget(there.at(me), upcxx::operation_cx::as_defer_future())
      .then([&](moved_only const& m) { seen = -m.value; })
      .wait();
  EXPECT_EQ(seen, -left - 5);
  upcxx::barrier();
}
