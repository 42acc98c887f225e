// reduce_one and reduce_all of values and arrays (parallel digest, 3.3).

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>

#include "common.hpp"

namespace {

struct extremes {
  double low;
  double high;
  long count;
};

struct matrix {  // 2x2, under the (commutative) product of diagonal matrices
  double d[2];
};

/// Reduces one value per rank in all forms and compares with a fold over all ranks.
template <class T, class Make, class Op>
void expect_fold(Make const& value_of, Op const& op) {
  auto make = [&](int rank) -> T { return value_of(rank); };
  int const n = upcxx::rank_n();
  int const me = upcxx::rank_me();
  T expected = make(0);
  for (int r = 1; r < n; ++r) {
    expected = op(expected, make(r));
  }
  static_assert(std::is_same_v<decltype(upcxx::reduce_all(make(0), op)), upcxx::future<T>>);
  static_assert(std::is_same_v<decltype(upcxx::reduce_one(make(0), op, 0)), upcxx::future<T>>);
  EXPECT_EQ(upcxx::reduce_all(make(me), op).wait(), expected);
  for (int root = 0; root < n; ++root) {
    T const got = upcxx::reduce_one(make(me), op, root).wait();
    if (me == root) {
      EXPECT_EQ(got, expected);
    }
  }
}

template <class T>
void expect_integer_operations() {
  auto make = [](int r) { return static_cast<T>((r * 37 + 5) % 100); };
  expect_fold<T>(make, upcxx::op_fast_min);
  expect_fold<T>(make, upcxx::op_fast_max);
  expect_fold<T>(make, upcxx::op_fast_bit_and);
  expect_fold<T>(make, upcxx::op_fast_bit_or);
  expect_fold<T>(make, upcxx::op_fast_bit_xor);
  expect_fold<T>([](int r) { return static_cast<T>(r + 1); }, upcxx::op_fast_add);
  expect_fold<T>([](int r) { return static_cast<T>(r % 3 + 1); }, upcxx::op_fast_mul);
  if constexpr (std::is_signed_v<T>) {
    expect_fold<T>([](int r) { return static_cast<T>(-r - 1); }, upcxx::op_fast_max);
    expect_fold<T>([](int r) { return static_cast<T>(-r - 1); }, upcxx::op_fast_add);
  }
}

/// Values on both sides of zero (or of the middle, where there is no sign).
template <class T>
void expect_extremes_and_sum() {
  auto make = [](int r) { return static_cast<T>(r % 2 == 0 ? r + 1 : -r); };
  expect_fold<T>(make, upcxx::op_fast_max);
  expect_fold<T>(make, upcxx::op_fast_add);
}

template <class T>
void expect_float_operations() {
  auto make = [](int r) { return static_cast<T>(r) * T{0.5} - T{1}; };  // exact in binary
  expect_fold<T>(make, upcxx::op_fast_min);
  expect_fold<T>(make, upcxx::op_fast_max);
  expect_fold<T>(make, upcxx::op_fast_add);
  expect_fold<T>([](int r) { return static_cast<T>(r % 2 + 1); }, upcxx::op_fast_mul);
}

}  // namespace

using reduce_test = multirank::fixture;

TEST_F(reduce_test, fast_operations_work_on_every_integer_type) {
  // Everything with a small type, which promotion widens, and a large one; the others where sign
  // and width matter.
  expect_integer_operations<signed char>();
  expect_integer_operations<unsigned long long>();
  expect_extremes_and_sum<char>();
  expect_extremes_and_sum<unsigned char>();
  expect_extremes_and_sum<short>();
  expect_extremes_and_sum<unsigned short>();
  expect_extremes_and_sum<int>();
  expect_extremes_and_sum<unsigned>();
  expect_extremes_and_sum<long>();
  expect_extremes_and_sum<unsigned long>();
  expect_extremes_and_sum<long long>();
}

TEST_F(reduce_test, fast_operations_work_on_floating_types) {
  expect_float_operations<float>();
  expect_extremes_and_sum<double>();
  expect_float_operations<long double>();
}

