// Parts of Views of others: arithmetic, and what is refused.

#include <gtest/gtest.h>

#include <array>
#include <atoll/kokkos.hpp>
#include <utility>

namespace {

using extents = std::array<std::size_t, 2>;
using pair = std::pair<int, int>;

TEST(subview, of_a_view_without_memory_has_none) {
  atl::kokkos::global_view<double, 3> const all{nullptr, {4, 5, 6}, {30, 6, 1}};
  auto const part = atl::kokkos::subview(all, pair(1, 3), 4, Kokkos::ALL);
  EXPECT_EQ(part.extents, (extents{2, 6}));
  EXPECT_EQ(part.strides, (extents{30, 1}));
  EXPECT_FALSE(part.data);
  EXPECT_EQ(atl::kokkos::subview(part, pair(2, 2), pair(6, 6)).extents, (extents{0, 0}));
}

TEST(subview, ends_the_job_behind_the_end) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  atl::kokkos::global_view<double, 2> const all{nullptr, {4, 5}, {5, 1}};
  EXPECT_DEATH(static_cast<void>(atl::kokkos::subview(all, 4, 0)),
               "indices 4 to 5 .not in it. of dimension 0, which has 4");
  EXPECT_DEATH(static_cast<void>(atl::kokkos::subview(all, 0, pair(3, 6))), "dimension 1, which has 5");
  EXPECT_DEATH(static_cast<void>(atl::kokkos::subview(all, 0, pair(3, 2))), "indices 3 to 2");
  EXPECT_DEATH(static_cast<void>(atl::kokkos::subview(all, -1, 0)), "dimension 0, which has 4");
}

}  // namespace
