#include "problem/decomposition.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace heat3d {
namespace {

TEST(decomposition, default_grids_are_those_of_the_reference_program) {
  std::map<int, process_grid> const expected = {
      {1, {1, 1, 1}},    {2, {1, 1, 2}},      {3, {1, 1, 3}},      {4, {1, 2, 2}},   {5, {1, 5, 1}},
      {6, {1, 2, 3}},    {7, {1, 7, 1}},      {8, {2, 2, 2}},      {9, {3, 1, 3}},   {10, {2, 5, 1}},
      {12, {2, 2, 3}},   {16, {2, 2, 4}},     {24, {2, 3, 4}},     {27, {3, 3, 3}},  {32, {4, 2, 4}},
      {48, {3, 4, 4}},   {64, {4, 4, 4}},     {96, {4, 4, 6}},     {192, {6, 8, 4}}, {384, {8, 6, 8}},
      {768, {12, 8, 8}}, {1536, {12, 16, 8}}, {3072, {16, 16, 12}}};
  for (auto const& [ranks, grid] : expected) EXPECT_EQ(default_grid(ranks), grid) << ranks << " ranks";
}

/// Every cell has one owner, blocks differ by at most one cell per direction, neighbours agree
/// about each other.
void expect_sound(triple const& domain, process_grid const& grid) {
  int const ranks = grid[0] * grid[1] * grid[2];
  std::int64_t cells = 0;
  for (int r = 0; r < ranks; ++r) {
    auto const b = make_block(domain, grid, r);
    cells += b.cells.cell_n();
    for (int d = 0; d < 3; ++d) {
      EXPECT_GE(b.extent()[d], domain[d] / grid[d]);
      EXPECT_LE(b.extent()[d], (domain[d] + grid[d] - 1) / grid[d]);
    }
    for (int f = 0; f < face_n; ++f) {
      auto const at = face(f);
      auto const d = axis_of(at);
      bool const outer = is_high(at) ? b.cells.high[d] == domain[d] : b.cells.low[d] == 0;
      EXPECT_EQ(b.has_neighbor(at), !outer);
      if (outer) continue;
      auto const other = make_block(domain, grid, b.neighbor[f]);
      EXPECT_EQ(other.neighbor[opposite(at)], r);
      EXPECT_EQ(face_cells(b.extent(), at), face_cells(other.extent(), opposite(at)));
      EXPECT_EQ(is_high(at) ? b.cells.high[d] : b.cells.low[d],
                is_high(at) ? other.cells.low[d] : other.cells.high[d]);
    }
  }
  EXPECT_EQ(cells, domain[0] * domain[1] * domain[2]);
}

TEST(decomposition, blocks_tile_domains_whose_extents_do_not_divide) {
  expect_sound({30, 20, 14}, {2, 2, 2});
  expect_sound({31, 17, 5}, {4, 3, 2});
  expect_sound({100, 1, 1}, {11, 1, 1});  // ceil-sized blocks would leave the last rank empty
  expect_sound({200, 3, 3}, {31, 1, 3});
  expect_sound({7, 7, 7}, {7, 7, 1});
}

TEST(decomposition, extents_beyond_32_bits_are_counted) {
  auto const b = make_block({1291, 1291, 1291}, {1, 1, 1}, 0);
  EXPECT_EQ(b.cells.cell_n(), 2151685171);
}

TEST(decomposition, more_ranks_than_cells_are_refused_with_a_grid_that_works) {
  auto const problem = grid_problem({100, 100, 1}, {2, 2, 2}, 8);
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("2 ranks share 1 cells in z"), std::string::npos) << *problem;
  EXPECT_NE(problem->find("--grid 2,4,1"), std::string::npos) << *problem;
  EXPECT_TRUE(grid_problem({2, 2, 2}, {1, 1, 3}, 3));
  EXPECT_FALSE(grid_problem({2, 2, 2}, {2, 2, 2}, 8));
}

TEST(decomposition, thin_domains_get_a_grid_that_divides_them) {
  EXPECT_EQ(choose_grid({100, 100, 100}, 4), default_grid(4));
  EXPECT_EQ(choose_grid({5, 1, 9}, 4), (process_grid{2, 1, 2}));
  EXPECT_EQ(choose_grid({1, 1, 9}, 8), (process_grid{1, 1, 8}));
  EXPECT_EQ(choose_grid({2, 2, 2}, 11), default_grid(11));  // there is none
  for (int ranks = 1; ranks <= 24; ++ranks) {
    triple const domain{24, 1, 24};
    EXPECT_FALSE(grid_problem(domain, choose_grid(domain, ranks), ranks)) << ranks;
  }
}

TEST(decomposition, a_grid_for_another_number_of_ranks_is_refused) {
  auto const problem = grid_problem({100, 100, 100}, {2, 2, 2}, 4);
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("for 8 ranks, but the job has 4"), std::string::npos) << *problem;
}

/// Inner and surface boxes cover each cell once, and no inner cell touches a neighbour.
void expect_tiled(block const& b) {
  auto const n = b.extent();
  std::map<std::array<std::int64_t, 3>, int> seen;
  auto const enter = [&](box const& part) {
    for (auto z = part.low[2]; z < part.high[2]; ++z) {
      for (auto y = part.low[1]; y < part.high[1]; ++y) {
        for (auto x = part.low[0]; x < part.high[0]; ++x) ++seen[{x, y, z}];
      }
    }
  };
  auto const inner = inner_box(b);
  enter(inner);
  for (auto const& [at, count] : seen) {
    for (int d = 0; d < 3; ++d) {
      EXPECT_FALSE(at[d] == 0 && b.neighbor[2 * d] >= 0);
      EXPECT_FALSE(at[d] == n[d] - 1 && b.neighbor[2 * d + 1] >= 0);
    }
  }
  for (auto const& part : surface_boxes(b)) enter(part);
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), n[0] * n[1] * n[2]);
  for (auto const& [at, count] : seen) EXPECT_EQ(count, 1);
}

TEST(decomposition, inner_and_surface_boxes_tile_every_block) {
  for (auto const& domain : {triple{9, 8, 7}, triple{3, 3, 3}, triple{6, 4, 5}}) {
    for (int r = 0; r < 27; ++r) expect_tiled(make_block(domain, {3, 3, 3}, r));
  }
  for (int r = 0; r < 4; ++r)
    expect_tiled(make_block({4, 1, 1}, {4, 1, 1}, r));  // one cell between two neighbours
}

}  // namespace
}  // namespace heat3d
