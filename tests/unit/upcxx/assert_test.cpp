// First, to see that it needs no other header.
#include "upcxx/assert.hpp"

namespace {

/// Compiles without a stream header in sight.
[[maybe_unused]] void check_plain(int x, char const* name) {
  UPCXX_ASSERT_ALWAYS(x > 0, "x is " << x << " in " << name);
}

}  // namespace

#include <gtest/gtest.h>

#include <cstdint>
#include <iomanip>
#include <ostream>
#include <string>

namespace {

struct point {
  int x;
  int y;
};
std::ostream& operator<<(std::ostream& out, point const& p) { return out << p.x << '/' << p.y; }

TEST(upcxx_assert, holds_silently_and_evaluates_no_message) {
  int evaluated = 0;
  auto const message = [&evaluated] {
    ++evaluated;
    return "text";
  };
  UPCXX_ASSERT_ALWAYS(true);
  UPCXX_ASSERT_ALWAYS(1 + 1 == 2, message());
  UPCXX_ASSERT(true, message());
  EXPECT_EQ(evaluated, 0);
}

TEST(upcxx_assert, is_an_expression) {
  int const x = (UPCXX_ASSERT_ALWAYS(true, "never"), 3);
  EXPECT_EQ(x, 3);
  bool const flag = true;
  flag ? UPCXX_ASSERT_ALWAYS(flag) : UPCXX_ASSERT(flag);
  if (flag)
    UPCXX_ASSERT_ALWAYS(flag);
  else
    UPCXX_ASSERT_ALWAYS(!flag);
}

TEST(upcxx_assert, failure_names_condition_place_and_message) {
  int const n = -3;
  EXPECT_DEATH(UPCXX_ASSERT_ALWAYS(n > 0), "assertion failed: n > 0\n.*assert_test.cpp:");
  EXPECT_DEATH(UPCXX_ASSERT_ALWAYS(n > 0, "n must be positive"), "n > 0: n must be positive");
  EXPECT_DEATH(
      UPCXX_ASSERT_ALWAYS(n > 0, "n is " << n << ", not " << 2.5 << ' ' << 'c' << std::string(" end")),
      "n is -3, not 2.5 c end");
  EXPECT_DEATH(UPCXX_ASSERT_ALWAYS(false, std::hex << 255 << " " << point{1, 2} << std::endl
                                                   << true << std::setw(5) << 7),
               "ff 1/2\ntrue    7");
  EXPECT_DEATH(UPCXX_ASSERT_ALWAYS(false, std::string("text")), "false: text");
  EXPECT_DEATH(UPCXX_ASSERT_ALWAYS(false, 42), "false: 42");
  std::uint8_t const letter = 'x';
  signed char const text[] = {'t', 'e', 'x', 't', 0};
  EXPECT_DEATH(UPCXX_ASSERT_ALWAYS(false, letter << text), "false: xtext");
}

TEST(upcxx_assert, failure_is_an_abort) {
  EXPECT_EXIT(UPCXX_ASSERT_ALWAYS(false), testing::KilledBySignal(SIGABRT), "");
}

TEST(upcxx_assert, follows_the_code_mode) {
  int evaluated = 0;
#if defined(UPCXX_CODEMODE) && UPCXX_CODEMODE
  UPCXX_ASSERT(++evaluated == 5, "no");
  EXPECT_EQ(evaluated, 0);
#else
  EXPECT_DEATH(UPCXX_ASSERT(evaluated == 5, "checked " << evaluated), "checked 0");
  EXPECT_DEATH(UPCXX_ASSERT(evaluated == 5, "it is " << nullptr), "it is 0");
#endif
}

}  // namespace
