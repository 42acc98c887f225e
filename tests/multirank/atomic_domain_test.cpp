// Life of atomic domains: construction, moves, destruction, and progress meanwhile.

#include <algorithm>
#include <utility>

#include "common.hpp"

namespace {

using upcxx::atomic_domain;
using upcxx::atomic_op;

static_assert(std::is_default_constructible_v<atomic_domain<int>>);
static_assert(std::is_nothrow_move_constructible_v<atomic_domain<int>> &&
              std::is_nothrow_move_assignable_v<atomic_domain<int>>);
static_assert(!std::is_copy_constructible_v<atomic_domain<int>> &&
              !std::is_copy_assignable_v<atomic_domain<int>>);
static_assert(std::is_final_v<atomic_domain<double>>);
static_assert(std::is_convertible_v<std::vector<atomic_op> const&, atomic_domain<int>>);

atomic_domain<int> before_init;  // inactive, constructed and destroyed outside init and finalize

}  // namespace

using atomic_domain_test = multirank::fixture;

TEST_F(atomic_domain_test, is_active_between_construction_and_destroy) {
  atomic_domain<int> none;
  EXPECT_FALSE(none.is_active());
  EXPECT_FALSE(before_init.is_active());
  atomic_domain<int> domain({atomic_op::load});
  EXPECT_TRUE(domain.is_active());
  domain.destroy();
  EXPECT_FALSE(domain.is_active());
}

TEST_F(atomic_domain_test, moves_leave_the_source_inactive) {
  multirank::shared_array<int> cells(1);
  *cells.local() = 3;
  atomic_domain<int> first({atomic_op::load, atomic_op::fetch_add});
  atomic_domain<int> second(std::move(first));
  EXPECT_FALSE(first.is_active());
  EXPECT_TRUE(second.is_active());
  atomic_domain<int> third;
  third = std::move(second);
  EXPECT_FALSE(second.is_active());
  EXPECT_EQ(third.fetch_add(cells.at(me), 1, std::memory_order_relaxed).wait(), 3);
  first = std::move(third);  // a source of moves can be a target again
  EXPECT_EQ(first.load(cells.at(me), std::memory_order_relaxed).wait(), 4);
  second = std::move(third);  // inactive to inactive
  first.destroy();
  first = atomic_domain<int>({atomic_op::load});
  EXPECT_EQ(first.load(cells.at(me), std::memory_order_relaxed).wait(), 4);
  first.destroy(upcxx::entry_barrier::none);
}

TEST_F(atomic_domain_test, over_a_team_serves_its_members) {
  upcxx::team half = upcxx::world().split(me % 2, -me);
  atomic_domain<long> domain({atomic_op::fetch_add, atomic_op::load}, half);
  atomic_domain<long> other(std::vector<atomic_op>{atomic_op::load});
  upcxx::intrank_t const size = half.rank_n();
  multirank::shared_array<long> cells(1);
  *cells.local() = 0;
  upcxx::barrier();
  for (int r = 0; r < size; ++r) {
    domain.fetch_add(cells.at(half[r]), r + 1, std::memory_order_relaxed).wait();
  }
  domain.destroy(upcxx::entry_barrier::internal);
  EXPECT_EQ(*cells.local(), static_cast<long>(size) * (half.rank_me() + 1));
  other.destroy();
  half.destroy();
}

TEST_F(atomic_domain_test, construction_and_destruction_serve_calls) {
  auto const call_everybody = [&] {
    if (me != 0) return;
    for (int r = 1; r < n; ++r) {
      EXPECT_EQ(upcxx::rpc(r, [] { return upcxx::rank_me(); }).wait(), r);
    }
  };
  call_everybody();  // while the others wait in the constructor
  atomic_domain<int> domain({atomic_op::load});
  call_everybody();  // while the others wait in destroy
  domain.destroy();
}

TEST_F(atomic_domain_test, calls_may_use_a_domain_whose_end_waits) {
  static atomic_domain<int>* used;
  static upcxx::global_ptr<int> cell;
  atomic_domain<int> domain({atomic_op::fetch_add});
  cell = upcxx::new_<int>(7);
  used = &domain;
  upcxx::barrier();
  if (me == 0) {
    for (int r = 1; r < n; ++r) {
      int const found =
          upcxx::rpc(r, [] { return used->fetch_add(cell, 1, std::memory_order_relaxed); }).wait();
      EXPECT_EQ(found, 7);
    }
  }
  domain.destroy();
  EXPECT_FALSE(domain.is_active());
  EXPECT_EQ(*cell.local(), me == 0 ? 7 : 8);
  upcxx::delete_(cell);
}

TEST_F(atomic_domain_test, destroy_synchronises) {
  multirank::shared_array<int> cells(1);
  for (auto const level : {upcxx::entry_barrier::user, upcxx::entry_barrier::internal}) {
    *cells.local() = 0;
    atomic_domain<int> domain({atomic_op::add});
    for (int r = 0; r < n; ++r) domain.add(cells.at(r), 1, std::memory_order_release).wait();
    domain.destroy(level);
    EXPECT_EQ(*cells.local(), n);
    upcxx::barrier();
  }
}

TEST_F(atomic_domain_test, many_domains_at_once) {
  multirank::shared_array<double> cells(20);
  std::fill_n(cells.local(), 20, 0.0);
  std::vector<atomic_domain<double>> domains;
  for (int i = 0; i < 20; ++i) {
    domains.emplace_back(std::vector<atomic_op>{atomic_op::inc, atomic_op::load});
  }
  for (int i = 0; i < 20; ++i)
    domains[static_cast<std::size_t>(i)].inc(cells.at(right) + i, std::memory_order_relaxed).wait();
  upcxx::barrier();
  for (int i = 0; i < 20; ++i) {
    auto& d = domains[static_cast<std::size_t>(i)];
    EXPECT_EQ(d.load(cells.at(me) + i, std::memory_order_relaxed).wait(), 1.0);
    d.destroy(upcxx::entry_barrier::none);
  }
}
