// Transfers and ghost exchanges against what every point must hold, with ranks that lag, so that data that
// comes too early or too late is seen.

#include <atoll/array.hpp>

#include <algorithm>
#include <random>
#include <utility>

#include "multirank/common.hpp"
#include "multirank/extensions/uneven_boxes.hpp"

namespace {

using atl::array;
using atl::domain;
using atl::point;
using atl::shape;
using multirank::fields;
using multirank::lag;
using multirank::point_value;
using multirank::uneven_boxes;

/// The point of a periodic domain that stands for `p`.
template <int N>
point<N> wrapped(point<N> p, domain<N> const& all, domain<N> const& periodic) {
  for (int d = 0; d < N; ++d) {
    auto const period = static_cast<std::ptrdiff_t>(periodic.extent(d));
    while (period != 0 && p[d] < all.lower[d]) p[d] += period;
    while (period != 0 && p[d] >= all.upper[d]) p[d] -= period;
  }
  return p;
}

template <int N>
void expect_exchange(uneven_boxes<N> const& b, atl::ghost_exchange<double, N>& halo, int depth, shape which,
                     domain<N> const& periodic, int step, int field) {
  auto const offset = static_cast<std::ptrdiff_t>(field * static_cast<int>(b.field_elements));
  for (auto const& box : b.mine) {
    auto const here = box.moved(offset);
    for (point<N> const& p : here.domain().shrink(depth)) here[p] = point_value(p, step);
  }
  if (step % 3 == 0) {
    halo.start(offset, offset);
    while (!halo.test()) {
    }
  } else {
    halo.run(offset, offset);
  }
  lag(step);
  for (auto const& box : b.mine) {
    auto const here = box.moved(offset);
    auto const interior = here.domain().shrink(depth);
    for (point<N> const& p : here.domain()) {
      int away = 0;
      for (int d = 0; d < N; ++d) away += p[d] < interior.lower[d] || p[d] >= interior.upper[d] ? 1 : 0;
      int const most = which == shape::faces ? 1 : which == shape::faces_edges ? 2 : N;
      point<N> const original = wrapped(p, b.all, periodic);
      double const expected = away <= most && b.all.contains(original) ? point_value(original, step) : -1;
      ASSERT_EQ(here[p], expected) << "step " << step << ", field " << field << ", " << away << " away";
    }
  }
}

/// One decomposition, exchanged many times, with destinations that alternate and such that do not.
template <int N>
void expect_exchanges(domain<N> const& all, int cuts, int depth, shape which, domain<N> const& periodic,
                      unsigned seed, int steps, atl::transfer_options options = {}) {
  uneven_boxes<N> const b(all, cuts, depth, seed, upcxx::rank_n(), upcxx::rank_me());
  for (auto const m : b.memory) std::fill_n(m.local(), fields * b.field_elements, -1.0);
  bool const wraps = !periodic.empty() || periodic.upper != point<N>{};
  atl::ghost_exchange<double, N> halo(b.mine, depth, which, wraps ? std::optional(periodic) : std::nullopt,
                                      upcxx::world(), options);
  constexpr int pattern[] = {0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1};
  for (int step = 1; step <= steps; ++step) {
    expect_exchange(b, halo, depth, which, periodic, step, pattern[step % 13]);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace

using transfer_test = multirank::fixture;

TEST_F(transfer_test, ghosts_of_uneven_boxes_hold_what_their_owners_have) {
  expect_exchanges<3>({{-3, 0, 5}, {7, 9, 14}}, 2, 1, shape::faces, {}, 1, 40);
  expect_exchanges<3>({{-3, 0, 5}, {7, 9, 14}}, 3, 2, shape::faces_edges, {}, 2, 14);
  expect_exchanges<2>({{0, -40}, {31, 3}}, 4, 3, shape::all, {}, 3, 40);
}

TEST_F(transfer_test, boxes_go_straight_or_packed_or_some_of_either) {
  constexpr atl::transfer_options straight{false, 0};
  constexpr atl::transfer_options packed{false, 1 << 20};
  constexpr atl::transfer_options packed_after_handshakes{true, 1 << 20};
  expect_exchanges<3>({{-3, 0, 5}, {7, 9, 14}}, 2, 1, shape::faces, {}, 1, 30, straight);
  expect_exchanges<3>({{-3, 0, 5}, {7, 9, 14}}, 2, 1, shape::faces, {}, 1, 40, packed);
  expect_exchanges<2>({{0, -40}, {31, 3}}, 4, 3, shape::all, {}, 3, 40, packed);
  expect_exchanges<2>({{0, -40}, {31, 3}}, 4, 3, shape::all, {}, 3, 14, packed_after_handshakes);
}

TEST_F(transfer_test, periodic_domains_have_images_also_of_one_box) {
  domain<3> const cube{{0, 0, 0}, {8, 8, 8}};
  expect_exchanges<3>(cube, 2, 2, shape::all, cube, 4, 30);
  expect_exchanges<3>(cube, 1, 1, shape::faces, cube, 5, 14);
  expect_exchanges<3>(cube, 2, 1, shape::all, {{0, 0, 0}, {8, 0, 8}}, 6, 14);  // not in j
  // Ghosts deeper than the domain.
  expect_exchanges<1>({{2}, {5}}, 1, 7, shape::all, {{2}, {5}}, 7, 14);
  expect_exchanges<2>({{2, 2}, {5, 6}}, 1, 4, shape::all, {{2, 2}, {5, 6}}, 8, 14, {true});
}

TEST_F(transfer_test, ranks_of_a_host_share_messages) {
  constexpr atl::transfer_options together{.by_host = true};
  constexpr atl::transfer_options after_handshakes{.always_handshake = true, .by_host = true};
  domain<3> const cube{{0, 0, 0}, {8, 8, 8}};
  expect_exchanges<2>({{0, -40}, {31, 3}}, 4, 3, shape::all, {}, 3, 20, together);
  expect_exchanges<3>(cube, 2, 1, shape::all, cube, 4, 14, together);
  expect_exchanges<3>(cube, 2, 1, shape::all, cube, 9, 14, after_handshakes);
}

TEST_F(transfer_test, one_rank_feeds_the_others_which_send_nothing_back) {
  constexpr std::ptrdiff_t side = 32;
  constexpr std::ptrdiff_t field = side * side;
  domain<2> const all{{0, 0}, {side, side}};
  auto const memory = upcxx::new_array<double>(static_cast<std::size_t>(fields * field));
  array<double, 2> const mine(memory, all, atl::order::last_fastest);
  // Rank 0 has all points, each rank wants its rows, at a place of its own.
  std::vector<array<double, 2>> sources;
  std::vector<array<double, 2>> destinations;
  if (me == 0) sources.push_back(mine);
  auto const rows = atl::make_array<double>(domain<3>{{0, 0, 0}, {side, side, fields}});
  domain<2> const wanted{{0, side * me / n}, {side, side * (me + 1) / n}};
  destinations.push_back(array<double, 2>(rows.view().data(), all).restrict_to(wanted));
  atl::transfer<double, 2> straight(sources, destinations, {false, 0});
  atl::transfer<double, 2> packed(sources, destinations, {false, 1 << 20});
  std::size_t elsewhere = 0;  // to other hosts all travels packed
  multirank::shared_array<int> const places(1);
  for (int r = 0; r < n; ++r) elsewhere += places.at(r).is_local() ? 0U : 1U;
  EXPECT_EQ(straight.statistics().packed, me == 0 ? elsewhere : 0U);
  EXPECT_EQ(packed.statistics().packed, packed.messages());
  EXPECT_EQ(straight.statistics().neighbors, static_cast<std::size_t>(me == 0 ? n - 1 : n == 1 ? 0 : 1));
  EXPECT_EQ(straight.elements(), me == 0 ? static_cast<std::size_t>(field - side * (side / n)) : 0U);
  EXPECT_EQ(straight.messages(), static_cast<std::size_t>(me == 0 ? n - 1 : 0));
  EXPECT_EQ(straight.statistics().local_copies, me == 0 ? 1U : 0U);
  for (int step = 1; step <= 90; ++step) {
    int const at = step % 2;
    if (me == 0) {
      for (point<2> const& p : all) mine.moved(at * field)[p] = point_value(p, step);
    }
    (step % 60 < 30 ? straight : packed).run(at * field, (1 - at) * field);
    lag(step);
    for (point<2> const& p : wanted) {
      ASSERT_EQ(destinations[0].moved((1 - at) * field)[p], point_value(p, step)) << "step " << step;
    }
  }
  upcxx::barrier();
  upcxx::delete_array(memory);
}

TEST_F(transfer_test, nothing_is_under_way_to_a_sender_that_has_finished) {
  static bool looked;
  looked = false;
  // Packed, also within a host: such data leave before the receivers have entered the run.
  domain<1> const all{{0}, {1000}};
  auto const mine = atl::make_array<double>(all);
  for (point<1> const& p : all) mine[p] = me == 0 ? point_value(p, 1) : -1;
  std::vector<array<double, 1>> const arrays{mine.view()};
  std::vector<array<double, 1>> const none;
  atl::transfer<double, 1> feed(me == 0 ? arrays : none, me == 0 ? none : arrays, {.pack_below = 1 << 20});
  upcxx::barrier();
  if (me == 0) {
    feed.start();
    // Their flags would find other memory when this object has ended.
    for (int looks = 0; looks < 100; ++looks) EXPECT_EQ(feed.test(), n == 1);
    for (int r = 1; r < n; ++r) upcxx::rpc(r, [] { looked = true; }).wait();
    feed.finish();
  } else {
    multirank::spin_until([] { return looked; });
    feed.run();
    for (point<1> const& p : all) ASSERT_EQ(mine[p], point_value(p, 1));
  }
  upcxx::barrier();
}

TEST_F(transfer_test, ranks_of_other_hosts_are_sent_to_first) {
  // Each rank has a row, and wants as many elements of each row as its own number says, and one.
  auto const row = atl::make_array<double>(domain<2>{{me, 0}, {me + 1, n * n}});
  auto const wanted = atl::make_array<double>(domain<2>{{0, n * me}, {n, n * me + me + 1}});
  atl::transfer<double, 2> all({&row.view(), 1}, {&wanted.view(), 1});
  std::vector<std::size_t> expected;
  for (bool const same_host : {false, true}) {
    for (int distance = 1; distance < n; ++distance) {
      int const r = (me + distance) % n;
      if (upcxx::local_team_contains(r) == same_host)
        expected.push_back(static_cast<std::size_t>(r + 1) * sizeof(double));
    }
  }
  EXPECT_EQ(all.bytes_by_target(), expected);
  for (point<2> const& p : row.view().domain()) row[p] = point_value(p, 1);
  all.run();
  for (point<2> const& p : wanted.view().domain()) ASSERT_EQ(wanted[p], point_value(p, 1));
}

TEST_F(transfer_test, nothing_that_has_come_waits_for_who_is_late) {
  static bool go;
  // Rank 0 wants a row of each of the others, through its inbox.
  domain<2> const rows{{1, 0}, {n, 20}};
  auto const row = atl::make_array<double>(domain<2>{{me, 0}, {me + 1, 20}});
  auto const got = atl::make_array<double>(me == 0 && n > 1 ? rows : domain<2>{});
  std::vector<array<double, 2>> const wanted{got.view()};
  atl::transfer<double, 2> feed({&row.view(), 1}, wanted, {.pack_below = 1 << 20});
  for (int late = 1; late < n; ++late) {
    go = false;
    upcxx::barrier();
    for (point<2> const& p : row.view().domain()) row[p] = point_value(p, late);
    if (me == late) multirank::spin_until([] { return go; });
    if (me != 0) {
      feed.run();
      continue;
    }
    feed.start();
    // This rank itself copies from its inbox, in test().
    for (int r = 1; r < n; ++r) {
      point<2> const last{r, 19};
      while (r != late && got[last] != point_value(last, late)) EXPECT_FALSE(feed.test());
    }
    upcxx::rpc(late, [] { go = true; }).wait();
    feed.finish();
    for (point<2> const& p : rows) ASSERT_EQ(got[p], point_value(p, late));
  }
  upcxx::barrier();
}

TEST_F(transfer_test, many_small_pieces_find_each_other_over_a_team) {
  upcxx::team half = upcxx::world().split(me % 2, me);
  // Every rank has every n-th cell of a line, and wants those of the next rank and one more.
  int const members = half.rank_n();
  int const rank = half.rank_me();
  auto const cells = upcxx::new_array<double>(64);
  auto const ghosts = upcxx::new_array<double>(65);
  std::vector<array<double, 1>> sources;
  std::vector<array<double, 1>> destinations;
  for (int i = 0; i < 64; ++i) {
    std::ptrdiff_t const cell = i * members + rank - 20;
    cells.local()[i] = point_value(point<1>{cell}, me % 2 + 1);
    sources.emplace_back(cells + i, domain<1>{{cell}, {cell + 1}});
    std::ptrdiff_t const next = i * members + (rank + 1) % members - 20;
    destinations.emplace_back(ghosts + i, domain<1>{{next}, {next + 1}});
  }
  destinations.emplace_back(ghosts + 64, domain<1>{{-20}, {-19}});
  atl::transfer<double, 1> pieces(sources, destinations, {}, half);
  for (int run = 0; run < 5; ++run) {
    std::fill_n(ghosts.local(), 65, -1.0);
    pieces.run();
    for (std::size_t i = 0; i < 65; ++i) {
      ASSERT_EQ(ghosts.local()[i], point_value(destinations[i].lower(), me % 2 + 1)) << i;
    }
    pieces.shake_hands();
  }
  upcxx::barrier();
  auto moved = std::move(pieces);
  moved.run();
  upcxx::barrier();
  upcxx::delete_array(cells);
  upcxx::delete_array(ghosts);
  half.destroy();
}

TEST_F(transfer_test, boxes_that_no_message_holds_travel_as_well) {
  // Each rank has a row, and wants that of the next one, in two places in turn, and in one.
  constexpr std::ptrdiff_t columns = 80'000;
  static_assert(columns * sizeof(int) > atl::engine::flagged_put::longest);
  auto const row = upcxx::new_array<int>(columns);
  auto const wanted = upcxx::new_array<int>(fields * columns);
  std::ptrdiff_t const next = (me + 1) % n;
  std::vector<array<int, 2>> const sources{{row, domain<2>{{me, 0}, {me + 1, columns}}}};
  std::vector<array<int, 2>> const destinations{{wanted, domain<2>{{next, 0}, {next + 1, columns}}}};
  atl::transfer<int, 2> ring(sources, destinations);
  for (int step = 1; step <= 12; ++step) {
    int const at = step < 8 ? step % 2 : 0;
    for (std::ptrdiff_t i = 0; i < columns; ++i) row.local()[i] = static_cast<int>(me * columns + i) * step;
    ring.run(0, at * columns);
    lag(step);
    int const* const got = wanted.local() + at * columns;
    for (std::ptrdiff_t i = 0; i < columns; ++i) {
      ASSERT_EQ(got[i], static_cast<int>(next * columns + i) * step) << "step " << step;
    }
  }
  upcxx::barrier();
  upcxx::delete_array(wanted);
  upcxx::delete_array(row);
}

TEST_F(transfer_test, a_run_goes_on_in_the_object_that_it_was_moved_to) {
  // A ring, with a copy between own arrays.
  auto const source = atl::make_array<double>(domain<1>{{me * 10}, {me * 10 + 10}});
  auto const wanted = atl::make_array<double>(domain<1>{{right * 10}, {right * 10 + 10}});
  auto const own = atl::make_array<double>(domain<1>{{me * 10 + 2}, {me * 10 + 7}});
  std::vector<array<double, 1>> const destinations{wanted.view(), own.view()};
  atl::transfer<double, 1> first({&source.view(), 1}, destinations);
  atl::transfer<double, 1> third;
  for (int step = 1; step <= 4; ++step) {
    for (point<1> const& p : source.view().domain()) source[p] = point_value(p, step);
    first.start();
    auto second = std::move(first);
    // There is nothing left in it, and it may end, run, or be assigned to.
    EXPECT_EQ(first.statistics().neighbors, 0U);     // NOLINT: moved from
    EXPECT_EQ(first.statistics().local_copies, 0U);  // NOLINT
    first.run();                                     // NOLINT
    EXPECT_TRUE(first.test());
    third = std::move(second);
    EXPECT_TRUE(second.test());  // NOLINT
    third.finish();
    for (point<1> const& p : wanted.view().domain()) ASSERT_EQ(wanted[p], point_value(p, step));
    for (point<1> const& p : own.view().domain()) ASSERT_EQ(own[p], point_value(p, step));
    upcxx::barrier();
    first = std::move(third);
  }
}

TEST_F(transfer_test, nothing_to_move_is_no_error) {
  atl::transfer<int, 2> nothing({}, {});
  for (int i = 0; i < 3; ++i) nothing.run();
  EXPECT_TRUE(nothing.test());
  EXPECT_EQ(nothing.statistics().neighbors, 0U);
}
