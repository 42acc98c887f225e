#include "grid/hierarchy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace hpgmg {

void PrintTo(grid_shape const& g, std::ostream* out) {
  *out << g.cells << ": " << g.boxes << "^3 of " << g.box << "^3 on " << g.ranks;
}

namespace {

TEST(hierarchy, boxes_of_the_command_line) {
  struct {
    int log2_box, per_rank, ranks, boxes;
  } const cases[] = {
      {4, 8, 1, 2},     {4, 8, 2, 2},
      {4, 8, 8, 4},     {5, 8, 1, 2},
      {5, 8, 2, 2},     {5, 8, 8, 4},
      {6, 1, 1, 1},     {6, 1, 2, 1},
      {6, 1, 8, 2},     {4, 27, 1, 3},
      {7, 1, 8, 2},     {4, 7, 1, 1},
      {4, 26, 1, 2},    {4, 1, 27, 3},
      {4, 125, 1, 5},   {4, 216, 1, 6},
      {4, 343, 1, 7},   {4, 729, 1, 9},
      {4, 1, 1330, 10}, {4, 1331, 1, 11},
      {4, 1728, 1, 12}, {4, 2197, 1, 12},
      {4, 2744, 1, 14}, {4, 3375, 1, 14},
      {4, 4096, 1, 16}, {9, 2147483647, 1000, 896},
  };
  for (auto const& c : cases) {
    EXPECT_EQ(boxes_per_side(1 << c.log2_box, c.per_rank, c.ranks), c.boxes)
        << c.log2_box << " " << c.per_rank << " on " << c.ranks;
  }
}

void expect_levels(grid_shape finest, int radius, bool periodic, std::vector<grid_shape> const& coarser) {
  auto expected = coarser;
  expected.insert(expected.begin(), finest);
  EXPECT_EQ(plan_levels(finest, radius, periodic), expected)
      << "radius " << radius << " periodic " << periodic;
}

TEST(hierarchy, boxes_shrink_to_8_and_merge_and_shrink) {
  std::vector<grid_shape> const merged = {
      {128, 64, 2, 8}, {64, 32, 2, 8}, {32, 16, 2, 8}, {16, 8, 2, 8}, {8, 8, 1, 8}};
  auto const and_then = [&](std::vector<grid_shape> const& more) {
    auto all = merged;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  grid_shape const finest{256, 128, 2, 8};
  expect_levels(finest, 1, false, and_then({{4, 4, 1, 8}, {2, 2, 1, 8}, {1, 1, 1, 8}}));
  expect_levels(finest, 2, false, and_then({{4, 4, 1, 8}, {2, 2, 1, 8}}));
  // Coarsening stops at 2^3, so that the number of ranks falls towards it.
  expect_levels(finest, 1, true, and_then({{4, 4, 1, 2}, {2, 2, 1, 1}}));
  expect_levels(finest, 2, true, and_then({{4, 4, 1, 2}, {2, 2, 1, 1}}));
  expect_levels({64, 16, 4, 8}, 2, false,
                {{32, 8, 4, 8}, {16, 8, 2, 8}, {8, 8, 1, 8}, {4, 4, 1, 8}, {2, 2, 1, 8}});
  expect_levels({16, 16, 1, 2}, 1, true, {{8, 8, 1, 2}, {4, 4, 1, 2}, {2, 2, 1, 1}});
}

TEST(hierarchy, odd_grids_use_fewer_ranks_as_they_coarsen) {
  for (int const ranks : {1, 2, 3, 4, 8, 9, 27}) {
    for (int const radius : {1, 2}) {
      for (bool const periodic : {false, true}) {
        // radius 2 needs boxes of 2, and merges 6^3 of 2^3 boxes to 3^3.
        expect_levels(
            {48, 16, 3, ranks}, radius, periodic,
            {{24, 8, 3, ranks}, {12, 4, 3, std::min(9, ranks)}, {6, 2, 3, std::min(3, ranks)}, {3, 3, 1, 1}});
      }
    }
  }
  // 5 boxes a side: 80, 40, 20, 10, 5.
  expect_levels({80, 16, 5, 64}, 2, false, {{40, 8, 5, 64}, {20, 4, 5, 25}, {10, 2, 5, 5}, {5, 5, 1, 1}});
  // 6 boxes a side are merged to 3 first.
  expect_levels({96, 16, 6, 8}, 1, false,
                {{48, 8, 6, 8}, {24, 8, 3, 8}, {12, 4, 3, 8}, {6, 2, 3, 3}, {3, 3, 1, 1}});
}

TEST(hierarchy, owners_along_the_morton_curve) {
  std::vector<int> half = {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3};
  std::vector<int> expected = half;
  expected.insert(expected.end(), half.begin(), half.end());
  for (int i = 0; i < 32; ++i) expected.push_back(expected[static_cast<std::size_t>(i)] + 4);
  EXPECT_EQ(assign_boxes(4, 8, box_order::morton), expected);
  EXPECT_EQ(assign_boxes(3, 8, box_order::morton), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5,
                                                                     5, 4, 6, 6, 2, 3, 4, 5, 6, 7, 5, 7, 7}));
}

