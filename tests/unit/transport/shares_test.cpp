// How long transfers are cut for several devices.

#include "transport/ofi/shares.hpp"

#include <gtest/gtest.h>

namespace atl::transport::ofi {
namespace {

TEST(shares, CoverAllOnceAndInTheirOrder) {
  for (std::size_t const count : {1U, 2U, 3U, 4U}) {
    for (std::size_t const bytes : {std::size_t{1}, rails_from - 1, rails_from, rails_from + 1,
                                    3 * rails_from + 77, (std::size_t{1} << 30) - 1}) {
      std::size_t end = 0;
      for (std::size_t i = 0; i < count; ++i) {
        share const each = share_of(bytes, count, i);
        EXPECT_EQ(each.begin, end) << bytes << " over " << count;
        end += each.bytes;
      }
      EXPECT_EQ(end, bytes) << "over " << count;
    }
  }
}

TEST(shares, AreEqualButForAPageEach) {
  std::size_t const bytes = (std::size_t{1} << 20) + 1234;
  for (std::size_t i = 0; i < 3; ++i) {
    share const each = share_of(bytes, 3, i);
    EXPECT_EQ(each.begin % 4096, 0U);
    EXPECT_NEAR(static_cast<double>(each.bytes), bytes / 3.0, 3 * 4096);
  }
}

TEST(shares, OfWhatIsLongEnoughAreNeverEmpty) {
  for (std::size_t i = 0; i < 4; ++i) EXPECT_GT(share_of(rails_from, 4, i).bytes, 0U);
}

}  // namespace
}  // namespace atl::transport::ofi
