// rput_strided and rget_strided: addresses, forms of arguments, completion. Shapes are the unit test's part.

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "common.hpp"

namespace {

using upcxx::global_ptr;
using strides = std::ptrdiff_t[3];

constexpr std::ptrdiff_t side = 12;  // of a cube of ints, here and there
constexpr std::size_t volume = side * side * side;
constexpr std::ptrdiff_t row = side * 4;
constexpr std::ptrdiff_t plane = side * row;

constexpr std::ptrdiff_t at(std::ptrdiff_t z, std::ptrdiff_t y, std::ptrdiff_t x) {
  return (z * side + y) * side + x;
}

struct cubes {
  cubes() : landing(volume), mine(volume) {
    std::fill_n(landing.local(), volume, -1);
    std::iota(mine.begin(), mine.end(), upcxx::rank_me() * 10000);
    upcxx::barrier();
  }
  multirank::shared_array<int> landing;
  std::vector<int> mine;
};

/// The cube of the rank from which data came, at this index.
int value_of(int rank, std::ptrdiff_t index) { return rank * 10000 + static_cast<int>(index); }

}  // namespace

using vis_strided_test = multirank::fixture;

TEST_F(vis_strided_test, a_face_with_transposition_and_reflection_arrives) {
  cubes c;
  // The x face becomes a z face; its rows are reversed.
  std::ptrdiff_t const from[2] = {plane, -row};
  std::ptrdiff_t const to[2] = {row, 4};
  std::size_t const extents[2] = {side, side};
  upcxx::rput_strided<2>(c.mine.data() + at(0, side - 1, 3), from, c.landing.at(right) + at(5, 0, 0), to,
                         extents)
      .wait();
  upcxx::barrier();
  for (std::ptrdiff_t z = 0; z < side; ++z) {
    for (std::ptrdiff_t y = 0; y < side; ++y) {
      EXPECT_EQ(c.landing.local()[at(5, z, y)], value_of(left, at(z, side - 1 - y, 3)));
    }
  }
  EXPECT_EQ(std::count(c.landing.local(), c.landing.local() + volume, -1), volume - side * side);
}

TEST_F(vis_strided_test, boxes_are_fetched_with_strides_of_any_sign_and_order) {
  cubes c;
  std::copy(c.mine.begin(), c.mine.end(), c.landing.local());
  upcxx::barrier();
  std::vector<int> box(3 * 4 * 5, -1);
  global_ptr<int const> const source = c.landing.at(right) + at(10, 2, 1);
  upcxx::rget_strided<3>(source, {{4, -plane, row}}, box.data(), {{4 * 4 * 3, 4, 4 * 3}}, {{5, 3, 4}}).wait();
  for (std::ptrdiff_t x = 0; x < 5; ++x) {
    for (std::ptrdiff_t z = 0; z < 3; ++z) {
      for (std::ptrdiff_t y = 0; y < 4; ++y) {
        EXPECT_EQ(box[static_cast<std::size_t>((x * 4 + y) * 3 + z)],
                  value_of(right, at(10 - z, 2 + y, 1 + x)));
      }
    }
  }
  upcxx::barrier();
}

