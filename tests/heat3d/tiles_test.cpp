// Tiles of inner cells, and which of them need care: the field must be that of flushing after every operation, bit for bit.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "backends/host_tiles.hpp"
#include "problem/decomposition.hpp"

namespace heat3d {
namespace {

using field = std::vector<double>;

constexpr coefficients usual{0.1, 0.8, 1.0, 1.0};
/// A step takes 1e-20 of a cell to the next: what spreads becomes too small within few cells, and stays so.
constexpr coefficients slow{0.1, 1e-19, 1.0, 1.0};

std::vector<std::uint64_t> bits_of(field const& values) {
  std::vector<std::uint64_t> bits;
  for (double v : values) bits.push_back(std::bit_cast<std::uint64_t>(v));
  return bits;
}

/// A block, of which some faces have neighbours.
class block_of_cells {
 public:
  /// Zero, but for a ball in the middle, somewhat aside in x, y and z, which makes tiles there ordinary ones.
  block_of_cells(triple extent, std::vector<face> const& neighbors, int ball, int aside = 0)
      : inner_(without(extent, neighbors)), tiles_(tiling_of(inner_, 5, 3, {200, 1})), flags_(tiles_) {
    for (face f : neighbors) has_[f] = true;
    work_ = {nullptr, nullptr, {}, extent, inner_, slow, false, tiny_limit(slow, true), 0, true};
    auto const [nx, ny, nz] = extent;
    for (std::int64_t z = 0; z < nz; ++z) {
      for (std::int64_t y = 0; y < ny; ++y) {
        for (std::int64_t x = 0; x < nx; ++x) {
          auto const off = [&](std::int64_t at, std::int64_t n) { return std::abs(at - n / 2 - aside); };
          bool const within = off(x, nx) + off(y, ny) + off(z, nz) < ball;
          now_.push_back(within ? 1 + static_cast<double>(random_() % 1000) / 1000 : 0);
        }
      }
    }
  }

  void check_step() {
    for (int f = 0; f < face_n; ++f) {
      if (!has_[f]) continue;
      halos_[f].assign(static_cast<std::size_t>(face_cells(work_.extent, face(f))), 0);
      // What a cell at the face takes of it is still a number; what the next cell takes of that is none.
      for (double& v : halos_[f]) {
        if (random_() % 50 == 0) v = std::pow(10.0, -265 - static_cast<double>(random_() % 20));
      }
      work_.halos[f] = halos_[f].data();
    }
    field next(now_.size(), std::nan(""));
    work_.from = now_.data();
    work_.to = next.data();

    field expected(now_.size());
    auto const [nx, ny, nz] = work_.extent;
    for (std::int64_t z = 0; z < nz; ++z) {
      for (std::int64_t y = 0; y < ny; ++y) {
        for (std::int64_t x = 0; x < nx; ++x)
          expected[position(work_.extent, x, y, z)] =
              advanced_as<flushing>(neighbors_of(work_, x, y, z), slow);
      }
    }
    count_careful();
    flags_.sweep(work_, [](swept const&) {});
    sweep_faces();
    ASSERT_EQ(bits_of(next), bits_of(expected)) << "step " << flags_.device().clock.number(work_.parity);
    now_ = next;
    work_.parity ^= 1;
  }

  std::int64_t careful = 0;  ///< tiles of the last step
  std::int64_t tile_n() const { return tiles_.tile_n(); }

 private:
  static box without(triple extent, std::vector<face> const& faces) {
    box inner{{0, 0, 0}, extent};
    for (face f : faces) is_high(f) ? --inner.high[axis_of(f)] : ++inner.low[axis_of(f)];
    return inner;
  }
  void count_careful() {
    careful = 0;
    for (tile_place t{0, 0, 0}; t.z < tiles_.n_z; ++t.z) {
      for (t.y = 0; t.y < tiles_.n_y; ++t.y) {
        for (t.x = 0; t.x < tiles_.n_x; ++t.x) careful += flags_.device().need_care(work_, t);
      }
    }
  }
  /// All cells that are not inner ones, some of them twice.
  void sweep_faces() {
    for (int f = 0; f < face_n; ++f) {
      if (!has_[f]) continue;
      auto w = work_;
      w.part = {{0, 0, 0}, work_.extent};
      auto const d = axis_of(face(f));
      (is_high(face(f)) ? w.part.low[d] : w.part.high[d]) = is_high(face(f)) ? work_.extent[d] - 1 : 1;
      for (std::uint32_t i = 0; i < w.part.cell_n(); ++i) sweep_cell(w, flags_.device(), i);
    }
  }