TEST_F(reduce_test, bools_combine_as_logic) {
  bool const only_me_0 = me == 0;
  EXPECT_TRUE(upcxx::reduce_all(only_me_0, upcxx::op_fast_add).wait());
  EXPECT_TRUE(upcxx::reduce_all(true, upcxx::op_fast_add).wait());
  EXPECT_FALSE(upcxx::reduce_all(false, upcxx::op_fast_add).wait());
  EXPECT_TRUE(upcxx::reduce_all(only_me_0, upcxx::op_fast_max).wait());
  EXPECT_TRUE(upcxx::reduce_all(only_me_0, upcxx::op_fast_bit_or).wait());
  EXPECT_EQ(upcxx::reduce_all(only_me_0, upcxx::op_fast_mul).wait(), n == 1);
  EXPECT_EQ(upcxx::reduce_all(only_me_0, upcxx::op_fast_min).wait(), n == 1);
  EXPECT_EQ(upcxx::reduce_all(only_me_0, upcxx::op_fast_bit_and).wait(), n == 1);
  EXPECT_EQ(upcxx::reduce_all(true, upcxx::op_fast_bit_xor).wait(), n % 2 == 1);
  static_assert(std::is_same_v<decltype(upcxx::op_fast_add(true, true)), bool>);
  EXPECT_TRUE(upcxx::op_fast_add(true, true));
  EXPECT_EQ(upcxx::op_fast_min(3, 5), 3);
  EXPECT_EQ(upcxx::op_fast_add(1.5, 2.0), 3.5);
}

TEST_F(reduce_test, small_integers_wrap_at_their_own_width) {
  std::uint8_t const got = upcxx::reduce_all(std::uint8_t{200}, upcxx::op_fast_add).wait();
  EXPECT_EQ(got, static_cast<std::uint8_t>(200 * n));
}

TEST_F(reduce_test, user_operations_on_user_types) {
  auto const widen = [](extremes const& a, extremes const& b) {
    return extremes{std::min(a.low, b.low), std::max(a.high, b.high), a.count + b.count};
  };
  extremes const got = upcxx::reduce_all(extremes{me * 1.0, me * 2.0, 1}, widen).wait();
  EXPECT_EQ(got.low, 0);
  EXPECT_EQ(got.high, 2.0 * (n - 1));
  EXPECT_EQ(got.count, n);
  for (int root = 0; root < n; ++root) {
    extremes const one = upcxx::reduce_one(extremes{-1.0 * me, 5, 2}, widen, root).wait();
    if (me == root) {
      EXPECT_EQ(one.low, -1.0 * (n - 1));
      EXPECT_EQ(one.count, 2 * n);
    }
  }
  struct product {
    double scale;
    matrix operator()(matrix a, matrix b) const { return {{a.d[0] * b.d[0] * scale, a.d[1] * b.d[1]}}; }
  };
  matrix const m = upcxx::reduce_all(matrix{{2, 1}}, product{1.0}).wait();
  EXPECT_EQ(m.d[0], static_cast<double>(1 << n));
  EXPECT_EQ(m.d[1], 1);
}

TEST_F(reduce_test, user_operations_with_captures_and_function_pointers) {
  int modulus = 1000003;
  auto multiply = [modulus](long a, long b) { return a * b % modulus; };
  long expected = 1;
  for (int r = 0; r < n; ++r) {
    expected = expected * (r + 2) % modulus;
  }
  EXPECT_EQ(upcxx::reduce_all(static_cast<long>(me + 2), multiply).wait(), expected);
  long (*pointer)(long, long) = [](long a, long b) { return std::max(a, b); };
  EXPECT_EQ(upcxx::reduce_all(static_cast<long>(me), pointer).wait(), n - 1);
  // A result that only converts to T.
  EXPECT_EQ(upcxx::reduce_all(static_cast<short>(me), [](short a, short b) { return a + b; }).wait(),
            n * (n - 1) / 2);
}

/// As functors of published programs have it: exactly these parameters.
struct adds_into_second {
  long operator()(long const& a, long& b) const { return b += a; }
};
struct adds_into_first {
  long operator()(long& a, long const& b) const { return a += b; }
};