/// A structure of arrays in one call.
TEST_F(vis_strided_test, a_box_may_span_allocations) {
  constexpr std::ptrdiff_t length = 10;
  auto const a = upcxx::new_array<int>(length);
  auto const between = upcxx::new_array<int>(100);
  auto const b = upcxx::new_array<int>(length);
  for (int i = 0; i < length; ++i) {
    a.local()[i] = i;
    b.local()[i] = 100 + i;
  }
  upcxx::delete_array(between);
  std::ptrdiff_t const apart = 4 * (b - a);
  std::vector<int> both(2 * length);
  upcxx::rget_strided<2>(a, {{apart, 4}}, both.data(), {{4 * length, 4}}, {{2, length}}).wait();
  for (int i = 0; i < length; ++i) {
    EXPECT_EQ(both[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(both[static_cast<std::size_t>(length + i)], 100 + i);
  }
  upcxx::delete_array(a);
  upcxx::delete_array(b);
}

TEST_F(vis_strided_test, a_source_stride_of_zero_repeats) {
  cubes c;
  upcxx::rput_strided<2>(c.mine.data() + 7, {{0, 0}}, c.landing.at(right), {{4, row}}, {{side, 2}}).wait();
  upcxx::barrier();
  EXPECT_EQ(std::count(c.landing.local(), c.landing.local() + volume, value_of(left, 7)), 2 * side);
}

TEST_F(vis_strided_test, no_dimension_is_one_element_and_an_extent_of_zero_none) {
  cubes c;
  auto const dest = c.landing.at(right);
  upcxx::rput_strided<0>(c.mine.data() + 3, nullptr, dest, nullptr, nullptr).wait();
  std::array<std::ptrdiff_t, 0> const none{};
  upcxx::rput_strided<0>(c.mine.data() + 4, none, dest + 1, none, std::array<std::size_t, 0>{}).wait();
  upcxx::rput_strided<2>(c.mine.data(), {{4, row}}, dest + 5, {{4, row}}, {{4, 0}}).wait();
  int back = 0;
  upcxx::rget_strided<0>(dest, nullptr, &back, nullptr, nullptr).wait();
  EXPECT_EQ(back, value_of(me, 3));
  upcxx::rget_strided<1>(dest, {{4}}, &back, {{4}}, {{0}}).wait();
  EXPECT_EQ(back, value_of(me, 3));
  upcxx::barrier();
  EXPECT_EQ(c.landing.local()[0], value_of(left, 3));
  EXPECT_EQ(c.landing.local()[1], value_of(left, 4));
  EXPECT_EQ(std::count(c.landing.local(), c.landing.local() + volume, -1), volume - 2);
}

TEST_F(vis_strided_test, completions_of_a_put_and_lifetime_of_the_description) {
  static int arrived;
  arrived = 0;
  cubes c;
  int source_events = 0;
  upcxx::promise<> done;
  auto futures = [&] {
    // Gone when the call has returned.
    strides from{plane, row, 4};
    std::array<std::size_t, 3> extents{2, 3, side};
    return upcxx::rput_strided<3>(
        c.mine.data(), from, c.landing.at(right), from, extents.data(),
        upcxx::source_cx::as_lpc(upcxx::current_persona(), [&] { ++source_events; }) |
            upcxx::remote_cx::as_rpc(
                [](global_ptr<int> p, int rank) {
                  EXPECT_EQ(p.local()[at(1, 2, 3)], value_of(rank, at(1, 2, 3)));
                  EXPECT_EQ(p.local()[at(2, 0, 0)], -1);
                  ++arrived;
                },
                c.landing.at(right), me) |
            upcxx::operation_cx::as_promise(done) | upcxx::operation_cx::as_defer_future() |
            upcxx::source_cx::as_future());
  }();
  static_assert(std::is_same_v<decltype(futures), std::tuple<upcxx::future<>, upcxx::future<>>>);
  EXPECT_FALSE(std::get<0>(futures).ready());
  std::get<0>(futures).wait();
  std::get<1>(futures).wait();
  done.finalize().wait();
  multirank::spin_until([&] { return arrived == 1 && source_events == 1; });
  // Only remote completion: nothing is returned. Also for nothing at all, to oneself.
  static_assert(
      std::is_void_v<decltype(upcxx::rput_strided<1>(c.mine.data(), {{4}}, c.landing.at(me), {{4}}, {{0}},
                                                     upcxx::remote_cx::as_rpc([] { ++arrived; })))>);
  upcxx::rput_strided<1>(c.mine.data(), {{4}}, c.landing.at(me), {{4}}, {{0}},
                         upcxx::remote_cx::as_rpc([] { ++arrived; }));
  EXPECT_EQ(arrived, 1);
  multirank::spin_until([&] { return arrived == 2; });
}

TEST_F(vis_strided_test, elements_of_any_size) {
  struct three {
    std::uint8_t bytes[3];
  };
  multirank::shared_array<three> landing(100);
  std::vector<three> mine(100);
  multirank::fill_pattern(&mine[0].bytes[0], 300, me);
  upcxx::barrier();
  // Strides are bytes and need no multiple of the size: every second element, at both ends from the last.
  upcxx::rput_strided<1>(&mine[98], {{-6}}, landing.at(right) + 98, {{-6}}, {{50}}).wait();
  upcxx::rput_strided<1>(&mine[1], {{6}}, landing.at(right) + 1, {{6}}, {{50}}).wait();
  upcxx::barrier();
  EXPECT_EQ(multirank::first_mismatch(&landing.local()->bytes[0], 300, left), 300U);
}