  std::mt19937_64 random_{1};
  bool has_[face_n]{};
  box inner_;
  tiling tiles_;
  host_tile_flags flags_;
  sweep_work work_{};
  field now_;
  field halos_[face_n];
};

TEST(tiles, same_field_as_with_care_everywhere) {
  // Small numbers spread in all directions, and cross edges of tiles as the smallest that there are.
  for (triple const extent : {triple{55, 12, 11}, {11, 51, 12}, {12, 11, 55}}) {
    for (int aside = 0; aside < 5; ++aside) {
      block_of_cells cells(extent, {}, 4, aside);
      for (int step = 0; step < 25; ++step) {
        ASSERT_NO_FATAL_FAILURE(cells.check_step());
        if (step == 0) {
          EXPECT_EQ(cells.careful, cells.tile_n());
        } else {
          EXPECT_LT(cells.careful, cells.tile_n());
        }
      }
      EXPECT_GT(cells.careful, 0);
    }
  }
}

TEST(tiles, same_field_beside_neighbors) {
  for (auto const& faces :
       {std::vector<face>{left}, {right, up}, {front, back}, {left, right, down, up, front, back}}) {
    block_of_cells cells({22, 16, 19}, faces, 0);
    for (int step = 0; step < 12; ++step) ASSERT_NO_FATAL_FAILURE(cells.check_step());
    EXPECT_LT(cells.careful, cells.tile_n());
  }
}

TEST(tiles, are_few_and_deep) {
  constexpr device_room room{132, 5};
  constexpr int blocks = room.processors * room.blocks;
  for (std::int64_t const edge : {4, 33, 100, 101, 200, 400, 800}) {
    box const inner{{1, 0, 2}, {1 + edge, edge, 2 + edge}};
    auto const t = tiling_of(inner, 256, room);
    EXPECT_LE(t.width * t.height, 256);
    EXPECT_GE(std::int64_t{t.n_x} * t.width, edge);
    EXPECT_LT(std::int64_t{t.n_x - 1} * t.width, edge);
    EXPECT_GE(std::int64_t{t.n_y} * t.height, edge);
    EXPECT_GE(std::int64_t{t.n_z} * t.depth, edge);
    EXPECT_LT(std::int64_t{t.n_z - 1} * t.depth, edge);
    if (edge >= 100) {
      EXPECT_GE(t.tile_n(), blocks / 2);
    }
  }
  EXPECT_EQ(tiling_of(box{{1, 1, 1}, {1, 5, 5}}, 256, room).tile_n(), 0);
  // What fits at once is not cut into several rounds.
  EXPECT_LE(tiling_of(box{{0, 0, 0}, {400, 200, 200}}, 256, room).tile_n(), blocks);
  EXPECT_LE(tiling_of(box{{0, 1, 1}, {400, 200, 200}}, 256, room).tile_n(), blocks);
}

/// The proof at least_without_care(): such numbers need no flushing, whatever they cancel.
TEST(tiles, numbers_above_the_limit_need_no_care) {
  std::mt19937_64 random(1);
  auto const power_of_ten = [&](double least, double most) {
    return random() % 6 == 0 ? 0.0
                             : std::pow(10.0, std::uniform_real_distribution<double>(least, most)(random));
  };
  for (int round = 0; round < 1000000; ++round) {
    double const dt = random() % 4 == 0 ? 1e-4 : 1e-4 + static_cast<double>(random() % 1000) / 1001;
    coefficients k{dt, power_of_ten(-20, 3), power_of_ten(-300, 14), power_of_ten(-287, 3)};
    if (random() % 4 == 0) k = usual;
    double const least = least_without_care(k) * 1.000001;
    auto const limit = tiny_limit(k, true);
    // Many near the limit, where products of them are denormal, and near the numbers whose powers are.
    auto const number = [&] {
      switch (random() % 8) {
        case 0:
          return least;
        case 1:
          return least * (1 + static_cast<double>(random() % 1000) / 10);
        case 2:
          return power_of_ten(-78, -76);
        case 3:
          return power_of_ten(-104, -102);
        case 4:
          return power_of_ten(-155, -153);
        default:
          return power_of_ten(std::log10(least) + 0.001, 3);
      }
    };
    auto const beside = [&](double c) {
      double const v = random() % 2 == 0 ? std::nextafter(c, random() % 2 == 0 ? 0.0 : 1e9) : number();
      return v < least ? 0.0 : v;
    };
    double const c = number();
    neighborhood const a{c,         beside(c), beside(c),
                         beside(c), beside(c), beside(c),
                         beside(c), k.power,   static_cast<int>(random() % 7)};
    for (double v : {a.c, a.x_low, a.x_high, a.y_low, a.y_high, a.z_low, a.z_high})
      ASSERT_FALSE(is_tiny(v, limit));
    ASSERT_EQ(std::bit_cast<std::uint64_t>(advanced_as<double>(a, k)),
              std::bit_cast<std::uint64_t>(advanced_as<flushing>(a, k)))
        << round << ": " << k.dt << ' ' << k.q << ' ' << k.sigma << ' ' << k.power;
  }
  // Not far above what is needed, since care costs time.
  EXPECT_LT(least_without_care({0.1, 1, 1, 1}), 1e-289);
}

TEST(tiles, unusual_constants_need_care_everywhere) {
  auto const with = [](double coefficients::*what, double value) {
    auto k = usual;
    k.*what = value;
    return tiny_limit(k, true);
  };
  EXPECT_FALSE(is_tiny(1e-289, tiny_limit(usual, true)));
  for (auto const limit : {with(&coefficients::dt, 1e-5), with(&coefficients::dt, 2),
                           with(&coefficients::q, 1e-21), with(&coefficients::sigma, 1e16),
                           with(&coefficients::sigma, -1), with(&coefficients::power, 1e-288)}) {
    EXPECT_TRUE(is_tiny(1e300, limit));
  }
  EXPECT_EQ(tiny_limit(usual, false), 0U);
}

}  // namespace
}  // namespace heat3d
