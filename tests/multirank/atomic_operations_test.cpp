// Every operation on every type, on one's own memory and a neighbour's, against plain arithmetic.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "common.hpp"

namespace {

using upcxx::atomic_op;
using upcxx::global_ptr;

constexpr std::memory_order orders[] = {std::memory_order_relaxed, std::memory_order_acquire,
                                        std::memory_order_release, std::memory_order_acq_rel};

template <class T>
struct context {
  upcxx::atomic_domain<T> const& domain;
  global_ptr<T> cell;
  T a;
  std::memory_order order;

  void store(T x) const { domain.store(cell, x, std::memory_order_release).wait(); }
  T load() const { return domain.load(cell, std::memory_order_acquire).wait(); }
};

/// One row of the table: three forms of an operation, and what it computes.
template <class T>
struct row {
  char const* name;
  void (*plain)(context<T> const&);
  T (*fetching)(context<T> const&);
  void (*into)(context<T> const&, T*);
  T (*model)(T x, T a);
};

template <class T>
T wrap(T x, T a, std::uint64_t (*integers)(std::uint64_t, std::uint64_t), T (*floats)(T, T)) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(integers(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(a)));
  } else {
    return floats(x, a);
  }
}

#define WITH_OPERAND(NAME, MODEL)                                                                        \
  row<T> {                                                                                               \
#NAME, [](context<T> const& c) { c.domain.NAME(c.cell, c.a, c.order).wait(); },                        \
        [](context<T> const& c) -> T { return c.domain.fetch_##NAME(c.cell, c.a, c.order).wait(); },       \
        [](context<T> const& c, T* to) { c.domain.fetch_##NAME(c.cell, c.a, to, c.order).wait(); }, MODEL \
  }
#define STEP(NAME, MODEL)                                                                             \
  row<T> {                                                                                            \
#NAME, [](context<T> const& c) { c.domain.NAME(c.cell, c.order).wait(); },                          \
        [](context<T> const& c) -> T { return c.domain.fetch_##NAME(c.cell, c.order).wait(); },         \
        [](context<T> const& c, T* to) { c.domain.fetch_##NAME(c.cell, to, c.order).wait(); }, MODEL \
  }
#define ARITHMETIC(OPERATOR)                                                 \
  [](T x, T a) {                                                             \
    return wrap<T>(                                                          \
        x, a, [](std::uint64_t u, std::uint64_t v) { return u OPERATOR v; }, \
        [](T u, T v) -> T { return u OPERATOR v; });                         \
  }

template <class T>
T plus(T x, T a) {
  return wrap<T>(
      x, a, [](std::uint64_t u, std::uint64_t v) { return u + v; }, [](T u, T v) -> T { return u + v; });
}

template <class T>
std::vector<row<T>> table() {
  std::vector<row<T>> rows{
      WITH_OPERAND(add, ARITHMETIC(+)),
      WITH_OPERAND(sub, ARITHMETIC(-)),
      WITH_OPERAND(mul, ARITHMETIC(*)),
      WITH_OPERAND(min, [](T x, T a) { return std::min(x, a); }),
      WITH_OPERAND(max, [](T x, T a) { return std::max(x, a); }),
      STEP(inc, [](T x, T) { return plus(x, T(1)); }),
      STEP(dec, [](T x, T) { return plus(x, static_cast<T>(-1)); }),
  };
  if constexpr (std::is_integral_v<T>) {
    rows.push_back(WITH_OPERAND(bit_and, [](T x, T a) -> T { return x & a; }));
    rows.push_back(WITH_OPERAND(bit_or, [](T x, T a) -> T { return x | a; }));
    rows.push_back(WITH_OPERAND(bit_xor, [](T x, T a) -> T { return x ^ a; }));
  }
  return rows;
}

template <class T>
std::vector<atomic_op> all_operations() {
  std::vector<atomic_op> ops;
  for (int i = 0; i <= static_cast<int>(atomic_op::fetch_dec); ++i) {
    auto const op = static_cast<atomic_op>(i);
    bool const bitwise = op >= atomic_op::bit_and && op <= atomic_op::fetch_bit_xor;
    if (std::is_integral_v<T> || !bitwise) ops.push_back(op);
  }
  return ops;
}

template <class T>
T random_value(std::mt19937_64& random) {
  if constexpr (std::is_integral_v<T>) {
    if (random() % 8 == 0) return std::numeric_limits<T>::max();
    if (random() % 8 == 0) return std::numeric_limits<T>::min();
    return static_cast<T>(random() % 4 == 0 ? random() % 7 : random());
  } else {
    return static_cast<T>(static_cast<double>(random() % 4001) / 8 - 250);
  }
}

}  // namespace

template <class T>
class atomic_operations_test : public multirank::fixture {};
// Signed and unsigned, 32 and 64 bits, whole and floating. See below for the others.
using types = testing::Types<int, unsigned long, double>;
TYPED_TEST_SUITE(atomic_operations_test, types);

TYPED_TEST(atomic_operations_test, compute_what_plain_arithmetic_does) {
  using T = TypeParam;
  upcxx::atomic_domain<T> domain(all_operations<T>());
  // Three cells, so that one written beside is noticed. Every rank works on its own cells and on its right
  // neighbour's second ones.
  multirank::shared_array<T> cells(6);
  std::mt19937_64 random(static_cast<std::uint64_t>(this->me) * 77 + sizeof(T));
  auto const rows = table<T>();
  for (int at = 1; at <= 4; at += 3) {
    global_ptr<T> const cell = cells.at(at == 1 ? this->me : this->right) + at;
    upcxx::rput(T(3), cell - 1).wait();
    upcxx::rput(T(4), cell + 1).wait();
    for (int round = 0; round < 120; ++round) {
      for (row<T> const& r : rows) {
        context<T> const c{domain, cell, random_value<T>(random), orders[random() % 4]};
        T const before = random_value<T>(random);
        T const after = r.model(before, c.a);
        T out = T(77);
        c.store(before);
        switch (round % 3) {
          case 0:
            r.plain(c);
            break;
          case 1:
            EXPECT_EQ(r.fetching(c), before) << r.name;
            break;
          default:
            r.into(c, &out);
            EXPECT_EQ(out, before) << r.name;
        }
        EXPECT_EQ(c.load(), after) << r.name << "(" << before << ", " << c.a << ")";
      }
    }
    T out = T(9);
    domain.store(cell, T(5), std::memory_order_relaxed).wait();
    EXPECT_EQ(domain.compare_exchange(cell, T(6), T(7), std::memory_order_acq_rel).wait(), T(5));
    EXPECT_EQ(domain.load(cell, std::memory_order_relaxed).wait(), T(5));
    domain.compare_exchange(cell, T(5), T(8), &out, std::memory_order_relaxed).wait();
    EXPECT_EQ(out, T(5));
    domain.load(cell, &out, std::memory_order_acquire).wait();
    EXPECT_EQ(out, T(8));
    EXPECT_EQ(upcxx::rget(cell - 1).wait(), T(3));
    EXPECT_EQ(upcxx::rget(cell + 1).wait(), T(4));
  }
  domain.destroy();
}

using atomic_test = multirank::fixture;

namespace {
template <class T>
void use_once(upcxx::intrank_t me) {
  upcxx::atomic_domain<T> domain({atomic_op::fetch_max, atomic_op::fetch_sub, atomic_op::load});
  multirank::shared_array<T> cells(1);
  T const low = std::numeric_limits<T>::lowest();
  *cells.local() = low;
  EXPECT_EQ(domain.fetch_max(cells.at(me), T(8), std::memory_order_acq_rel).wait(), low);
  EXPECT_EQ(domain.fetch_sub(cells.at(me), T(3), std::memory_order_relaxed).wait(), T(8));
  EXPECT_EQ(domain.load(cells.at(me), std::memory_order_relaxed).wait(), T(5));
  domain.destroy();
}
}  // namespace

TEST_F(atomic_test, every_type_of_32_and_64_bits_has_a_domain) {
  use_once<unsigned>(me);
  use_once<long>(me);
  use_once<long long>(me);
  use_once<unsigned long long>(me);
  use_once<float>(me);
}

TEST_F(atomic_test, result_types_follow_the_completions) {
  using order = std::memory_order;
  // Of one host, so that whatever the network does the operations are the processor's.
  upcxx::atomic_domain<long> domain({atomic_op::load, atomic_op::fetch_add, atomic_op::add},
                                    upcxx::local_team());
  multirank::shared_array<long> cells(1);
  *cells.local() = 10;
  global_ptr<long const> const read_only = cells.at(me);
  static_assert(std::is_same_v<decltype(domain.load(read_only, order::relaxed)), upcxx::future<long>>);
  static_assert(std::is_same_v<decltype(domain.add(cells.at(0), 1, order::relaxed)), upcxx::future<>>);
  EXPECT_TRUE(domain.load(read_only, order::acquire).ready());  // own memory: done at once
  // Operands convert to T.
  auto [value, again] =
      domain.fetch_add(cells.at(me), 5, order::relaxed,
                       upcxx::operation_cx::as_future() | upcxx::operation_cx::as_defer_future());
  EXPECT_EQ(value.wait(), 10);
  EXPECT_FALSE(again.ready());
  EXPECT_EQ(again.wait(), 10);
  upcxx::promise<long> p;
  domain.fetch_add(cells.at(me), 5, order::relaxed, upcxx::operation_cx::as_promise(p));
  EXPECT_EQ(p.finalize().wait(), 15);
  domain.destroy();
}

TEST_F(atomic_test, negative_zero_and_nan_compare_as_bits) {
  upcxx::atomic_domain<double> domain({atomic_op::compare_exchange, atomic_op::load, atomic_op::max});
  multirank::shared_array<double> cells(1);
  *cells.local() = -0.0;
  auto const cell = cells.at(me);
  domain.compare_exchange(cell, 0.0, 1.0, std::memory_order_relaxed).wait();
  EXPECT_TRUE(std::signbit(domain.load(cell, std::memory_order_relaxed).wait()));
  double const nan = std::numeric_limits<double>::quiet_NaN();
  domain.max(cell, nan, std::memory_order_relaxed).wait();
  EXPECT_EQ(domain.load(cell, std::memory_order_relaxed).wait(), 0.0);
  domain.compare_exchange(cell, -0.0, nan, std::memory_order_relaxed).wait();
  domain.compare_exchange(cell, nan, 2.0, std::memory_order_relaxed).wait();
  EXPECT_EQ(domain.load(cell, std::memory_order_relaxed).wait(), 2.0);
  domain.destroy();
}
