// Distributed arrays: blocks and owners, elements by point, whole parts by copy, ghosts.

#include <atoll/array.hpp>
#include <atoll/neighbors.hpp>

#include "multirank/common.hpp"

namespace {

using atl::dist_array;
using atl::distribution;
using atl::domain;
using atl::point;

int value_at(point<2> const& p) { return static_cast<int>(100 * p[0] + p[1]); }

}  // namespace

using dist_array_test = multirank::fixture;

TEST_F(dist_array_test, blocks_make_up_the_domain_and_owners_have_them) {
  for (domain<2> const& whole :
       {domain<2>{{-3, 4}, {14, 9}}, domain<2>{{0, 0}, {1, 2}}, domain<2>{{5, 5}, {5, 9}}}) {
    dist_array<int, 2> const a(whole);
    EXPECT_EQ(a.grid()[0] * a.grid()[1], n);
    std::size_t points = 0;
    for (int r = 0; r < n; ++r) {
      points += a.block(r).size();
      for (point<2> const& p : a.block(r)) ASSERT_EQ(a.owner(p), r);
    }
    EXPECT_EQ(points, whole.size());
    EXPECT_EQ(a.local().domain(), a.block());
    upcxx::barrier();
  }
  EXPECT_EQ(atl::balanced_grid(domain<3>{{0, 0, 0}, {64, 64, 64}}, 8), (point<3>{2, 2, 2}));
  EXPECT_EQ(atl::balanced_grid(domain<2>{{0, 0}, {10, 1000}}, 12), (point<2>{1, 12}));
  EXPECT_EQ(atl::balanced_grid(domain<2>{{0, 0}, {100, 100}}, 12), (point<2>{4, 3}));
  dist_array<int, 2> const one(domain<2>{{0, 0}, {4, 4}}, {.grid = {1, 1}});
  EXPECT_EQ(one.block().empty(), me != 0);
}

TEST_F(dist_array_test, every_rank_reads_and_writes_every_element) {
  domain<2> const whole{{-2, 3}, {9, 10}};
  dist_array<int, 2> a(whole, {.depth = 1});
  for (point<2> const& p : whole) {
    if (static_cast<int>((p[0] * 7 + p[1] + 1000) % n) == me) a.rput(value_at(p), p).wait();
  }
  upcxx::barrier();
  for (point<2> const& p : a.block()) EXPECT_EQ(a.local()[p], value_at(p));
  for (point<2> const& p : whole) ASSERT_EQ(a.rget(p).wait(), value_at(p));
  // All of it, from its parts.
  auto const all = atl::make_array<int>(whole, atl::order::last_fastest);
  for (int r = 0; r < n; ++r) atl::copy(a.on(r).wait().restrict_to(a.block(r)), all).wait();
  for (point<2> const& p : whole) ASSERT_EQ(all[p], value_at(p));
  upcxx::barrier();
}

TEST_F(dist_array_test, ghosts_are_exchanged_also_around_the_ends) {
  domain<2> const whole{{0, 0}, {12, 11}};
  distribution<2> how;
  how.depth = 2;
  how.periodic[1] = true;
  dist_array<int, 2> a(whole, how);
  for (point<2> const& p : a.block()) a.local()[p] = value_at(p);
  for (int i = 0; i < 3; ++i) a.ghosts().run();
  for (point<2> const& p : a.local().domain()) {
    point<2> original = p;
    original[1] = (p[1] + 11) % 11;
    ASSERT_EQ(a.local()[p], whole.contains(original) ? value_at(original) : 0) << p[0] << ", " << p[1];
  }
  upcxx::barrier();
  auto const moved = std::move(a);
  EXPECT_EQ(moved.local()[moved.block().lower], value_at(moved.block().lower));
  upcxx::barrier();
}

TEST_F(dist_array_test, no_room_on_one_rank_is_an_error_on_all) {
  if (n == 1) return;  // who has no neighbours needs no flags
  std::vector<upcxx::global_ptr<char>> taken;
  auto const fill = [&taken] {
    for (std::size_t bytes = std::size_t{1} << 20; bytes >= 8; bytes /= 2) {
      while (auto const more = upcxx::new_array<char>(bytes, std::nothrow)) taken.push_back(more);
    }
  };
  // The last rank has room for its block, but not for flags or inboxes.
  if (me == n - 1) {
    auto const hole = upcxx::new_array<char>(4096);
    fill();
    upcxx::delete_array(hole);
  }
  upcxx::barrier();
  auto const used = upcxx::shared_segment_used();
  domain<1> const whole{{0}, {1000 * n}};
  EXPECT_THROW((dist_array<int, 1>(whole, {.depth = 1})), upcxx::bad_shared_alloc);
  EXPECT_EQ(upcxx::shared_segment_used(), used);
  if (me == n - 1) fill();
  std::vector<int> const around{left, right};
  EXPECT_THROW(atl::neighbors{around}, upcxx::bad_shared_alloc);
  upcxx::barrier();
  for (auto const& block : taken) upcxx::delete_array(block);
  upcxx::barrier();
  dist_array<int, 1> a(whole, {.depth = 1});
  a.ghosts().run();
  upcxx::barrier();
}
