// broadcast of values and arrays (parallel digest, 3.4).

#include <array>
#include <complex>
#include <numeric>
#include <utility>

#include "common.hpp"

namespace {
struct record {
  int id;
  double values[30];
  char tag;
};
/// Bytes that can be moved, but not copied.
struct ticket {
  long number;
  explicit ticket(long n) : number(n) {}
  ticket(ticket&&) = default;
  ticket& operator=(ticket&&) = default;
};
template <class T, class Make>
void expect_from_every_root(Make const& value_of) {
  auto make = [&](int rank) -> T { return value_of(rank); };
  for (int root = 0; root < upcxx::rank_n(); ++root) {
    upcxx::future<T> f = upcxx::broadcast(make(upcxx::rank_me()), root);
    EXPECT_TRUE(f.wait() == make(root)) << "root " << root;
  }
}
}  // namespace

using broadcast_test = multirank::fixture;

TEST_F(broadcast_test, values_of_every_type_come_from_every_root) {
  expect_from_every_root<bool>([](int r) { return r % 2 == 0; });
  expect_from_every_root<char>([](int r) { return static_cast<char>('a' + r); });
  expect_from_every_root<std::int16_t>([](int r) { return static_cast<std::int16_t>(-1000 - r); });
  expect_from_every_root<int>([](int r) { return r * 77; });
  expect_from_every_root<std::uint64_t>(
      [](int r) { return ~std::uint64_t{0} - static_cast<std::uint64_t>(r); });
  expect_from_every_root<double>([](int r) { return r / 3.0; });
  expect_from_every_root<long double>([](int r) { return static_cast<long double>(r) / 3; });
  expect_from_every_root<std::complex<double>>([](int r) { return std::complex<double>(r, -r); });
  expect_from_every_root<std::pair<int, double>>([](int r) { return std::make_pair(r, r * 0.5); });
  expect_from_every_root<std::array<int, 3>>([](int r) { return std::array<int, 3>{r, r + 1, r + 2}; });
}

TEST_F(broadcast_test, large_values_arrive_whole) {
  record mine{};
  mine.id = me;
  std::iota(mine.values, mine.values + 30, me);
  mine.tag = static_cast<char>('A' + me);
  record const got = upcxx::broadcast(mine, n - 1).wait();
  EXPECT_EQ(got.id, n - 1);
  EXPECT_EQ(got.values[29], n - 1 + 29);
  EXPECT_EQ(got.tag, 'A' + n - 1);
}

TEST_F(broadcast_test, and_reductions_take_values_that_can_only_be_moved) {
  static_assert(!std::is_copy_constructible_v<ticket>);
  auto const add = [](ticket const& a, ticket const& b) { return ticket(a.number + b.number); };
  long const total = n * (n - 1L) / 2;
  EXPECT_EQ(upcxx::reduce_all(ticket(me), add).wait_reference().number, total);
  auto const at_root = upcxx::reduce_one(ticket(me), add, n - 1);
  at_root.wait_reference();
  if (me == n - 1) {
    EXPECT_EQ(at_root.result_reference().number, total);
  }
  EXPECT_EQ(upcxx::broadcast(ticket(me), n - 1).wait_reference().number, n - 1);
}

TEST_F(broadcast_test, a_raw_pointer_with_a_root_is_a_value) {
  int here = 0;
  std::uintptr_t const bits = reinterpret_cast<std::uintptr_t>(&here);
  std::uintptr_t const from_root = upcxx::broadcast(bits, 0).wait();
  int* const pointer = upcxx::broadcast(&here, 0).wait();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer), from_root);
}

TEST_F(broadcast_test, a_global_pointer_opens_the_roots_memory_to_all) {
  upcxx::global_ptr<int> table;
  if (me == n - 1) {
    table = upcxx::new_array<int>(static_cast<std::size_t>(n));
  }
  table = upcxx::broadcast(table, n - 1).wait();
  upcxx::rput(me * 3, table + me).wait();
  upcxx::barrier();
  if (me == n - 1) {
    for (int r = 0; r < n; ++r) {
      EXPECT_EQ(table.local()[r], r * 3);
    }
    upcxx::delete_array(table);
  }
}

TEST_F(broadcast_test, arrays_of_every_size_arrive_between_untouched_guards) {
  constexpr std::size_t guard = 64;
  std::vector<std::uint8_t> buffer;
  int root = 0;
  for (std::size_t const size : multirank::interesting_sizes(1 << 20)) {
    std::size_t const offset = guard + size % 5;
    buffer.assign(size + 2 * guard + 5, multirank::guard_byte);
    if (me == root) {
      multirank::fill_pattern(buffer.data() + offset, size, root);
    }
    static_assert(std::is_same_v<decltype(upcxx::broadcast(buffer.data(), size, 0)), upcxx::future<>>);
    upcxx::broadcast(buffer.data() + offset, size, root).wait();
    EXPECT_TRUE(multirank::holds_only(buffer.data(), buffer.size(), offset, size, root)) << size << " bytes";
    root = (root + 1) % n;
  }
}

TEST_F(broadcast_test, arrays_of_structures_arrive) {
  std::vector<record> records(500);
  for (int root = 0; root < n; ++root) {
    for (int i = 0; i < 500; ++i) {
      records[static_cast<std::size_t>(i)].id = me == root ? root * 1000 + i : -1;
    }
    upcxx::broadcast(records.data(), records.size(), root).wait();
    int wrong = 0;
    for (int i = 0; i < 500; ++i) {
      wrong += records[static_cast<std::size_t>(i)].id != root * 1000 + i ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(broadcast_test, many_are_in_flight_with_different_roots) {
  std::vector<upcxx::future<int>> values;
  std::vector<std::array<int, 50>> arrays(60);
  upcxx::promise<> done;
  for (int i = 0; i < 60; ++i) {
    auto& a = arrays[static_cast<std::size_t>(i)];
    a.fill(me * 1000 + i);
    values.push_back(upcxx::broadcast(me * 1000 + i, i % n));
    upcxx::broadcast(a.data(), a.size(), (i + 1) % n, upcxx::world(), upcxx::operation_cx::as_promise(done));
  }
  done.finalize().wait();
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(values[static_cast<std::size_t>(i)].wait(), i % n * 1000 + i);
    EXPECT_EQ(arrays[static_cast<std::size_t>(i)][49], (i + 1) % n * 1000 + i);
  }
}

TEST_F(broadcast_test, the_root_may_go_on_before_the_others_call) {
  // Not a barrier: the root completes while the others have not entered. They wait for the root's later word.
  static bool told;
  told = false;
  upcxx::barrier();
  if (me == 0) {
    EXPECT_EQ(upcxx::broadcast(17, 0).wait(), 17);
    for (int r = 1; r < n; ++r) {
      upcxx::rpc(r, [] { told = true; }).wait();
    }
  } else {
    multirank::spin_until([] { return told; });
    EXPECT_EQ(upcxx::broadcast(0, 0).wait(), 17);
  }
}

TEST_F(broadcast_test, roots_are_ranks_of_the_team) {
  upcxx::team& local = upcxx::local_team();
  for (int root = 0; root < local.rank_n(); ++root) {
    EXPECT_EQ(upcxx::broadcast(me, root, local).wait(), local[root]);
    int pair[2] = {me, -me};
    upcxx::broadcast(pair, 2, root, local).wait();
    EXPECT_EQ(pair[1], -local[root]);
  }
}
