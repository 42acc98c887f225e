#include "memory/host/budget.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace atl::memory {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

os::memory_limits host_with(std::uint64_t available) {
  os::memory_limits limits;
  limits.host_total = 8192 * mib;
  limits.host_available = available;
  return limits;
}

TEST(explain_shortage, all_ranks_count) {
  os::memory_limits const limits = host_with(1024 * mib);
  EXPECT_EQ(explain_shortage(limits, 128 * mib, 7), "");
  std::string const text = explain_shortage(limits, 128 * mib, 8);
  EXPECT_NE(text.find("128 MiB of shared memory for each of the 8 ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("1 GiB are free on the host (of 8 GiB)"), std::string::npos) << text;
  EXPECT_NE(text.find("7 would fit"), std::string::npos) << text;
}

TEST(explain_shortage, names_the_control_group_where_that_is_tighter) {
  os::memory_limits limits = host_with(4096 * mib);
  limits.group_limit = 512 * mib;
  limits.group_used = 200 * mib;
  std::string const text = explain_shortage(limits, 300 * mib, 2);
  EXPECT_NE(text.find("312 MiB are free in the control group (limit 512 MiB)"), std::string::npos) << text;
  EXPECT_EQ(explain_shortage(limits, 300 * mib, 1), "");
  limits.group_limit = 8192 * mib;
  EXPECT_EQ(explain_shortage(limits, 300 * mib, 2), "");
}

TEST(explain_shortage, sizes_beyond_64_bits_are_too_much) {
  EXPECT_NE(explain_shortage(host_with(~std::uint64_t{0}), ~std::uint64_t{0} / 2, 3), "");
}

TEST(explain_shortage, what_cannot_be_read_does_not_bound) {
  os::memory_limits limits;
  EXPECT_EQ(explain_shortage(limits, 1024 * mib, 100), "");
  limits.group_limit = 512 * mib;
  EXPECT_NE(explain_shortage(limits, 1024 * mib, 1), "");
}

TEST(explain_refusal, keeps_room_for_private_memory) {
  os::memory_limits limits = host_with(1024 * mib);
  EXPECT_EQ(explain_refusal(limits, 992 * mib, 4), "");
  std::string const text = explain_refusal(limits, 993 * mib, 4);
  EXPECT_EQ(
      text.find(
          "1 GiB are free on the host (of 8 GiB), 32 MiB of which are kept for messages and private memory of 4 ranks"),
      0u)
      << text;
  EXPECT_EQ(explain_refusal(limits, 960 * mib, 4, 8 * mib), "");
  EXPECT_NE(explain_refusal(limits, 961 * mib, 4, 8 * mib), "");
  limits.group_limit = 256 * mib;
  limits.group_used = 200 * mib;
  EXPECT_NE(explain_refusal(limits, 50 * mib, 1).find("56 MiB are free in the control group (limit 256 MiB)"),
            std::string::npos);
  EXPECT_EQ(explain_refusal(limits, 48 * mib, 1), "");
  EXPECT_NE(explain_refusal(limits, ~std::uint64_t{0}, 1), "");
}

TEST(explain_refusal, says_so_when_ranks_alone_need_more_than_there_is) {
  os::memory_limits const limits = host_with(1024 * mib);
  EXPECT_EQ(explain_refusal(limits, 1, 1000),
            "1 GiB are free on the host (of 8 GiB), but 1000 ranks on this host need 7.8 GiB for messages "
            "and private memory alone. Start fewer ranks.");
  EXPECT_NE(explain_refusal(limits, 1, 1, 2048 * mib).find("but 1 rank on this host needs 2.0 GiB for"),
            std::string::npos);
}

}  // namespace
}  // namespace atl::memory
