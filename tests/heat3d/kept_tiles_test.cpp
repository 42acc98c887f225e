// Tiles that blocks of threads keep: which they are, what is beyond their sides, and how they are computed.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "backends/kept_tiles.hpp"
#include "backends/tile_walk.hpp"

namespace heat3d {
namespace {

/// A block of cells, of which some faces have neighbours: cells there are not in tiles.
sweep_work work_of(triple extent, box inner) {
  sweep_work w{};
  w.extent = extent;
  w.part = inner;
  return w;
}

constexpr int many_places = 1000;

TEST(kept_tiles, have_each_inner_cell_once) {
  for (box const inner :
       {box{{0, 0, 0}, {20, 17, 11}}, box{{1, 0, 1}, {20, 16, 10}}, box{{0, 1, 0}, {3, 2, 11}}}) {
    sweep_work const w = work_of({20, 17, 11}, inner);
    for (int tile_n : {1, 2, 5, 12, 100}) {
      tiling const t = kept_tiling(inner, {1, 1}, 512, tile_n, 200'000);
      ASSERT_GT(t.tile_n(), 0);
      EXPECT_LE(t.tile_n(), tile_n);
      std::vector<int> times(20 * 17 * 11);
      for (std::uint32_t number = 0; number < t.tile_n(); ++number) {
        kept_tile const tile(w, t, number, many_places);
        EXPECT_EQ(tile.place.number_in(t), number);
        std::set<int> places;
        for (int y = 0; y < tile.n[1]; ++y) {
          for (int x = 0; x < tile.n[0]; ++x) {
            auto const cell = tile.cell(x, y);
            EXPECT_GE(cell.kept, 0);
            EXPECT_LT(cell.kept, plane_cells(t));
            EXPECT_TRUE(places.insert(cell.kept).second) << "two cells at " << cell.kept;
            for (int z = 0; z < tile.n[2]; ++z) ++times[cell.field + z * tile.field_plane()];
          }
        }
      }
      for (int z = 0; z < 11; ++z) {
        for (int y = 0; y < 17; ++y) {
          for (int x = 0; x < 20; ++x) {
            bool const is_inner = x >= inner.low[0] && x < inner.high[0] && y >= inner.low[1] &&
                                  y < inner.high[1] && z >= inner.low[2] && z < inner.high[2];
            EXPECT_EQ(times[x + 20 * (y + 17 * z)], is_inner) << x << ' ' << y << ' ' << z;
          }
        }
      }
    }
  }
}

TEST(kept_tiles, know_what_is_beyond_their_sides) {
  box const inner{{0, 1, 0}, {12, 10, 8}};  // a neighbour below in y
  sweep_work const w = work_of({12, 10, 8}, inner);
  tiling const t = kept_tiling(inner, {1, 1}, 30, 100, 100'000);
  for (std::uint32_t number = 0; number < t.tile_n(); ++number) {
    kept_tile const tile(w, t, number, many_places);
    std::map<int, int> expected;  // by place in memory, that in the field
    auto const expect = [&](int x, int y) {
      int const at[2] = {tile.low[0] + x, tile.low[1] + y};
      if (at[0] < 0 || at[0] >= 12 || at[1] < 0 || at[1] >= 10) return;
      auto const cell = tile.cell(x, y);
      expected[cell.kept] = at[0] + 12 * (at[1] + 10 * tile.low[2]);
      EXPECT_EQ(cell.field, expected[cell.kept]);
    };
    for (int const end : {0, 1}) {
      for (int y = 0; y < tile.n[1]; ++y) expect(end == 0 ? -1 : tile.n[0], y);
      for (int x = 0; x < tile.n[0]; ++x) expect(x, end == 0 ? -1 : tile.n[1]);
    }
    ASSERT_EQ(tile.side_n(), expected.size());
    EXPECT_LE(tile.side_n(), threads_for(t, 1));
    for (int i = 0; i < tile.side_n(); ++i) {
      auto const [kept, field] = tile.side(i);
      auto const found = expected.find(kept);
      ASSERT_NE(found, expected.end()) << "tile " << number << ", side cell " << i;
      EXPECT_EQ(field, found->second);
      expected.erase(found);
    }
  }
}

TEST(kept_tiles, take_turns_in_places_that_do_not_stay) {
  box const inner{{0, 0, 0}, {6, 6, 40}};
  tiling const t = cut_into_tiles(inner, 6, 6, 40);
  kept_tile const tile(work_of({6, 6, 40}, inner), t, 0, 16);
  EXPECT_EQ(tile.kept, 16 - passing_places);
  int at = 0;
  for (int z = 0; z < 40; ++z) {
    int const expected = z < tile.kept ? z : tile.kept + (z - tile.kept) % passing_places;
    EXPECT_EQ(at, expected * tile.plane) << "plane " << z;
    at = tile.place_above(at);
  }
}

TEST(kept_tiles, are_none_where_they_do_not_fit) {
  box const inner{{0, 0, 0}, {100, 100, 100}};
  constexpr int threads = 512;
  constexpr std::int64_t bytes = 224'000;  // of an H100
  constexpr kept_way twice{1, 2};
  tiling const t = kept_tiling(inner, twice, threads, 132, bytes);
  ASSERT_GT(t.tile_n(), 0);
  EXPECT_LE(threads_for(t, 1), threads);
  EXPECT_LE(bytes_kept(t, t.depth, 2), bytes);
  EXPECT_EQ(kept_tiling(inner, twice, threads, 60, bytes).tile_n(), 0) << "too few blocks of threads";
  EXPECT_EQ(kept_tiling(inner, twice, threads, 132, bytes / 2).tile_n(), 0) << "too little memory";
  EXPECT_EQ(kept_tiling(inner, twice, 64, 132, bytes).tile_n(), 0) << "too few threads";
  EXPECT_EQ(kept_tiling(inner, twice, threads, 0, bytes).tile_n(), 0) << "no blocks of threads";
  EXPECT_EQ(kept_tiling({{1, 1, 1}, {1, 9, 9}}, twice, threads, 132, bytes).tile_n(), 0) << "no cells";

  // Eight times as many cells: not twice, and not with a column each, but with two, of which some planes pass.
  box const larger{{0, 0, 0}, {200, 200, 200}};
  EXPECT_EQ(kept_tiling(larger, twice, threads, 132, bytes).tile_n(), 0);
  tiling const l = kept_tiling(larger, {2, 1}, 384, 132, bytes);
  ASSERT_GT(l.tile_n(), 0);
  EXPECT_LE(threads_for(l, 2), 384);
  EXPECT_GT(places_in(l, bytes, 1), passing_places);
  EXPECT_LT(places_in(l, bytes, 1), l.depth);
}

/// Fields before and after a step.
struct fields {
  triple extent;
  std::vector<double> from, to;

  explicit fields(triple const& e)
      : extent(e), from(static_cast<std::size_t>(e[0] * e[1] * e[2])), to(from.size(), -1) {
    std::minstd_rand random(7);
    for (auto& value : from) value = std::uniform_real_distribution(0.0, 2.0)(random);
  }
};

/// Computes `inner` in tiles as blocks of threads do, and compares with cells that are computed one by one.
template <int columns, int copies>
void expect_walks_as_cells(triple const& extent, box const& inner, tiling const& t, int places) {
  fields f(extent);
  sweep_work w = work_of(extent, inner);
  w.from = f.from.data();
  w.to = f.to.data();
  w.k = {0.1, 0.7, 0.3, 2.0};
  w.heated = true;
  double radiated = 0;
  double expected_radiated = 0;
  for (std::uint32_t number = 0; number < t.tile_n(); ++number) {
    SCOPED_TRACE(testing::Message() << "tile " << number << ", " << columns << " columns, " << copies
                                    << " copies, " << places << " places");
    kept_tile const tile(w, t, number, places);
    own_columns<columns> own(w, tile, 0);
    auto const copy = static_cast<int>(places * plane_cells(t));
    std::vector<double> memory(static_cast<std::size_t>(copies * copy), 1e300);
    auto const for_kept = [&](auto const& each) {
      own.for_each([&](column_stack<columns> const& s, stack_walk<columns>&) {
        for (int i = 0; i < columns; ++i) {
          for (int z = 0; s.is_there[i] && z < tile.kept; ++z)
            each(s.at.kept + i * s.row + z * tile.plane,
                 s.at.field + i * s.field_row + z * tile.field_plane());
        }
      });
    };
    for_kept([&](int kept, int field) { memory[kept] = f.from[field]; });
    auto const barrier = [] {};
    int const other = copies == 1 ? 0 : copy;
    tile_walk<double, columns, copies, decltype(barrier)>(w, tile, own, memory.data(), other, barrier).run();
    own.for_each([&](column_stack<columns> const&, stack_walk<columns> const& walk) {
      radiated += walk.radiated;
      for (auto least : walk.least) EXPECT_GE(least, 0x3f000000U) << "no number is small here";
    });
    // What is at a side is in the field already, for others; the rest stays.
    auto const in_field = f.to;
    for_kept([&](int kept, int field) {
      if (f.to[field] != -1) {
        EXPECT_EQ(f.to[field], memory[kept + other]);
      }
      f.to[field] = memory[kept + other];
    });
    for (int z = 0; z < tile.n[2]; ++z) {
      for (int y = 0; y < tile.n[1]; ++y) {
        for (int x = 0; x < tile.n[0]; ++x) {
          auto const at = tile.cell(x, y).field + z * tile.field_plane();
          auto const cell = neighbors_of(w, tile.low[0] + x, tile.low[1] + y, tile.low[2] + z);
          ASSERT_EQ(f.to[at], advanced_as<double>(cell, w.k)) << x << ' ' << y << ' ' << z;
          expected_radiated += cell.exposed * fourth_power(cell.c);
          bool const at_side =
              x == 0 || y == 0 || z == 0 || x + 1 == tile.n[0] || y + 1 == tile.n[1] || z + 1 == tile.n[2];
          EXPECT_EQ(in_field[at] != -1, at_side || z >= tile.kept) << x << ' ' << y << ' ' << z;
        }
      }
    }
  }
  EXPECT_NEAR(radiated, expected_radiated, 1e-9 * expected_radiated);
}

TEST(kept_tiles, walk_as_cells_that_are_computed_one_by_one) {
  triple const extent{11, 9, 23};
  for (box const inner :
       {box{{0, 0, 0}, {11, 9, 23}}, box{{0, 1, 0}, {11, 9, 22}}, box{{1, 0, 1}, {10, 8, 23}}}) {
    for (auto const& [width, height, depth] :
         {std::array{11, 9, 23}, std::array{4, 3, 10}, std::array{5, 4, 8}, std::array{3, 1, 1},
          std::array{1, 5, 2}}) {
      tiling const t = cut_into_tiles(inner, width, height, depth);
      expect_walks_as_cells<1, 1>(extent, inner, t, depth);
      expect_walks_as_cells<2, 1>(extent, inner, t, depth);
      expect_walks_as_cells<1, 2>(extent, inner, t, depth);
      for (int const places : {passing_places + 1, passing_places + 4}) {
        if (places >= depth) continue;
        expect_walks_as_cells<1, 1>(extent, inner, t, places);
        expect_walks_as_cells<2, 1>(extent, inner, t, places);
      }
    }
  }
}

}  // namespace
}  // namespace heat3d
