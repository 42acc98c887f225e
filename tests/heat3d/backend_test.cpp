// Back ends against a plain rendering of the definition, on one block and on many blocks that exchange halos.

#include "backends/backend.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "problem/problem.hpp"

namespace heat3d {
namespace {

using field = std::vector<double>;

field random_field(triple const& n) {
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> between(0.1, 0.9);
  field f(n[0] * n[1] * n[2]);
  for (auto& value : f) value = between(generator);
  return f;
}

/// One step by the definition, cell by cell, with the sums of the field and of what is radiated.
struct defined_step {
  field next;
  double sum = 0;
  double radiated = 0;
};
defined_step step_by_definition(triple const& n, field const& now, coefficients const& k) {
  defined_step s{field(now.size()), 0, 0};
  for (std::int64_t z = 0; z < n[2]; ++z) {
    for (std::int64_t y = 0; y < n[1]; ++y) {
      for (std::int64_t x = 0; x < n[0]; ++x) {
        double const c = now[position(n, x, y, z)];
        double sum = 0;
        int exposed = 0;
        for (auto const& d : {triple{-1, 0, 0}, triple{1, 0, 0}, triple{0, -1, 0}, triple{0, 1, 0},
                              triple{0, 0, -1}, triple{0, 0, 1}}) {
          triple const at{x + d[0], y + d[1], z + d[2]};
          bool const inside =
              at[0] >= 0 && at[0] < n[0] && at[1] >= 0 && at[1] < n[1] && at[2] >= 0 && at[2] < n[2];
          if (inside) {
            sum += now[position(n, at[0], at[1], at[2])] - c;
          } else {
            ++exposed;
          }
        }
        double const rate = k.q * sum + (x == 0 ? k.power : 0.0) - k.sigma * exposed * (c * c * c * c);
        s.next[position(n, x, y, z)] = c + k.dt * rate;
        s.sum += c;
        s.radiated += exposed * (c * c * c * c);
      }
    }
  }
  return s;
}

/// Blocks of a domain in one process; halos are passed by hand.
class blocks {
 public:
  blocks(triple const& domain, process_grid const& grid, std::string const& name) : domain_(domain) {
    for (int r = 0; r < grid[0] * grid[1] * grid[2]; ++r) {
      own_.push_back(make_block(domain, grid, r));
      engines_.push_back(make_backend(name, {own_.back(), domain}));
      planes_.emplace_back();
      for (int f = 0; f < face_n; ++f) {
        if (own_.back().has_neighbor(face(f)))
          planes_.back()[f].resize(face_cells(own_.back().extent(), face(f)));
      }
    }
  }

  void load(field const& whole) {
    each_cell([&](std::size_t r, field& part) { engines_[r]->load(part); }, whole);
  }
  field store() const {
    field whole(domain_[0] * domain_[1] * domain_[2]);
    for (std::size_t r = 0; r < own_.size(); ++r) {
      field part(own_[r].cells.cell_n());
      engines_[r]->store(part);
      std::size_t i = 0;
      visit(own_[r].cells, [&](std::int64_t at) { whole[at] = part[i++]; });
    }
    return whole;
  }

  block_sums step(coefficients const& k, bool sum_field) {
    for (std::size_t r = 0; r < own_.size(); ++r) {
      for (int f = 0; f < face_n; ++f) {
        if (!own_[r].has_neighbor(face(f))) continue;
        engines_[r]->pack_async(face(f), planes_[own_[r].neighbor[f]][opposite(face(f))].data());
        engines_[r]->packed(face(f));
      }
    }
    block_sums sums;
    for (std::size_t r = 0; r < own_.size(); ++r) {
      halo_planes halos{};
      for (int f = 0; f < face_n; ++f)
        halos[f] = own_[r].has_neighbor(face(f)) ? planes_[r][f].data() : nullptr;
      engines_[r]->launch_inner(k, sum_field);
      engines_[r]->complete_inner();
      engines_[r]->surface(halos);
      auto const part = engines_[r]->update();
      sums.field.add(part.field);
      sums.radiated.add(part.radiated);
    }
    return sums;
  }