TEST_F(reduce_test, operations_may_take_either_value_by_reference) {
  long const total = n * (n - 1L) / 2;
  EXPECT_EQ(upcxx::reduce_all(long{me}, adds_into_second()).wait(), total);
  EXPECT_EQ(upcxx::reduce_all(long{me}, adds_into_first()).wait(), total);
  std::vector<long> const mine(3000, me);
  std::vector<long> sums(mine.size());
  upcxx::reduce_all(mine.data(), sums.data(), mine.size(), adds_into_second()).wait();
  EXPECT_EQ(sums, std::vector<long>(mine.size(), total));
  EXPECT_EQ(mine, std::vector<long>(mine.size(), me));
  EXPECT_EQ(upcxx::experimental::reduce_all_nontrivial(long{me}, adds_into_second()).wait(), total);
}

TEST_F(reduce_test, arrays_of_every_size_combine_between_untouched_guards) {
  for (std::size_t const size : multirank::interesting_sizes(64 << 10)) {
    std::vector<std::uint32_t> source(size);
    std::vector<std::uint32_t> dest(size + 2, 0xA5A5A5A5u);
    for (std::size_t i = 0; i < size; ++i) {
      source[i] = static_cast<std::uint32_t>(i) * 3 + static_cast<std::uint32_t>(me);
    }
    std::vector<std::uint32_t> const before = source;
    static_assert(
        std::is_same_v<decltype(upcxx::reduce_all(source.data(), dest.data(), size, upcxx::op_fast_add)),
                       upcxx::future<>>);
    upcxx::reduce_all(source.data(), dest.data() + 1, size, upcxx::op_fast_add).wait();
    std::size_t wrong = 0;
    std::uint32_t const un = static_cast<std::uint32_t>(n);
    for (std::size_t i = 0; i < size; ++i) {
      wrong += dest[i + 1] != static_cast<std::uint32_t>(i) * 3 * un + un * (un - 1) / 2 ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0u) << size << " elements";
    EXPECT_EQ(dest.front(), 0xA5A5A5A5u);
    EXPECT_EQ(dest.back(), 0xA5A5A5A5u);
    EXPECT_EQ(source, before);
  }
}

TEST_F(reduce_test, arrays_may_be_reduced_in_place) {
  for (std::size_t const size : {0, 1, 7, 1000, 50000}) {
    std::vector<double> data(size);
    std::iota(data.begin(), data.end(), me);
    upcxx::reduce_all(data.data(), data.data(), size, upcxx::op_fast_add).wait();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < size; ++i) {
      wrong += data[i] != n * static_cast<double>(i) + n * (n - 1) / 2 ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0u);
    for (int root = 0; root < n; ++root) {
      std::fill(data.begin(), data.end(), me + 1.0);
      upcxx::reduce_one(data.data(), data.data(), size, upcxx::op_fast_max, root).wait();
      if (me == root) {
        wrong += size - static_cast<std::size_t>(std::count(data.begin(), data.end(), 1.0 * n));
      }
    }
    EXPECT_EQ(wrong, 0u);
  }
}

TEST_F(reduce_test, only_the_roots_destination_matters_in_reduce_one) {
  std::vector<int> const source(300, me + 1);
  for (int root = 0; root < n; ++root) {
    std::vector<int> dest(300, -7);
    int* const target = me == root ? dest.data() : nullptr;
    upcxx::reduce_one(source.data(), target, 300, upcxx::op_fast_add, root).wait();
    EXPECT_EQ(dest, std::vector<int>(300, me == root ? n * (n + 1) / 2 : -7));
    EXPECT_EQ(source, std::vector<int>(300, me + 1));
  }
}

