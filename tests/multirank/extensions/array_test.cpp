// Strided copies against a loop, arrays as views, and copy() between arrays of any layout.

#include <atoll/extensions/array/view.hpp>
#include <atoll/strided.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "multirank/common.hpp"
#include "multirank/extensions/any_layout.hpp"

namespace {

using atl::array;
using atl::domain;
using atl::order;
using atl::point;
using multirank::any_layout;
using multirank::value_at;

constexpr std::size_t cells = 4096;

/// One array of ints on each rank, that any rank may fill and look at.
struct memory {
  memory() : shared(cells) {}
  void fill() {
    upcxx::barrier();
    for (std::size_t i = 0; i < cells; ++i)
      shared.local()[i] = upcxx::rank_me() * 100000 + static_cast<int>(i);
    upcxx::barrier();
  }
  multirank::shared_array<int> shared;
};

template <int N>
void expect_copies(int me, int n, memory& m) {
  for (unsigned round = 0; round < 40; ++round) {
    m.fill();
    std::minstd_rand numbers(round * 16 + N + 1);  // the same on all ranks
    auto const owner = static_cast<int>(numbers() % static_cast<unsigned>(n));
    auto const other = static_cast<int>(numbers() % static_cast<unsigned>(n));
    auto const copier = static_cast<int>(numbers() % static_cast<unsigned>(n));
    auto const from = any_layout<N>(m.shared.at(owner), numbers, point<N>{});
    auto const to = any_layout<N>(m.shared.at(other) + cells / 2, numbers, point<N>::all(round % 3));
    if (me == owner) {
      for (point<N> const& p : from.domain()) from[p] = value_at(p, -1);
    }
    std::vector<int> before(m.shared.local(), m.shared.local() + cells);
    upcxx::barrier();
    if (me == copier) atl::copy(from, to).wait();
    upcxx::barrier();
    if (me == other) {
      std::size_t changed = 0;
      for (point<N> const& p : to.domain()) {
        auto const i = static_cast<std::size_t>(&to[p] - m.shared.local());
        ASSERT_EQ(to[p], from.domain().contains(p) ? value_at(p, -1) : before[i]) << "round " << round;
        changed += to[p] != before[i] ? 1U : 0U;
      }
      std::size_t all = 0;
      for (std::size_t i = 0; i < cells; ++i) all += m.shared.local()[i] != before[i] ? 1U : 0U;
      ASSERT_EQ(all, changed) << "round " << round;
    }
  }
}

}  // namespace

using array_test = multirank::fixture;

TEST_F(array_test, strided_copies_do_what_a_loop_does) {
  memory m;
  std::vector<int> mine(cells);
  for (int form = 0; form < 5; ++form) {
    m.fill();
    std::iota(mine.begin(), mine.end(), me * 1000000);
    // 2 planes of 3 rows of 4 ints, from rows 8 ints apart to rows that are 10 apart and come backwards.
    std::ptrdiff_t const from[] = {8 * 4, 64 * 4};
    std::ptrdiff_t const to[] = {-10 * 4, 40 * 4};
    std::size_t const counts[] = {4 * 4, 3, 2};
    auto const source = m.shared.at(left);
    auto const dest = m.shared.at(right) + 2048 + 20;
    int expected_owner = -1;
    switch (form) {
      case 0:  // between two other ranks
        atl::copy_strided(dest, to, source, from, counts, 3).wait();
        expected_owner = (left + n - 1) % n;  // of the rank whose right is me: its left
        expected_owner = (me + 2 * n - 2) % n;
        break;
      case 1:  // put
        atl::copy_strided(dest, to, mine.data(), from, counts, 3).wait();
        break;
      case 2:  // get
        atl::copy_strided(mine.data() + 2048 + 20, to, source, from, counts, 3).wait();
        break;
      case 3:  // here
        atl::copy_strided(mine.data() + 2048 + 20, to, mine.data(), from, counts, 3).wait();
        break;
      default: {  // one dimension; nothing; a repeated source
        std::size_t const none[] = {0};
        std::size_t const row[] = {16};
        std::ptrdiff_t const again[] = {0};
        std::ptrdiff_t const rows[] = {16};
        std::size_t const four[] = {16, 4};
        atl::copy_strided(dest, nullptr, mine.data(), nullptr, none, 1).wait();
        atl::copy_strided(dest, nullptr, mine.data(), nullptr, row, 1).wait();
        atl::copy_strided(dest + 4, rows, mine.data() + 7, again, four, 2).wait();
      }
    }
    upcxx::barrier();
    for (int i = 0; i < 2048; ++i) {
      int const here =
          form == 2 || form == 3 ? mine[static_cast<std::size_t>(2048 + i)] : m.shared.local()[2048 + i];
      int expected = (form == 2 || form == 3 ? me * 1000000 : me * 100000) + 2048 + i;
      for (int k = 0; k < 2; ++k) {
        for (int j = 0; j < 3; ++j) {
          int const x = i - (20 - 10 * j + 40 * k);
          int const s = x + 8 * j + 64 * k;
          if (form == 4 || x < 0 || x >= 4) continue;
          expected = form == 0   ? expected_owner * 100000 + s
                     : form == 1 ? left * 1000000 + s
                     : form == 2 ? left * 100000 + s
                                 : me * 1000000 + s;
        }
      }
      if (form == 4 && i >= 20 && i < 24) expected = left * 1000000 + i - 20;
      if (form == 4 && i >= 24 && i < 40) expected = left * 1000000 + 7 + (i - 24) % 4;
      ASSERT_EQ(here, expected) << "form " << form << ", " << i;
    }
    upcxx::barrier();
  }
}

