// Messages and whose they are.

#include "base/error.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

TEST(identity_deathtest, is_known_until_the_last_handler_of_an_exit) {
  auto const exits = [] {
    // Before the name is known, and so after what is destroyed that was made since.
    std::atexit([] { atl::warn("test", "ends"); });
    atl::set_identity(3, 4, "a host with a name that is not short");
    std::exit(5);
  };
  EXPECT_EXIT(exits(), testing::ExitedWithCode(5),
              "atoll: rank 3 of 4 \\(a host with a name that is not short\\): test: ends");
}

}  // namespace
