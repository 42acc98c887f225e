// All ranks at the same cells at once.

#include <algorithm>
#include <numeric>
#include <set>

#include "common.hpp"

namespace {
using upcxx::atomic_op;
constexpr auto relaxed = std::memory_order_relaxed;
}  // namespace

using atomic_contention_test = multirank::fixture;

TEST_F(atomic_contention_test, every_ticket_is_drawn_once) {
  constexpr std::uint64_t draws = 4000;
  upcxx::atomic_domain<std::uint64_t> domain({atomic_op::fetch_inc, atomic_op::fetch_add, atomic_op::load});
  multirank::shared_array<std::uint64_t> cells(1);
  *cells.local() = 0;
  upcxx::barrier();
  std::uint64_t last = 0;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    // Odd draws through a promise-less result in memory.
    std::uint64_t ticket = 0;
    if (i % 2 == 0) {
      ticket = domain.fetch_inc(cells.at(0), relaxed).wait();
    } else {
      domain.fetch_add(cells.at(0), 1, &ticket, relaxed).wait();
    }
    EXPECT_TRUE(i == 0 || ticket > last);  // waited for one by one, so they grow
    last = ticket;
    sum += ticket;
  }
  std::uint64_t const all = draws * static_cast<std::uint64_t>(n);
  EXPECT_EQ(upcxx::reduce_all(sum, upcxx::op_fast_add).wait(), all * (all - 1) / 2);
  EXPECT_EQ(domain.load(cells.at(0), relaxed).wait(), all);
  domain.destroy();
}

TEST_F(atomic_contention_test, nothing_is_lost_in_any_operation) {
  constexpr int rounds = 1500;
  upcxx::atomic_domain<std::int64_t> domain({atomic_op::add, atomic_op::dec, atomic_op::mul, atomic_op::min,
                                             atomic_op::max, atomic_op::bit_xor, atomic_op::bit_or,
                                             atomic_op::load});
  multirank::shared_array<std::int64_t> cells(6);
  std::int64_t const start[6] = {0, 1, 0, 0, 0, 0};
  std::copy(start, start + 6, cells.local());
  upcxx::barrier();
  upcxx::promise<> done;
  auto const cx = upcxx::operation_cx::as_promise(done);
  for (int i = 0; i < rounds; ++i) {
    auto const at = cells.at(i % n);
    std::int64_t const mine = me * rounds + i + 1;
    domain.add(at, 3, relaxed, cx);
    domain.dec(at, relaxed, cx);
    domain.mul(at + 1, i % 5 == 0 ? 3 : 1, relaxed, cx);
    domain.min(at + 2, -mine, relaxed, cx);
    domain.max(at + 3, mine, relaxed, cx);
    domain.bit_xor(at + 4, mine, relaxed, cx);
    domain.bit_or(at + 5, std::int64_t{1} << (me * 8 + i % 8), relaxed, cx);
  }
  done.finalize().wait();
  upcxx::barrier();
  std::int64_t sum = 0;
  std::uint64_t product = 1;
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
  std::int64_t exclusive = 0;
  std::int64_t inclusive = 0;
  for (int i = me; i < rounds; i += n) {  // what everybody did to this rank's cells
    for (int r = 0; r < n; ++r) {
      std::int64_t const theirs = r * rounds + i + 1;
      sum += 2;
      if (i % 5 == 0) product *= 3;
      smallest = std::min(smallest, -theirs);
      largest = std::max(largest, theirs);
      exclusive ^= theirs;
      inclusive |= std::int64_t{1} << (r * 8 + i % 8);
    }
  }
  std::int64_t const expected[6] = {
      sum, static_cast<std::int64_t>(product), smallest, largest, exclusive, inclusive};
  for (int c = 0; c < 6; ++c) {
    EXPECT_EQ(domain.load(cells.at(me) + c, relaxed).wait(), expected[c]) << "cell " << c;
  }
  domain.destroy();
}

TEST_F(atomic_contention_test, floating_point_sums_are_exact_where_rounding_allows) {
  upcxx::atomic_domain<float> domain({atomic_op::add, atomic_op::fetch_sub, atomic_op::load});
  multirank::shared_array<float> cells(1);
  *cells.local() = 0;
  upcxx::barrier();
  for (int i = 0; i < 2000; ++i) {
    domain.add(cells.at(right), 1.5F, relaxed).wait();
    domain.fetch_sub(cells.at(0), 0.25F, relaxed).wait();
  }
  upcxx::barrier();
  float const expected = 2000 * 1.5F - (me == 0 ? 500.0F * static_cast<float>(n) : 0.0F);
  EXPECT_EQ(domain.load(cells.at(me), relaxed).wait(), expected);
  domain.destroy();
}

TEST_F(atomic_contention_test, acquire_and_release_make_a_lock) {
  upcxx::atomic_domain<int> domain({atomic_op::compare_exchange, atomic_op::store});
  multirank::shared_array<int> lock(1);
  multirank::shared_array<long> guarded(2);  // plain memory, equal outside the lock
  *lock.local() = 0;
  guarded.local()[0] = guarded.local()[1] = 0;
  upcxx::barrier();
  auto const shared = guarded.at(0);
  constexpr int rounds = 300;
  for (int i = 0; i < rounds; ++i) {
    multirank::spin_until([&] {
      return domain.compare_exchange(lock.at(0), 0, me + 1, std::memory_order_acquire).wait() == 0;
    });
    long const x = upcxx::rget(shared).wait();
    EXPECT_EQ(upcxx::rget(shared + 1).wait(), x);
    upcxx::rput(x + 1, shared).wait();
    upcxx::rput(x + 1, shared + 1).wait();
    domain.store(lock.at(0), 0, std::memory_order_release).wait();
  }
  upcxx::barrier();
  EXPECT_EQ(upcxx::rget(shared).wait(), static_cast<long>(rounds) * n);
  domain.destroy();
}
