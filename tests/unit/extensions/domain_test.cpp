// Points and domains, against sets of points.

#include <atoll/extensions/array/domain.hpp>

#include <gtest/gtest.h>

#include <set>
#include <type_traits>
#include <vector>

namespace {

using atl::domain;
using atl::order;
using atl::point;

template <int N>
std::set<point<N>> points(domain<N> const& d) {
  std::set<point<N>> all;
  for (point<N> const& p : d) all.insert(p);
  return all;
}

/// All domains, empty ones included, with corners in [-1, 2].
std::vector<domain<2>> small_domains() {
  std::vector<domain<2>> all;
  domain<2> const corners{{-1, -1}, {3, 3}};
  for (point<2> const& lower : corners) {
    for (point<2> const& upper : corners) all.push_back({lower, upper});
  }
  return all;
}

static_assert(std::is_trivially_copyable_v<domain<3>> && std::is_aggregate_v<point<3>>);
static_assert(point{1, 2, 3} + point{1, 1, 1} == point{2, 3, 4});
static_assert(-point{1, -2} * 3 - point{1, 1} == point{-4, 5});
static_assert(point{1, 9} < point{2, 0} && point<3>::unit(1, 4) == point{0, 4, 0});
static_assert(point<2>::min({1, 5}, {3, 2}) == point{1, 2} && point<2>::max({1, 5}, {3, 2}) == point{3, 5});
static_assert(point{7, 8, 9}.without(1) == point{7, 9});
static_assert(domain<3>{{0, 0, 0}, {2, 3, 4}}.size() == 24 && domain<1>{}.empty());
static_assert(domain<2>{{0, 0}, {4, 4}}.shrink(1) == domain<2>{{1, 1}, {3, 3}});

}  // namespace

TEST(domain, of_all_small_ones_sets_of_points_say_the_same) {
  auto const all = small_domains();
  for (domain<2> const& a : all) {
    auto const in_a = points(a);
    EXPECT_EQ(a.size(), in_a.size());
    EXPECT_EQ(a.empty(), in_a.empty());
    for (point<2> const& p : domain<2>{{-2, -2}, {4, 4}}) EXPECT_EQ(a.contains(p), in_a.count(p) == 1);
    for (domain<2> const& b : all) {
      auto const in_b = points(b);
      std::set<point<2>> both;
      bool inside = true;
      for (point<2> const& p : in_b) {
        if (in_a.count(p) == 1) both.insert(p);
        inside &= in_a.count(p) == 1;
      }
      ASSERT_EQ(points(a & b), both);
      ASSERT_EQ(a.contains(b), inside);
      ASSERT_EQ(a == b, in_a == in_b);
      ASSERT_TRUE((domain<2>::hull(a, b).contains(a) && domain<2>::hull(a, b).contains(b)));
    }
  }
}

TEST(domain, translation_growth_and_slices) {
  domain<3> const d{{1, 2, 3}, {4, 6, 8}};
  EXPECT_EQ((d + point<3>{1, -1, 0}), (domain<3>{{2, 1, 3}, {5, 5, 8}}));
  EXPECT_EQ((d + point<3>{1, -1, 0}) - point<3>({1, -1, 0}), d);
  EXPECT_EQ(d.grow(2).shrink(2), d);
  EXPECT_EQ(d.grow({0, 1, 2}), (domain<3>{{1, 1, 1}, {4, 7, 10}}));
  EXPECT_TRUE(d.shrink(2).empty());
  EXPECT_EQ(d.shrink(2).size(), 0U);
  EXPECT_EQ(d.extents(), (point<3>{3, 4, 5}));
  EXPECT_EQ(d.slice(1, 5), (domain<2>{{1, 3}, {4, 8}}));
  EXPECT_TRUE(d.slice(1, 6).empty());
  EXPECT_TRUE(d.slice(1, 1).empty());
}

TEST(domain, regions_around_a_box_are_disjoint_and_make_up_the_ghosts) {
  domain<3> const box{{0, 0, 0}, {4, 3, 5}};
  for (std::ptrdiff_t const depth : {1, 2}) {
    std::set<point<3>> ghosts;
    std::size_t sizes = 0;
    for (point<3> const& direction : domain<3>{{-1, -1, -1}, {2, 2, 2}}) {
      domain<3> const ghost = box.region(direction, depth);
      if (direction == point<3>{}) {
        EXPECT_EQ(ghost, box);
        continue;
      }
      sizes += ghost.size();
      ghosts.merge(points(ghost));
      // The neighbour of the same extents in this direction has these points inside.
      point<3> shift{};
      for (int d = 0; d < 3; ++d) shift[d] = direction[d] * static_cast<std::ptrdiff_t>(box.extent(d));
      EXPECT_EQ(ghost, ((box + shift).region(-direction, -depth)));
      EXPECT_EQ(ghost, ((box + shift) & ghost));
    }
    EXPECT_EQ(sizes, ghosts.size());
    auto with_ghosts = points(box.grow(depth));
    for (point<3> const& p : box) with_ghosts.erase(p);
    EXPECT_EQ(ghosts, with_ghosts);
  }
  EXPECT_EQ(box.border(1, -1, 2), (domain<3>{{0, -2, 0}, {4, 0, 5}}));
  EXPECT_EQ(box.border(1, 1, -2), (domain<3>{{0, 1, 0}, {4, 3, 5}}));
}

TEST(domain, points_come_in_the_order_that_was_asked_for) {
  domain<2> const d{{0, 5}, {2, 7}};
  std::vector<point<2>> const first(d.begin(), d.end());
  EXPECT_EQ(first, (std::vector<point<2>>{{0, 5}, {1, 5}, {0, 6}, {1, 6}}));
  std::vector<point<2>> last;
  for (point<2> const& p : d.in_order(order::last_fastest)) last.push_back(p);
  EXPECT_EQ(last, (std::vector<point<2>>{{0, 5}, {0, 6}, {1, 5}, {1, 6}}));
}
