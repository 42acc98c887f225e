// From which size on a network's own put and get are used, as its abilities say.

#include <gtest/gtest.h>

#include <cstddef>

#include "engine/rma/direct.hpp"

namespace atl::engine::remote {
namespace {

using transport::ability;
using transport::support;

constexpr std::size_t never = ~std::size_t{0};

TEST(direct_from, what_is_absent_or_emulated_is_never_used) {
  for (support const how : {support::none, support::emulated}) {
    transport::abilities what;
    what.put = what.get = ability{how, false};
    EXPECT_EQ(direct_put_from(what, {}, false), never);
    EXPECT_EQ(direct_put_from(what, {}, true), never);
    EXPECT_EQ(direct_get_from(what), never);
  }
}

TEST(direct_from, an_adapter_is_used_for_all_that_is_not_small) {
  transport::abilities what;
  what.put = ability{support::native, false};
  EXPECT_EQ(direct_put_from(what, {}, false), 4096U);
  EXPECT_EQ(direct_put_from(what, {}, true), 4096U);
  EXPECT_EQ(direct_get_from(what), never);
  what.get = what.put;
  EXPECT_EQ(direct_get_from(what), 4096U);
  transport::limits sizes;
  sizes.inline_bytes = 10'000;
  EXPECT_EQ(direct_put_from(what, sizes, false), 10'001U);
}

TEST(direct_from, where_the_target_takes_part_puts_stay_messages_while_those_do_more) {
  transport::abilities what;
  what.put = what.get = ability{support::native, true};
  EXPECT_EQ(direct_put_from(what, {}, false), 8192U);
  EXPECT_EQ(direct_put_from(what, {}, true), remote_piece_bytes + 1);
  EXPECT_EQ(direct_get_from(what), 8192U);
}

TEST(direct_from, lists_are_left_to_who_takes_lists) {
  transport::abilities what;
  what.put = what.get = ability{support::native, false};
  EXPECT_EQ(direct_run_from(what, true), never);
  what.put_pieces = ability{support::native, false};
  EXPECT_EQ(direct_run_from(what, true), 2048U);
  EXPECT_EQ(direct_run_from(what, false), never);
  what.get_pieces = ability{support::native, true};
  EXPECT_EQ(direct_run_from(what, false), 8192U);
}

}  // namespace
}  // namespace atl::engine::remote