TEST_F(array_test, all_notifications_of_strided_and_array_copies_come) {
  static int arrived;
  arrived = 0;
  memory m;
  m.fill();
  std::ptrdiff_t const strides[] = {64};
  std::size_t const counts[] = {16, 3};
  int source_events = 0;
  auto const all = upcxx::source_cx::as_lpc(upcxx::current_persona(), [&] { ++source_events; }) |
                   upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc([] { ++arrived; });
  array<int, 1> const from(m.shared.at(me), {{0}, {8}});
  array<int, 1> const to(m.shared.at(right) + 100, {{4}, {20}});
  array<int, 1> const elsewhere(m.shared.at(right) + 200, {{30}, {40}});
  upcxx::when_all(
      atl::copy_strided(m.shared.at(right), strides, m.shared.at(me) + 2048, strides, counts, 2, all),
      atl::copy(from, to, all), atl::copy(from, elsewhere, all))
      .wait();
  multirank::spin_until([&] { return source_events == 3 && arrived == 3; });
}

TEST_F(array_test, views_address_restrict_translate_and_slice) {
  auto mine = atl::make_array<double>(domain<3>{{-1, -2, 5}, {3, 2, 9}});
  array<double, 3> const a = mine;
  static_assert(array<double, 3>::rank() == 3);
  EXPECT_EQ(a.where(), me);
  EXPECT_EQ(a.strides(), (point<3>{1, 4, 16}));
  EXPECT_EQ(a.extent(2), 4U);
  double next = 0;
  for (point<3> const& p : a.domain()) a[p] = next++;
  EXPECT_EQ(a.data_handle()[17], 17);
  EXPECT_EQ(a[(point<3>{0, -2, 6})], 17);
  EXPECT_EQ(&a.at({0, -2, 6}), a.pointer({0, -2, 6}).local());
  EXPECT_EQ(&mine(0, -2, 6), &a(0, -2, 6));
  auto const part = a.restrict_to(domain<3>{{0, 0, 0}, {9, 9, 7}});
  EXPECT_EQ(part.domain(), (domain<3>{{0, 0, 5}, {3, 2, 7}}));
  EXPECT_EQ(&part[(point<3>{1, 1, 6})], &a[(point<3>{1, 1, 6})]);
  EXPECT_TRUE(a.restrict_to(domain<3>{{7, 0, 0}, {9, 9, 9}}).empty());
  auto const shifted = part.translate({10, 0, -5});
  EXPECT_EQ(&shifted[(point<3>{11, 1, 1})], &a[(point<3>{1, 1, 6})]);
  auto const plane = a.slice(1, 0);
  EXPECT_EQ(plane.domain(), (domain<2>{{-1, 5}, {3, 9}}));
  EXPECT_EQ(&plane[(point<2>{2, 8})], &a[(point<3>{2, 0, 8})]);
  EXPECT_EQ(&a.moved(3)[(point<3>{-1, -2, 5})], a.data_handle() + 3);
  EXPECT_FALSE((array<double, 3>().moved(3).data()));
  array<double const, 3> const constant = a;
  EXPECT_EQ(constant[(point<3>{0, -2, 6})], 17);
  auto const other = atl::make_array<double>(domain<3>{{0, 0, 6}, {2, 2, 8}}, order::last_fastest);
  EXPECT_EQ(other.view().strides(), (point<3>{4, 2, 1}));
  atl::copy(constant, other).wait();
  for (point<3> const& p : other.domain()) EXPECT_EQ(other[p], a[p]);
  auto const taken = std::move(mine);
  EXPECT_EQ(&taken[(point<3>{0, -2, 6})], &a[(point<3>{0, -2, 6})]);
  EXPECT_FALSE(mine.view().data());  // NOLINT(bugprone-use-after-move)
}

#if defined(__cpp_lib_mdspan)
TEST_F(array_test, local_views_become_mdspans) {
  auto const memory = atl::make_array<double>(domain<3>{{-1, 2, 5}, {4, 6, 9}});
  array<double, 3> const a = memory.view();
  for (auto const& p : a.domain()) a[p] = static_cast<double>(100 * p[0] + 10 * p[1] + p[2]);
  using extents = std::dextents<std::size_t, 3>;
  std::mdspan<double, extents, std::layout_stride> const whole = a;
  EXPECT_EQ(whole.extent(0), 5U);
  EXPECT_EQ((whole[std::array{4, 3, 3}]), 358);
  array<double const, 3> const part = a.restrict_to({{0, 3, 6}, {2, 5, 8}});
  std::mdspan<double const, extents, std::layout_stride> const inner = part;
  EXPECT_EQ(inner.extent(2), 2U);
  EXPECT_EQ((inner[std::array{1, 1, 0}]), 146);
}
#endif

TEST_F(array_test, copies_move_the_intersection_whatever_the_layouts_and_owners) {
  memory m;
  expect_copies<1>(me, n, m);
  expect_copies<3>(me, n, m);
}
