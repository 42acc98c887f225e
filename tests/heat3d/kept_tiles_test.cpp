// Tiles that blocks of threads keep: which they are, what is beyond their sides, and how they are computed.

#include <gtest/gtest.h>

#include <algorithm>
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
  ASSERT_GT(t.tile_n(), 0);
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

  // Eight times as many cells: not twice. With two columns each some planes pass.
  box const larger{{0, 0, 0}, {200, 200, 200}};
  EXPECT_EQ(kept_tiling(larger, twice, threads, 132, bytes).tile_n(), 0);
  tiling const l = kept_tiling(larger, {2, 1}, 384, 132, bytes);
  ASSERT_GT(l.tile_n(), 0);
  EXPECT_LE(threads_for(l, 2), 384);
  EXPECT_GT(places_in(l, bytes, 1), passing_places);
  EXPECT_LT(places_in(l, bytes, 1), l.depth);
}

/// A tile as the block of threads has it that keeps it.
template <int columns, int copies>
class kept_by_block {
 public:
  kept_by_block(sweep_work const& w, tiling const& t, std::uint32_t number, int places)
      : tile_(w, t, number, places),
        own_(w, tile_, 0),
        copy_(static_cast<int>(places * plane_cells(t))),
        memory_(static_cast<std::size_t>(copies * copy_), 1e300) {
    own_.for_kept_cells(tile_, [&](int kept, int field) { memory_[kept] = w.from[field]; });
  }

  void walk(sweep_work const& w, int step) {
    auto const barrier = [] {};
    int const other = copies == 1 ? 0 : step % 2 == 0 ? copy_ : -copy_;
    tile_walk<double, columns, copies, decltype(barrier)>(w, tile_, own_, present(step), other, barrier)
        .run();
  }

  /// Of cells in the field: only those that others read, or that do not stay, are new there. Then all of them are put there.
  void expect_as_cells(sweep_work const& w, int step, double& radiated) {
    double const* const stays = present(step + 1);
    auto const at_side = [&](int x, int y, int z) {
      return x == 0 || y == 0 || z == 0 || x + 1 == tile_.n[0] || y + 1 == tile_.n[1] || z + 1 == tile_.n[2];
    };
    for (int z = 0; z < tile_.n[2]; ++z) {
      for (int y = 0; y < tile_.n[1]; ++y) {
        for (int x = 0; x < tile_.n[0]; ++x) {
          auto const [kept, first] = tile_.cell(x, y);
          int const at = first + z * tile_.field_plane();
          auto const cell = neighbors_of(w, tile_.low[0] + x, tile_.low[1] + y, tile_.low[2] + z);
          double const expected = advanced_as<double>(cell, w.k);
          radiated += cell.exposed * fourth_power(cell.c);
          EXPECT_EQ(w.to[at], at_side(x, y, z) || z >= tile_.kept ? expected : untouched)
              << x << ' ' << y << ' ' << z;
          if (z < tile_.kept) {
            ASSERT_EQ(stays[kept + z * tile_.plane], expected) << x << ' ' << y << ' ' << z;
          }
          w.to[at] = expected;
        }
      }
    }
    own_.for_each([&](column_stack<columns> const& stack, stack_walk<columns> const& walk) {
      radiated -= walk.radiated;
      for (int i = 0; i < columns; ++i) {
        if (!stack.is_there[i]) continue;
        auto least = ~std::uint32_t{0};
        for (int z = 0; z < tile_.n[2]; ++z)
          least = std::min(least,
                           size_code(w.to[stack.at.field + i * stack.field_row + z * tile_.field_plane()]));
        EXPECT_EQ(walk.least[i], least);
      }
    });
  }

  static constexpr double untouched = -1;

 private:
  double* present(int step) { return memory_.data() + (copies == 2 && step % 2 != 0 ? copy_ : 0); }

  kept_tile tile_;
  own_columns<columns> own_;
  int copy_;
  std::vector<double> memory_;
};

/// Computes `inner` in tiles as blocks of threads do, for some steps, and compares with cells that are computed one by one.
template <int columns, int copies>
void expect_walks_as_cells(triple const& extent, box const& inner, tiling const& t, int places) {
  SCOPED_TRACE(testing::Message() << columns << " columns, " << copies << " copies, " << places
                                  << " places of " << t.width << " x " << t.height << ", " << t.depth
                                  << " planes");
  using block = kept_by_block<columns, copies>;
  std::vector<double> from(static_cast<std::size_t>(extent[0] * extent[1] * extent[2]));
  std::minstd_rand random(7);
  for (auto& value : from) value = std::uniform_real_distribution(0.0, 2.0)(random);
  // Cold cells, too, so that small numbers come to columns at the edge of them.
  for (std::size_t i = from.size() / 2; i < from.size(); ++i) from[i] = i % 5 == 0 ? 1e-300 : 0;
  sweep_work w = work_of(extent, inner);
  w.k = {0.1, 0.7, 0.3, 2.0};
  w.heated = true;
  w.from = from.data();
  std::vector<block> blocks;
  for (std::uint32_t number = 0; number < t.tile_n(); ++number) blocks.emplace_back(w, t, number, places);
  for (int step = 0; step < 3; ++step) {
    SCOPED_TRACE(testing::Message() << "step " << step);
    std::vector<double> to(from.size(), block::untouched);
    w.from = from.data();
    w.to = to.data();
    for (auto& each : blocks) each.walk(w, step);
    double radiated = 0;  // that was not found
    for (auto& each : blocks) each.expect_as_cells(w, step, radiated);
    EXPECT_NEAR(radiated, 0, 1e-9);
    // What is not in tiles stays as it is.
    for (std::size_t i = 0; i < to.size(); ++i) from[i] = to[i] == block::untouched ? from[i] : to[i];
  }
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
