// Plans of all ranks of a job, built, compared with each other and carried out in one process.

#include "grid/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "local_ranks.hpp"

namespace hpgmg {
namespace {

/// What goes through the network in one phase, as the reference counts it.
struct traffic {
  int messages = 0;
  int most_messages = 0;
  std::ptrdiff_t doubles = 0;
  std::ptrdiff_t most_doubles = 0;
  std::size_t locals = 0;

  void add(plan const& p) {
    std::set<int> peers;
    std::ptrdiff_t mine = 0;
    for (region const& r : p.sends) {
      peers.insert(r.peer);
      mine += r.size();
    }
    int const count = static_cast<int>(peers.size());
    messages += count;
    most_messages = std::max(most_messages, count);
    doubles += mine;
    most_doubles = std::max(most_doubles, mine);
    locals += p.locals.size();
  }
  bool operator==(traffic const&) const = default;
};

void PrintTo(traffic const& t, std::ostream* out) {
  *out << t.messages << "/" << t.most_messages << " messages, " << t.doubles << "/" << t.most_doubles
       << " doubles, " << t.locals << " locals";
}

/// What A sends to B is what B receives from A, in this order, and neither lists itself.
void expect_mutual(std::vector<plan> const& plans) {
  std::map<std::pair<int, int>, std::vector<region>> sent;
  std::map<std::pair<int, int>, std::vector<region>> received;
  for (int r = 0; r < static_cast<int>(plans.size()); ++r) {
    auto const& p = plans[static_cast<std::size_t>(r)];
    auto const by_peer = [](region const& a, region const& b) { return a.peer < b.peer; };
    EXPECT_TRUE(std::is_sorted(p.sends.begin(), p.sends.end(), by_peer));
    EXPECT_TRUE(std::is_sorted(p.receives.begin(), p.receives.end(), by_peer));
    for (region const& x : p.sends) sent[{r, x.peer}].push_back(x);
    for (region const& x : p.receives) received[{x.peer, r}].push_back(x);
    EXPECT_FALSE(sent.contains({r, r}));
    EXPECT_FALSE(received.contains({r, r}));
  }
  ASSERT_EQ(sent.size(), received.size());
  for (auto const& [pair, list] : sent) {
    auto const& other = received[pair];
    ASSERT_EQ(list.size(), other.size()) << pair.first << " to " << pair.second;
    for (std::size_t i = 0; i < list.size(); ++i) {
      bool const same = list[i].extent == other[i].extent && list[i].source == other[i].source &&
                        list[i].destination == other[i].destination &&
                        list[i].source_step == other[i].source_step &&
                        list[i].destination_step == other[i].destination_step;
      EXPECT_TRUE(same) << pair.first << " to " << pair.second << ", region " << i;
    }
  }
}

struct exchange_case {
  int ranks;
  grid_shape shape;
  int ghosts;
  bool periodic;
  box_order order;
};

/// Every ghost gets the value of the cell that it stands for, and nothing else is written.
void expect_exchange(exchange_case const& c, ghost_shape shape, int normal) {
  SCOPED_TRACE(testing::Message() << c.ranks << " ranks, " << c.shape.boxes << "^3 boxes of " << c.shape.box
                                  << ", " << c.ghosts << " ghosts, "
                                  << (c.periodic ? "periodic" : "Dirichlet") << ", order "
                                  << static_cast<int>(c.order) << ", shape " << static_cast<int>(shape)
                                  << ", normal " << normal);
  every_rank all(c.ranks, c.shape, c.ghosts, c.periodic, c.order);
  int const n = c.shape.box;
  int const cells = c.shape.cells;
  int const g = c.ghosts;
  constexpr double untouched = -1;
  auto const value = [&](box_index at) { return at[0] + (cells + 1.0) * (at[1] + (cells + 1.0) * at[2]); };
  // Faces on the upper wall belong to the domain, too.
  auto const in_domain = [&](box_index at) {
    for (int d = 0; d < 3; ++d) {
      if (at[static_cast<std::size_t>(d)] < 0) return false;
      if (at[static_cast<std::size_t>(d)] >= cells + (d == normal && !c.periodic ? 1 : 0)) return false;
    }
    return true;
  };
  auto const for_all = [&](auto&& f) {
    for (int r = 0; r < all.size(); ++r) {
      for (auto const& own : all[r].boxes()) {
        box_index const first = all[r].first_cell(own);
        for (int k = -g; k < n + g; ++k) {
          for (int j = -g; j < n + g; ++j) {
            for (int i = -g; i < n + g; ++i) {
              box_index const at{i, j, k};
              int direction = 0;
              for (int d = 2; d >= 0; --d) {
                int const x = at[static_cast<std::size_t>(d)];
                direction = 3 * direction + (x < 0 ? 0 : x < n ? 1 : 2);
              }
              f(all[r], own, box_index{first[0] + i, first[1] + j, first[2] + k}, direction,
                all[r].cells(own, 0)[all[r].layout().at(i, j, k)]);
            }
          }
        }
      }
    }
  };
  // A box knows its cells, and the faces on the wall.
  auto const known = [&](level const& l, level::own_box const& own, int direction) {
    if (direction == 13) return true;
    if (normal < 0) return false;
    std::array<int, 3> up{};
    up[static_cast<std::size_t>(normal)] = 1;
    return components(direction) == up && l.neighbor(own.at, up) < 0;
  };
  for_all([&](level const& l, auto const& own, box_index at, int direction, double& cell) {
    cell = known(l, own, direction) && in_domain(at) ? value(at) : untouched;
  });
  std::vector<plan> plans;
  for (int r = 0; r < all.size(); ++r) plans.push_back(plan_exchange(all[r], shape, normal));
  expect_mutual(plans);
  for (int r = 0; r < all.size(); ++r) {
    auto const& p = plans[static_cast<std::size_t>(r)];
    for (region const& x : p.locals)
      copy_cells(p.destination->local + x.destination, p.source->local + x.source, x);
    for (region const& x : p.sends)
      copy_cells(all[x.peer].memory().local + x.destination, p.source->local + x.source, x);
  }
  int wrong = 0;
  for_all([&](level const& l, auto const& own, box_index at, int direction, double& cell) {
    double expected = untouched;
    if (known(l, own, direction)) {
      expected = in_domain(at) ? value(at) : untouched;
    } else {
      // The wall's faces of the box beside are in the direction without the step up.
      auto step = components(direction);
      if (normal >= 0 && step[static_cast<std::size_t>(normal)] > 0 && !c.periodic &&
          own.at[static_cast<std::size_t>(normal)] == c.shape.boxes - 1)
        step[static_cast<std::size_t>(normal)] = 0;
      int const via = 13 + step[0] + 3 * step[1] + 9 * step[2];
      bool const filled = in_shape(shape, via) && l.neighbor(own.at, step) >= 0;
      if (c.periodic) {
        for (int& x : at) x = (x + cells) % cells;
      }
      if (filled && in_domain(at)) expected = value(at);
    }
    wrong += cell == expected ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(plan, an_exchange_fills_the_ghosts_of_its_shape) {
  using enum box_order;
  exchange_case const cases[] = {
      {1, {8, 4, 2, 1}, 2, false, morton},   {1, {4, 4, 1, 1}, 2, true, morton},
      {3, {8, 4, 2, 3}, 1, true, bisection}, {8, {12, 4, 3, 8}, 2, false, morton},
      {8, {12, 4, 3, 8}, 2, true, morton},   {8, {6, 2, 3, 3}, 2, true, lexicographic},
      {9, {6, 2, 3, 3}, 1, false, primes},   {5, {8, 2, 4, 5}, 2, false, lexicographic},
      {12, {2, 1, 2, 12}, 1, true, morton},
  };
  for (auto const& c : cases) {
    for (auto const shape : {ghost_shape::box, ghost_shape::star, ghost_shape::no_corners})
      expect_exchange(c, shape, -1);
    for (int normal = 0; normal < 3; ++normal) expect_exchange(c, ghost_shape::box, normal);
  }
}

traffic exchange_traffic(int ranks, int cells, int box, int ghosts, box_order order, ghost_shape shape) {
  every_rank all(ranks, {cells, box, cells / box, ranks}, ghosts, false, order);
  traffic sum;
  for (int r = 0; r < ranks; ++r) sum.add(plan_exchange(all[r], shape));
  return sum;
}

TEST(plan, exchanges_move_as_much_as_those_of_the_reference) {
  using enum ghost_shape;
  auto const morton = box_order::morton;
  auto const lex = box_order::lexicographic;
  EXPECT_EQ(exchange_traffic(8, 64, 32, 1, morton, star), (traffic{24, 3, 24576, 3072, 0}));
  EXPECT_EQ(exchange_traffic(8, 64, 32, 1, morton, box), (traffic{56, 7, 25352, 3169, 0}));
  EXPECT_EQ(exchange_traffic(8, 32, 16, 1, morton, star), (traffic{24, 3, 6144, 768, 0}));
  EXPECT_EQ(exchange_traffic(8, 16, 8, 1, morton, star), (traffic{24, 3, 1536, 192, 0}));
  EXPECT_EQ(exchange_traffic(8, 64, 32, 2, morton, no_corners), (traffic{48, 6, 52224, 6528, 0}));
  EXPECT_EQ(exchange_traffic(8, 64, 32, 2, morton, box), (traffic{56, 7, 52288, 6536, 0}));
  EXPECT_EQ(exchange_traffic(8, 32, 16, 2, morton, no_corners), (traffic{48, 6, 13824, 1728, 0}));
  EXPECT_EQ(exchange_traffic(8, 16, 8, 2, morton, no_corners), (traffic{48, 6, 3840, 480, 0}));
  EXPECT_EQ(exchange_traffic(8, 64, 16, 1, morton, star), (traffic{24, 3, 24576, 3072, 192}));
  EXPECT_EQ(exchange_traffic(8, 64, 16, 1, lex, star), (traffic{20, 3, 32768, 5120, 160}));
  EXPECT_EQ(exchange_traffic(8, 32, 8, 1, lex, star), (traffic{20, 3, 8192, 1280, 160}));
  EXPECT_EQ(exchange_traffic(16, 64, 16, 2, lex, no_corners), (traffic{84, 8, 125952, 10752, 96}));
  EXPECT_EQ(exchange_traffic(16, 32, 8, 2, lex, no_corners), (traffic{84, 8, 38400, 3328, 96}));
}

/// Rows that the natural variants move one by one, by their length.
std::map<int, int> rows_of_an_inner_rank(int n, int ghosts, ghost_shape shape) {
  every_rank all(27, {3 * n, n, 3, 27}, ghosts, false, box_order::lexicographic);
  std::map<int, int> rows;
  for (region const& r : plan_exchange(all[13], shape).sends) rows[r.extent[0]] += r.extent[1] * r.extent[2];
  return rows;
}

TEST(plan, rows_of_the_natural_variants) {
  int const n = 16;
  EXPECT_EQ(rows_of_an_inner_rank(n, 1, ghost_shape::star), (std::map<int, int>{{1, 2 * n * n}, {n, 4 * n}}));
  EXPECT_EQ(rows_of_an_inner_rank(n, 2, ghost_shape::no_corners),
            (std::map<int, int>{{2, 2 * n * n + 16 * n}, {n, 8 * n + 16}}));
}

struct transfers {
  traffic down;
  traffic up;
  std::size_t local = 0;
};

transfers between(int ranks, grid_shape fine_shape, grid_shape coarse_shape, box_order order) {
  every_rank fine(ranks, fine_shape, 2, false, order);
  every_rank coarse(ranks, coarse_shape, 2, false, order);
  transfers t;
  std::vector<plan> up;
  for (int r = 0; r < ranks; ++r) {
    heap_arena scratch(interpolation_scratch(coarse[r], fine[r]));
    heap_arena landing(interpolation_landing(coarse[r], fine[r]));
    auto const p = plan_interpolation(coarse[r], fine[r], scratch, landing);
    t.up.add(p.moves);
    up.push_back(p.moves);
    // What is computed, and what lands, stays within its memory and apart.
    std::set<std::ptrdiff_t> slots;
    std::ptrdiff_t const box = std::ptrdiff_t{fine_shape.box} * fine_shape.box * fine_shape.box;
    for (auto const& x : p.parcels) {
      if (x.other >= 0) continue;
      EXPECT_TRUE(slots.insert(x.slot).second);
      EXPECT_LE(x.slot + box, static_cast<std::ptrdiff_t>(scratch.memory.size()));
    }
    slots.clear();
    for (auto const& x : p.landings) {
      EXPECT_TRUE(slots.insert(x.slot).second);
      EXPECT_LE(x.slot + box, static_cast<std::ptrdiff_t>(landing.memory.size()));
    }
  }
  expect_mutual(up);
  for (int normal = -1; normal < 3; ++normal) {
    std::vector<plan> down;
    for (int r = 0; r < ranks; ++r) {
      heap_arena scratch(restriction_scratch(fine[r], coarse[r]));
      auto const p = plan_restriction(fine[r], coarse[r], normal, scratch);
      EXPECT_EQ(p.parcels.size(), fine[r].boxes().size());
      for (auto const& x : p.moves.sends)
        EXPECT_LE(x.source + x.size(), static_cast<std::ptrdiff_t>(scratch.memory.size()));
      if (normal < 0) t.down.add(p.moves);
      if (normal < 0)
        t.local += static_cast<std::size_t>(
            std::ranges::count_if(p.parcels, [](auto const& x) { return x.other >= 0; }));
      down.push_back(p.moves);
    }
    expect_mutual(down);
  }
  return t;
}

TEST(plan, transfers_between_levels_move_as_much_as_those_of_the_reference) {
  auto const lex = box_order::lexicographic;
  // 16^3 in eight boxes to one box of 8^3, and back.
  auto t = between(8, {16, 8, 2, 8}, {8, 8, 1, 8}, box_order::morton);
  EXPECT_EQ(t.down.messages, 7);
  EXPECT_EQ(t.down.doubles, 7 * 64);
  EXPECT_EQ(t.up.messages, 7);
  EXPECT_EQ(t.up.most_messages, 7);
  EXPECT_EQ(t.up.doubles, 7 * 512);
  t = between(8, {32, 8, 4, 8}, {16, 8, 2, 8}, lex);
  EXPECT_EQ(t.down.messages, 12);
  EXPECT_EQ(t.down.doubles, 3072);
  EXPECT_EQ(t.local, 16U);
  EXPECT_EQ(t.up.messages, 12);
  EXPECT_EQ(t.up.doubles, 24576);
  t = between(8, {32, 8, 4, 8}, {16, 8, 2, 8}, box_order::morton);
  EXPECT_EQ(t.down.messages, 0);
  EXPECT_EQ(t.up.messages, 0);
  t = between(16, {32, 8, 4, 16}, {16, 8, 2, 16}, lex);
  EXPECT_EQ(t.down.messages, 28);
  EXPECT_EQ(t.down.doubles, 3584);
  EXPECT_EQ(t.up.messages, 28);
  EXPECT_EQ(t.up.doubles, 28672);
  t = between(16, {16, 8, 2, 16}, {8, 8, 1, 16}, lex);
  EXPECT_EQ(t.down.messages, 7);
  EXPECT_EQ(t.down.doubles, 448);
  // Halved boxes stay where they are.
  t = between(8, {64, 32, 2, 8}, {32, 16, 2, 8}, lex);
  EXPECT_EQ(t.down.messages, 0);
  EXPECT_EQ(t.up.messages, 0);
  // Fewer ranks on the way down, and boxes that become one.
  between(8, {24, 8, 3, 8}, {12, 4, 3, 8}, box_order::morton);
  between(27, {24, 8, 3, 27}, {12, 4, 3, 9}, box_order::morton);
  between(27, {12, 4, 3, 9}, {6, 2, 3, 3}, lex);
  between(27, {6, 2, 3, 3}, {3, 3, 1, 1}, lex);
}

}  // namespace
}  // namespace hpgmg