TEST_F(reduce_test, arrays_with_user_operations) {
  std::vector<extremes> source(700);
  std::vector<extremes> dest(700);
  for (std::size_t i = 0; i < 700; ++i) {
    source[i] = {static_cast<double>(i) + me, static_cast<double>(i) - me, static_cast<long>(i)};
  }
  upcxx::reduce_all(source.data(), dest.data(), 700, [](extremes const& a, extremes const& b) {
    return extremes{std::min(a.low, b.low), std::max(a.high, b.high), a.count + b.count};
  }).wait();
  int wrong = 0;
  for (std::size_t i = 0; i < 700; ++i) {
    wrong += dest[i].low != static_cast<double>(i) || dest[i].high != static_cast<double>(i) ||
                     dest[i].count != static_cast<long>(i) * n
                 ? 1
                 : 0;
  }
  EXPECT_EQ(wrong, 0);
}

/// Shares of whole cache lines, of which a short last piece may give a rank more than a full one does.
TEST_F(reduce_test, arrays_end_in_pieces_of_any_length) {
  auto const widen = [](extremes const& a, extremes const& b) {
    return extremes{std::min(a.low, b.low), std::max(a.high, b.high), a.count + b.count};
  };
  constexpr std::size_t full = (std::size_t{128} << 10) / sizeof(extremes);
  for (std::size_t const last : {full - 5, full - 21, full - 29}) {
    std::size_t const count = full + last;
    std::vector<extremes> source(count);
    for (std::size_t i = 0; i < count; ++i)
      source[i] = {static_cast<double>(i) + me, static_cast<double>(i) - me, static_cast<long>(i)};
    for (int const root : {0, n - 1}) {
      std::vector<extremes> dest(count);
      upcxx::reduce_one(source.data(), dest.data(), count, widen, root).wait();
      if (me != root) continue;
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count; ++i) {
        auto const x = static_cast<double>(i);
        wrong += dest[i].low != x || dest[i].high != x || dest[i].count != static_cast<long>(i) * n ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0U) << count;
    }
  }
}

TEST_F(reduce_test, a_hundred_collectives_of_mixed_kinds_are_in_flight_together) {
  std::vector<upcxx::future<int>> numbers;
  std::vector<int> expected;
  std::vector<std::vector<int>> arrays(100, std::vector<int>(100));
  std::vector<int> array_expected(100, -1);
  upcxx::promise<> done;
  for (int i = 0; i < 100; ++i) {
    auto& a = arrays[static_cast<std::size_t>(i)];
    std::fill(a.begin(), a.end(), me + i);
    int const root = i % n;
    switch (i % 7) {
      case 0:
        numbers.push_back(upcxx::reduce_all(me + i, upcxx::op_fast_add));
        expected.push_back(n * (n - 1) / 2 + n * i);
        break;
      case 1:
        numbers.push_back(upcxx::broadcast(me * 1000 + i, root));
        expected.push_back(root * 1000 + i);
        break;
      case 2:
        upcxx::barrier_async(upcxx::world(), upcxx::operation_cx::as_promise(done));
        break;
      case 3:
        upcxx::reduce_all(a.data(), a.data(), a.size(), upcxx::op_fast_max, upcxx::world(),
                          upcxx::operation_cx::as_promise(done));
        array_expected[static_cast<std::size_t>(i)] = n - 1 + i;
        break;
      case 4:
        upcxx::broadcast(a.data(), a.size(), root, upcxx::world(), upcxx::operation_cx::as_promise(done));
        array_expected[static_cast<std::size_t>(i)] = root + i;
        break;
      case 5:
        numbers.push_back(upcxx::reduce_one(me, upcxx::op_fast_max, root).then([this, root](int v) {
          return me == root ? v : n - 1;
        }));
        expected.push_back(n - 1);
        break;
      default:
        numbers.push_back(upcxx::reduce_all(
            me * i, [](int x, int y) { return std::max(x, y); }, upcxx::local_team()));
        expected.push_back(upcxx::local_team()[upcxx::local_team().rank_n() - 1] * i);
        break;
    }
  }
  for (std::size_t i = numbers.size(); i-- > 0;) {
    EXPECT_EQ(numbers[i].wait(), expected[i]) << i;
  }
  done.finalize().wait();
  for (std::size_t i = 0; i < 100; ++i) {
    if (array_expected[i] >= 0) {
      EXPECT_EQ(arrays[i], std::vector<int>(100, array_expected[i])) << i;
    }
  }
}