TEST(hierarchy, owners_in_lexicographic_order) {
  auto const owners = assign_boxes(4, 8, box_order::lexicographic);
  for (int b = 0; b < 64; ++b) EXPECT_EQ(owners[static_cast<std::size_t>(b)], b / 8);
  auto const odd = assign_boxes(3, 8, box_order::lexicographic);
  for (int b = 0; b < 27; ++b) EXPECT_EQ(odd[static_cast<std::size_t>(b)], 8 * b / 27);
}

TEST(hierarchy, fewer_boxes_than_ranks_are_spread) {
  EXPECT_EQ(assign_boxes(2, 16, box_order::morton), (std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(assign_boxes(2, 16, box_order::lexicographic), (std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14}));
  for (auto const order :
       {box_order::morton, box_order::lexicographic, box_order::bisection, box_order::primes})
    EXPECT_EQ(assign_boxes(1, 7, order), std::vector<int>{0});
}

TEST(hierarchy, owners_by_bisection) {
  // 2^3: i is halved first, then j, then k.
  EXPECT_EQ(assign_boxes(2, 8, box_order::bisection), (std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7}));
  // 3^3 on 3 ranks, 9 boxes each of: 2x2x2, then 2x2x1, 2x1x3, and the 9 with i = 2.
  std::vector<int> position(27);
  int next = 0;
  auto const block = [&](box_index low, box_index size) {
    for (int k = 0; k < size[2]; ++k) {
      for (int j = 0; j < size[1]; ++j) {
        for (int i = 0; i < size[0]; ++i)
          position[static_cast<std::size_t>(box_id({low[0] + i, low[1] + j, low[2] + k}, 3))] = next;
      }
    }
    next += size[0] * size[1] * size[2];
  };
  block({0, 0, 0}, {2, 2, 2});
  block({0, 0, 2}, {2, 2, 1});
  block({0, 2, 0}, {2, 1, 3});
  block({2, 0, 0}, {1, 3, 3});
  auto const owners = assign_boxes(3, 27, box_order::bisection);
  for (std::size_t b = 0; b < 27; ++b) {
    // Positions within a block are not told apart here.
    int const size = position[b] == 0 ? 8 : position[b] == 8 ? 4 : position[b] == 12 ? 6 : 9;
    EXPECT_GE(owners[b], position[b]) << b;
    EXPECT_LT(owners[b], position[b] + size) << b;
  }
}

TEST(hierarchy, owners_by_primes) {
  // 4 = 2*2 in k, then 8/2 = 4 ranks: 2 in j, then 2 in i.
  auto const owners = assign_boxes(4, 8, box_order::primes);
  for (int b = 0; b < 64; ++b) {
    auto const at = box_at(b, 4);
    EXPECT_EQ(owners[static_cast<std::size_t>(b)], 4 * (at[2] / 2) + 2 * (at[1] / 2) + at[0] / 2) << b;
  }
  // 3 in each direction; k slowest.
  auto const cube = assign_boxes(3, 27, box_order::primes);
  for (int b = 0; b < 27; ++b) EXPECT_EQ(cube[static_cast<std::size_t>(b)], b);
  // 6 boxes on 6 ranks: 2 in k, then 3 in j (largest are i and j: j).
  auto const six = assign_boxes(6, 6, box_order::primes);
  for (int b = 0; b < 216; ++b) {
    auto const at = box_at(b, 6);
    EXPECT_EQ(six[static_cast<std::size_t>(b)], 3 * (at[2] / 3) + at[1] / 2) << b;
  }
}

TEST(hierarchy, every_rank_gets_its_share_in_any_order) {
  for (auto const order :
       {box_order::morton, box_order::lexicographic, box_order::bisection, box_order::primes}) {
    for (int const boxes : {1, 2, 3, 4, 5, 6, 7}) {
      for (int const ranks : {1, 2, 3, 5, 8, 12, 27, 64, 400}) {
        auto const owners = assign_boxes(boxes, ranks, order);
        std::vector<int> count(static_cast<std::size_t>(ranks));
        for (int const owner : owners) {
          ASSERT_GE(owner, 0);
          ASSERT_LT(owner, ranks);
          ++count[static_cast<std::size_t>(owner)];
        }
        auto const [least, most] = std::minmax_element(count.begin(), count.end());
        EXPECT_EQ(std::accumulate(count.begin(), count.end(), 0), boxes * boxes * boxes);
        if (order == box_order::primes) continue;  // proportional where no prime divides
        EXPECT_LE(*most - *least, 1) << boxes << " boxes a side on " << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace hpgmg
