// Names of namespace upcxx::experimental: environment, lines, modules, the heap's end.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <upcxx/upcxx.hpp>

namespace {

namespace ex = upcxx::experimental;

int answer() { return 42; }

struct parsed_point {
  int x = 0, y = 0;
  friend std::istream& operator>>(std::istream& in, parsed_point& p) { return in >> p.x >> p.y; }
};

TEST(os_env, reads_values_of_many_types) {
  ::setenv("EXPERIMENTAL_NUMBER", "12", 1);
  ::setenv("EXPERIMENTAL_TEXT", "two words", 1);
  ::setenv("EXPERIMENTAL_REAL", "0.5", 1);
  ::setenv("EXPERIMENTAL_FLAG", "yes", 1);
  ::setenv("EXPERIMENTAL_POINT", "3 4", 1);
  ::setenv("EXPERIMENTAL_EMPTY", "", 1);
  EXPECT_EQ(ex::os_env<int>("EXPERIMENTAL_NUMBER"), 12);
  EXPECT_EQ(ex::os_env("EXPERIMENTAL_NUMBER", 5U), 12U);
  EXPECT_EQ(ex::os_env<std::string>("EXPERIMENTAL_TEXT"), "two words");
  EXPECT_EQ(ex::os_env("EXPERIMENTAL_REAL", 2.0), 0.5);
  EXPECT_TRUE(ex::os_env<bool>("EXPERIMENTAL_FLAG"));
  EXPECT_EQ(ex::os_env<parsed_point>("EXPERIMENTAL_POINT").y, 4);
  EXPECT_EQ(ex::os_env("EXPERIMENTAL_EMPTY", 7), 7);
  EXPECT_EQ(ex::os_env<int>("EXPERIMENTAL_UNSET"), 0);
  EXPECT_EQ(ex::os_env<std::string>("EXPERIMENTAL_UNSET", "other"), "other");
}

TEST(os_env, reads_integers_of_all_widths_decimal_or_hexadecimal) {
  auto const set = [](char const* text) { ::setenv("EXPERIMENTAL_NUMBER", text, 1); };
  set("010");
  EXPECT_EQ(ex::os_env<int>("EXPERIMENTAL_NUMBER"), 10);
  EXPECT_EQ(ex::os_env<unsigned>("EXPERIMENTAL_NUMBER"), 10U);
  EXPECT_EQ(ex::os_env("EXPERIMENTAL_NUMBER", 1, 0), 10);
  set("08");
  EXPECT_EQ(ex::os_env<long>("EXPERIMENTAL_NUMBER"), 8);
  set("0x1F");
  EXPECT_EQ(ex::os_env<int>("EXPERIMENTAL_NUMBER"), 31);
  EXPECT_EQ(ex::os_env<unsigned char>("EXPERIMENTAL_NUMBER"), 31);
  set("-0x10");
  EXPECT_EQ(ex::os_env<short>("EXPERIMENTAL_NUMBER"), -16);
  set("18446744073709551615");
  EXPECT_EQ(ex::os_env<std::uint64_t>("EXPERIMENTAL_NUMBER"), ~std::uint64_t{0});
  set("-9223372036854775808");
  EXPECT_EQ(ex::os_env<std::int64_t>("EXPERIMENTAL_NUMBER"), std::numeric_limits<std::int64_t>::min());
}

TEST(os_env, reads_sizes) {
  ::setenv("EXPERIMENTAL_SIZE", "2K", 1);
  EXPECT_EQ(ex::os_env("EXPERIMENTAL_SIZE", 1, 1 << 20), 2048);
  ::setenv("EXPERIMENTAL_SIZE", "2", 1);
  EXPECT_EQ(ex::os_env("EXPERIMENTAL_SIZE", 1, 1 << 20), 2 << 20);
  EXPECT_EQ(ex::os_env("EXPERIMENTAL_SIZE", 1, 0), 2);
  EXPECT_EQ(ex::os_env("EXPERIMENTAL_UNSET", 17, 1024), 17);
}

TEST(say, prints_whole_lines) {
  std::ostringstream out;
  ex::say(out) << "x is " << 7 << ' ' << 0.5 << ' ' << std::string("y") << true;
  ex::say(out, "") << "plain";
  ex::say(out, "rank %d: ") << upcxx::intrank_t{1};
  std::string const me = std::to_string(upcxx::rank_me());
  EXPECT_EQ(out.str(), "[" + me + "] x is 7 0.5 ytrue\nplain\nrank " + me + ": 1\n");
  out.str("");
  unsigned char const bytes[] = {'b', 'y', 't', 'e', 's', 0};
  ex::say(out, "") << static_cast<unsigned char>('u') << static_cast<signed char>('s') << bytes << std::hex
                   << static_cast<short>(-1) << static_cast<unsigned short>(255);
  EXPECT_EQ(out.str(), "usbytesffffff\n") << "as streams write them";
}

TEST(relocation, verifies_what_all_have) {
  ex::relocation::verify_segment(&answer);
  ex::relo::verify_all();
  bool const before = ex::relo::enforce_verification(true);
  EXPECT_TRUE(ex::relo::verification_enforced());
  EXPECT_EQ(upcxx::rpc((upcxx::rank_me() + 1) % upcxx::rank_n(), answer).wait(), 42);
  EXPECT_TRUE(ex::relo::enforce_verification(before));
  EXPECT_EQ(ex::relo::verification_enforced(), before);
}

TEST(relocation, notices_modules_that_differ) {
  if (upcxx::rank_n() == 1) GTEST_SKIP() << "one rank agrees with itself";
  void const* const mine = reinterpret_cast<void const*>(&answer);
  void const* const library = reinterpret_cast<void const*>(&::getenv);
  auto* const elsewhere = upcxx::rank_me() % 2 == 0 ? mine : library;
  EXPECT_THROW(ex::relo::verify_segment(elsewhere), upcxx::segment_verification_error);
}

TEST(relocation, shows_its_tables) {
  upcxx::rpc(upcxx::rank_me(), answer).wait();
  std::ostringstream out;
  ex::relo::debug_write_segment_table(out);
  EXPECT_NE(out.str().find("libatoll"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("(program)"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("threadmode seq"), std::string::npos) << out.str();
  out.str("");
  ex::relo::debug_write_ptr(&answer, out);
  EXPECT_NE(out.str().find("in (program)"), std::string::npos) << out.str();
  out.str("");
  int local = 0;
  ex::relo::debug_write_ptr(&local, out);
  EXPECT_NE(out.str().find("no loaded module"), std::string::npos) << out.str();
  out.str("");
  ex::relo::debug_write_cache(out);
  EXPECT_NE(out.str().find("(program)"), std::string::npos) << out.str();
}

TEST(heap, can_be_destroyed_and_restored) {
  auto const before = upcxx::shared_segment_size();
  for (int round = 0; round < 2; ++round) {
    auto const big = upcxx::new_array<char>(static_cast<std::size_t>(before) / 2);
    big.local()[0] = 'x';
    char* const page = big.local() + 65536;
    *page = 'y';
    ex::destroy_heap();
    EXPECT_EQ(*page, 0) << "the memory was not given back";
    EXPECT_EQ(upcxx::shared_segment_size(), 0);
    EXPECT_THROW(static_cast<void>(upcxx::new_<int>(1)), upcxx::bad_shared_alloc);
    EXPECT_EQ(upcxx::allocate(8), nullptr);
    // Calls and collectives do not need it.
    EXPECT_EQ(upcxx::rpc((upcxx::rank_me() + 1) % upcxx::rank_n(), answer).wait(), 42);
    ex::restore_heap();
    EXPECT_EQ(upcxx::shared_segment_size(), before);
    EXPECT_EQ(upcxx::shared_segment_used(), 0);
    upcxx::dist_object<upcxx::global_ptr<int>> slots(upcxx::new_<int>(upcxx::rank_me()));
    auto const next = (upcxx::rank_me() + 1) % upcxx::rank_n();
    EXPECT_EQ(upcxx::rget(slots.fetch(next).wait()).wait(), next);
    upcxx::barrier();
    upcxx::delete_(*slots);
  }
}

}  // namespace