 private:
  template <class Use>
  void visit(box const& cells, Use use) const {
    for (auto z = cells.low[2]; z < cells.high[2]; ++z) {
      for (auto y = cells.low[1]; y < cells.high[1]; ++y) {
        for (auto x = cells.low[0]; x < cells.high[0]; ++x) use(position(domain_, x, y, z));
      }
    }
  }
  template <class Use>
  void each_cell(Use use, field const& whole) {
    for (std::size_t r = 0; r < own_.size(); ++r) {
      field part;
      visit(own_[r].cells, [&](std::int64_t at) { part.push_back(whole[at]); });
      use(r, part);
    }
  }

  triple domain_;
  std::vector<block> own_;
  std::vector<std::unique_ptr<backend>> engines_;
  std::vector<std::array<field, face_n>> planes_;
};

struct shape {
  triple domain;
  process_grid grid;
};

std::vector<shape> shapes() {
  return {{{1, 1, 1}, {1, 1, 1}},    {{2, 2, 2}, {1, 1, 1}},  {{2, 2, 2}, {2, 2, 2}},
          {{17, 1, 1}, {1, 1, 1}},   {{1, 9, 4}, {1, 1, 1}},  {{30, 20, 14}, {1, 1, 1}},
          {{30, 20, 14}, {2, 2, 2}}, {{11, 7, 5}, {3, 1, 2}}, {{11, 7, 5}, {11, 1, 1}},
          {{6, 6, 6}, {3, 3, 3}},    {{3, 3, 3}, {3, 3, 3}},  {{40, 3, 3}, {5, 1, 3}},
          {{9, 8, 7}, {1, 8, 1}},    {{9, 8, 7}, {1, 1, 7}}};
}

/// The names of back ends that can be made in one process many times (Kokkos starts and ends
/// once per process).
class backends : public testing::TestWithParam<std::string> {};

TEST_P(backends, follow_the_definition_bit_for_bit_on_every_grid) {
  coefficients const k{0.1, 0.8, 2.0, 3.0};
  for (auto const& s : shapes()) {
    auto now = random_field(s.domain);
    blocks tested(s.domain, s.grid, GetParam());
    tested.load(now);
    for (int step = 0; step < 4; ++step) {
      auto const expected = step_by_definition(s.domain, now, k);
      bool const sum_field = step % 2 == 0;
      auto const sums = tested.step(k, sum_field);
      now = expected.next;
      ASSERT_EQ(tested.store(), now) << "domain " << s.domain[0] << "x" << s.domain[1] << "x" << s.domain[2]
                                     << " grid " << s.grid[0] << "x" << s.grid[1] << "x" << s.grid[2];
      EXPECT_NEAR(sums.radiated.value() / expected.radiated, 1, 1e-12);
      if (sum_field) {
        EXPECT_NEAR(sums.field.value() / expected.sum, 1, 1e-13);
      }
    }
  }
}

TEST_P(backends, scan_finds_sum_and_extremes) {
  triple const n{13, 11, 7};
  blocks tested(n, {1, 1, 1}, GetParam());
  auto values = random_field(n);
  values[5] = -2;
  values[900] = 3;
  auto const engine = make_backend(GetParam(), {make_block(n, {1, 1, 1}, 0), n});
  engine->load(values);
  auto const found = engine->scan();
  double sum = 0;
  for (double v : values) sum += v;
  EXPECT_EQ(found.min, -2);
  EXPECT_EQ(found.max, 3);
  EXPECT_NEAR(found.sum.value(), sum, 1e-10);
}

INSTANTIATE_TEST_SUITE_P(plain, backends, testing::Values("plain", "plain-fused"),
                         [](auto const& each) { return each.param == "plain" ? "plain" : "fused"; });

TEST(backends, are_found_by_name) {
  EXPECT_TRUE(backend_exists("plain"));
  EXPECT_TRUE(backend_exists("plain-fused"));
  EXPECT_FALSE(backend_exists("plainer"));
  EXPECT_NE(backend_names().find("plain, plain-fused"), std::string::npos);
}

TEST(compensated_sum, keeps_what_a_plain_sum_drops) {
  compensated_sum sum;
  sum.add(1e16);
  for (int i = 0; i < 1000; ++i) sum.add(1.0);
  sum.add(-1e16);
  EXPECT_EQ(sum.value(), 1000);
}

}  // namespace
}  // namespace heat3d