TEST_F(reduce_test, collectives_overlap_calls_and_puts) {
  multirank::shared_array<int> cells(50);
  for (int round = 0; round < 30; ++round) {
    upcxx::future<int> sum = upcxx::reduce_all(round + me, upcxx::op_fast_add);
    upcxx::promise<> puts;
    for (int i = 0; i < 50; ++i) {
      upcxx::rput(round * 100 + i, cells.at(right) + i, upcxx::operation_cx::as_promise(puts));
    }
    EXPECT_EQ(upcxx::rpc(left, [] { return upcxx::rank_me(); }).wait(), left);
    EXPECT_EQ(upcxx::when_all(sum, puts.finalize()).wait(), n * round + n * (n - 1) / 2);
    upcxx::barrier();
    EXPECT_EQ(cells.local()[49], round * 100 + 49);
    upcxx::barrier();
  }
}

struct alignas(64) vector_register {
  long lanes[8];
};

TEST_F(reduce_test, elements_keep_their_alignment) {
  auto const add = [](vector_register const& a, vector_register const& b) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&a) % alignof(vector_register), 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&b) % alignof(vector_register), 0U);
    vector_register sum;
    for (int i = 0; i < 8; ++i) sum.lanes[i] = a.lanes[i] + b.lanes[i];
    return sum;
  };
  for (std::size_t const count : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    std::vector<vector_register> const mine(count, vector_register{{0, 1, 2, 3, 4, 5, 6, me}});
    std::vector<vector_register> sum(count);
    upcxx::reduce_all(mine.data(), sum.data(), count, add).wait();
    for (vector_register const& s : sum) {
      EXPECT_EQ(s.lanes[6], 6L * n);
      EXPECT_EQ(s.lanes[7], n * (n - 1L) / 2);
    }
  }
}

struct spectrum {  // larger than the pieces that arrays are combined in
  std::array<double, 20000> power;
};

TEST_F(reduce_test, elements_may_be_larger_than_the_pieces_of_arrays) {
  auto const add = [](spectrum const& a, spectrum const& b) {
    spectrum sum;
    std::transform(a.power.begin(), a.power.end(), b.power.begin(), sum.power.begin(), std::plus<>());
    return sum;
  };
  std::vector<spectrum> data(3);
  for (spectrum& s : data) s.power.fill(10.0 * static_cast<double>(&s - data.data()) + me);
  std::vector<spectrum> sum(3);
  upcxx::reduce_all(data.data(), sum.data(), data.size(), add).wait();
  upcxx::reduce_one(data.data(), data.data(), data.size(), add, n - 1).wait();
  for (std::size_t i = 0; i < 3; ++i) {
    std::array<double, 20000> all;
    all.fill(10.0 * static_cast<double>(i) * n + n * (n - 1) / 2.0);
    EXPECT_EQ(sum[i].power, all) << i;
    EXPECT_TRUE(me != n - 1 || data[i].power == all) << i;
  }
}

TEST_F(reduce_test, two_thousand_in_sequence) {
  long sum = 0;
  for (int i = 0; i < 2000; ++i) {
    sum += upcxx::reduce_all(i + me, upcxx::op_fast_max).wait();
  }
  EXPECT_EQ(sum, 1999L * 2000 / 2 + 2000L * (n - 1));
}

TEST_F(reduce_test, ties_end_equally_on_all_ranks) {
  struct place {
    int value;
    int rank;
  };
  auto const first_minimum = [](place a, place b) { return b.value < a.value ? b : a; };
  for (std::size_t const count : {std::size_t{1}, std::size_t{20}, std::size_t{500}, std::size_t{5000}}) {
    std::vector<place> data(count, place{7, me});
    upcxx::reduce_all(data.data(), data.data(), count, first_minimum).wait();
    std::vector<place> ranks_0s = data;
    upcxx::broadcast(ranks_0s.data(), count, 0).wait();
    std::size_t different = 0;
    for (std::size_t i = 0; i < count; ++i) different += data[i].rank != ranks_0s[i].rank ? 1 : 0;
    EXPECT_EQ(different, 0u) << count << " elements";
  }
}
