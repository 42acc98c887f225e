// Names and lines of code addresses. Compiled with -g in every build.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/call_site.hpp"
#include "base/debug_info.hpp"
#include "symbols_test.hpp"

namespace {

constexpr int line_inlined = __LINE__ + 1;
[[gnu::always_inline]] inline std::vector<void*> inlined_here() { return symbols_test::from_header(); }

constexpr int line_own = __LINE__ + 2;
[[gnu::noinline]] std::vector<void*> function_of_its_own() {
  std::vector<void*> result = inlined_here();
  result.reserve(result.size() + 1);  // not a tail call
  return result;
}

TEST(symbols, inlined_calls_have_their_files_and_lines) {
  std::string reason;
  if (!atl::have_debug_info_reader(reason)) GTEST_SKIP() << reason;
  atl::code_names names;
  int const call_line = __LINE__ + 1;
  std::vector<void*> const addresses = function_of_its_own();
  auto const lines = atl::program_lines(addresses, 4, names);
  ASSERT_EQ(lines.size(), 4U);
  struct expectation {
    char const* function;
    char const* file;
    int line;
  };
  expectation const expected[] = {
      {"from_header", "/unit/base/symbols_test.hpp", symbols_test::line_in_header},
      {"inlined_here", "/unit/base/symbols_test.cpp", line_inlined},
      {"function_of_its_own", "/unit/base/symbols_test.cpp", line_own},
      {"TestBody", "/unit/base/symbols_test.cpp", call_line}};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_NE(lines[i].function.find(expected[i].function), std::string::npos) << lines[i].function;
    EXPECT_TRUE(lines[i].file.ends_with(expected[i].file)) << lines[i].file;
    EXPECT_TRUE(lines[i].file.starts_with("/")) << lines[i].file;
    EXPECT_EQ(lines[i].line, expected[i].line);
  }
}

TEST(symbols, what_is_not_known_stays_empty) {
  constexpr std::uint64_t nowhere = std::uint64_t{1} << 40;
  EXPECT_EQ(atl::debug_lines("/no/such/file", {1, 2}).size(), 2U);
  EXPECT_TRUE(atl::debug_lines("/no/such/file", {1, 2})[1].empty());
  EXPECT_TRUE(atl::debug_lines("/proc/self/exe", {nowhere})[0].empty());
  atl::code_names names;
  names.look_up({{"/proc/self/exe", nowhere}, {"[vdso]", 12}});
  EXPECT_TRUE(names.at({"/proc/self/exe", nowhere}).empty());
}

}  // namespace
