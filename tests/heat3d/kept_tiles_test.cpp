// Tiles that blocks of threads keep: which they are, and what is beyond their sides.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "backends/kept_tiles.hpp"

namespace heat3d {
namespace {

/// A block of cells, of which some faces have neighbours: cells there are not in tiles.
sweep_work work_of(triple extent, box inner) {
  sweep_work w{};
  w.extent = extent;
  w.part = inner;
  return w;
}

TEST(kept_tiles, have_each_inner_cell_once) {
  for (box const inner :
       {box{{0, 0, 0}, {20, 17, 11}}, box{{1, 0, 1}, {20, 16, 10}}, box{{0, 1, 0}, {3, 2, 11}}}) {
    sweep_work const w = work_of({20, 17, 11}, inner);
    for (int tile_n : {1, 2, 5, 12, 100}) {
      tiling const t = kept_tiling(inner, 512, tile_n, 200'000);
      ASSERT_GT(t.tile_n(), 0);
      EXPECT_LE(t.tile_n(), tile_n);
      std::vector<int> times(20 * 17 * 11);
      for (std::uint32_t number = 0; number < t.tile_n(); ++number) {
        kept_tile const tile(w, t, number);
        EXPECT_EQ(tile.place.number_in(t), number);
        std::set<int> places;
        for (int z = 0; z < tile.n[2]; ++z) {
          for (int y = 0; y < tile.n[1]; ++y) {
            for (int x = 0; x < tile.n[0]; ++x) {
              ++times[tile.in_field(x, y, z)];
              int const place = tile.kept(x, y, z);
              EXPECT_GE(place, 0);
              EXPECT_LT(place, cells_kept(t));
              EXPECT_TRUE(places.insert(place).second) << "two cells at " << place;
            }
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
  tiling const t = kept_tiling(inner, 30, 100, 100'000);
  for (std::uint32_t number = 0; number < t.tile_n(); ++number) {
    kept_tile const tile(w, t, number);
    std::map<int, int> expected;  // by place in memory, that in the field
    auto const expect = [&](int x, int y, int z) {
      int const at[3] = {tile.low[0] + x, tile.low[1] + y, tile.low[2] + z};
      for (int d = 0; d < 3; ++d) {
        if (at[d] < 0 || at[d] >= w.extent[d]) return;
      }
      expected[tile.kept(x, y, z)] = at[0] + 12 * (at[1] + 10 * at[2]);
    };
    auto const [n_x, n_y, n_z] = tile.n;
    for (int i = 0; i < 12; ++i) {
      for (int j = 0; j < 12; ++j) {
        for (int const end : {0, 1}) {
          if (i < n_y && j < n_z) expect(end == 0 ? -1 : n_x, i, j);
          if (i < n_x && j < n_z) expect(i, end == 0 ? -1 : n_y, j);
          if (i < n_x && j < n_y) expect(i, j, end == 0 ? -1 : n_z);
        }
      }
    }
    ASSERT_EQ(tile.side_n(), expected.size());
    EXPECT_LE(tile.side_n(), most_sides(t));
    for (std::uint32_t i = 0; i < tile.side_n(); ++i) {
      auto const [kept, field] = tile.side(i);
      auto const found = expected.find(static_cast<int>(kept));
      ASSERT_NE(found, expected.end()) << "tile " << number << ", side cell " << i;
      EXPECT_EQ(static_cast<int>(field), found->second);
      expected.erase(found);
    }
  }
}

TEST(kept_tiles, are_none_where_they_do_not_fit) {
  box const inner{{0, 0, 0}, {100, 100, 100}};
  constexpr int threads = 512;
  constexpr std::int64_t bytes = 224'000;  // of an H100
  tiling const t = kept_tiling(inner, threads, 132, bytes);
  ASSERT_GT(t.tile_n(), 0);
  EXPECT_LE(t.width * t.height, threads);
  EXPECT_LE(bytes_kept(t), bytes);
  EXPECT_EQ(kept_tiling(inner, threads, 60, bytes).tile_n(), 0) << "too few blocks of threads";
  EXPECT_EQ(kept_tiling(inner, threads, 132, bytes / 2).tile_n(), 0) << "too little memory";
  EXPECT_EQ(kept_tiling(inner, 64, 132, bytes).tile_n(), 0) << "too few threads";
  EXPECT_EQ(kept_tiling(inner, threads, 0, bytes).tile_n(), 0) << "no blocks of threads";
  EXPECT_EQ(kept_tiling({{1, 1, 1}, {1, 9, 9}}, threads, 132, bytes).tile_n(), 0) << "no cells";
}

}  // namespace
}  // namespace heat3d
