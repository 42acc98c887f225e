// rget of values and arrays (communication digest, chapter 11).

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "common.hpp"

namespace {

using upcxx::global_ptr;

struct record {
  int id;
  double weight;
  char name[20];
};

}  // namespace

using rget_test = multirank::fixture;

TEST_F(rget_test, values_come_back_by_value_from_every_rank) {
  multirank::shared_array<record> cells(2);
  cells.local()[0] = {me, me * 0.5, "first"};
  cells.local()[1] = {me + 100, me * 0.25, "second"};
  upcxx::barrier();
  for (int r = 0; r < n; ++r) {
    static_assert(std::is_same_v<decltype(upcxx::rget(cells.at(r))), upcxx::future<record>>);
    record const got = upcxx::rget(cells.at(r) + 1).wait();
    EXPECT_EQ(got.id, r + 100);
    EXPECT_EQ(got.weight, r * 0.25);
    EXPECT_STREQ(got.name, "second");
  }
}

TEST_F(rget_test, pointers_to_const_are_accepted_and_yield_plain_values) {
  multirank::shared_array<int> cells(3);
  std::iota(cells.local(), cells.local() + 3, me * 10);
  upcxx::barrier();
  global_ptr<int const> const p = cells.at(right);
  static_assert(std::is_same_v<decltype(upcxx::rget(p)), upcxx::future<int>>);
  EXPECT_EQ(upcxx::rget(p).wait(), right * 10);
  int out[3] = {-1, -1, -1};
  static_assert(std::is_same_v<decltype(upcxx::rget(p, out, 3)), upcxx::future<>>);
  upcxx::rget(p, out, 3).wait();
  EXPECT_EQ(out[2], right * 10 + 2);
}

TEST_F(rget_test, arrays_of_every_size_and_alignment_arrive_between_untouched_guards) {
  constexpr std::size_t limit = 256 << 10;
  constexpr std::size_t guard = 128;
  std::size_t const total = limit + 2 * guard;
  multirank::shared_array<std::uint8_t> origin(limit + 64, 64);
  multirank::fill_pattern(origin.local(), limit + 64, me);
  upcxx::barrier();
  std::vector<std::uint8_t> buffer(total);
  for (std::size_t const size : multirank::interesting_sizes(limit)) {
    for (std::size_t const shift : {0, 1, 7, 8, 33}) {
      if (size > 8192 && shift > 1) {
        continue;
      }
      std::size_t const count = std::min(size, total - guard - shift);
      std::size_t const used = std::min(total, guard + shift + count + guard);
      std::fill_n(buffer.begin(), used, multirank::guard_byte);
      upcxx::rget(origin.at(right) + static_cast<std::ptrdiff_t>(shift), buffer.data() + guard + shift, count)
          .wait();
      bool same = true;
      for (std::size_t i = 0; i < count; ++i) {
        same = same && buffer[guard + shift + i] == multirank::pattern(right, i + shift);
      }
      EXPECT_TRUE(same) << "size " << count << " shift " << shift;
      EXPECT_TRUE(multirank::all_guard(buffer.data(), buffer.data() + guard + shift));
      EXPECT_TRUE(multirank::all_guard(buffer.data() + guard + shift + count, buffer.data() + used));
    }
  }
}

TEST_F(rget_test, several_mebibytes_arrive) {
  constexpr std::size_t size = (5 << 20) + 13;
  multirank::shared_array<std::uint8_t> origin(size, 64);
  multirank::fill_pattern(origin.local(), size, me);
  upcxx::barrier();
  std::vector<std::uint8_t> buffer(size + 2, multirank::guard_byte);
  for (int const from : {right, left, me}) {
    std::fill(buffer.begin(), buffer.end(), multirank::guard_byte);
    upcxx::rget(origin.at(from), buffer.data() + 1, size).wait();
    EXPECT_TRUE(multirank::holds_only(buffer.data(), size + 2, 1, size, from));
  }
}

TEST_F(rget_test, thousands_in_flight_join_into_one_future) {
  constexpr int count = 5000;
  multirank::shared_array<int> cells(count);
  std::iota(cells.local(), cells.local() + count, me * 100000);
  upcxx::barrier();
  long sum = 0;
  upcxx::future<> all = upcxx::make_future();
  for (int i = 0; i < count; ++i) {
    all = upcxx::when_all(all, upcxx::rget(cells.at((me + i) % n) + i).then([&sum, i, this](int v) {
      sum += v == (me + i) % n * 100000 + i ? 1 : 0;
    }));
  }
  all.wait();
  EXPECT_EQ(sum, count);
}

TEST_F(rget_test, a_value_get_tracked_by_a_promise_delivers_through_it) {
  multirank::shared_array<double> cells(1);
  *cells.local() = me + 0.5;
  upcxx::barrier();
  upcxx::promise<double> p;
  upcxx::rget(cells.at(right), upcxx::operation_cx::as_promise(p));
  double const v = p.finalize().wait();
  EXPECT_EQ(v, right + 0.5);
}

TEST_F(rget_test, a_linked_list_across_ranks_can_be_chased) {
  struct node {
    int value;
    global_ptr<node> next;
  };
  multirank::shared_array<node> nodes(4);
  // Node i of rank r leads to node i of the right neighbour; the last rank leads to node i+1 of rank 0.
  for (int i = 0; i < 4; ++i) {
    global_ptr<node> next = me + 1 < n ? nodes.at(me + 1) + i
                            : i < 3    ? nodes.at(0) + (i + 1)
                                       : global_ptr<node>();
    nodes.local()[i] = node{i * n + me, next};
  }
  upcxx::barrier();
  int expected = 0;
  for (global_ptr<node> p = nodes.at(0); p;) {
    node const here = upcxx::rget(p).wait();
    EXPECT_EQ(here.value, expected);
    ++expected;
    p = here.next;
  }
  EXPECT_EQ(expected, 4 * n);
}

TEST_F(rget_test, put_then_get_round_trips_bits_exactly) {
  multirank::shared_array<double> cells(static_cast<std::size_t>(n));
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (double const v : {0.0, -0.0, 1e-310, nan, -1.5}) {
    upcxx::rput(v, cells.at(right) + me).wait();
    double const back = upcxx::rget(cells.at(right) + me).wait();
    EXPECT_EQ(std::memcmp(&back, &v, sizeof v), 0);
  }
}
