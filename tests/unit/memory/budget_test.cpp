#include "memory/host/budget.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace atoll::memory {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// A directory that looks like /proc and /sys of some host.
class memory_budget_test : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "atoll-budget-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    write("/proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\nSwapFree: 0 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(std::string const& path, std::string const& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

TEST_F(memory_budget_test, free_memory_of_the_host_bounds_without_control_groups) {
  memory_budget const budget = read_memory_budget(root_);
  EXPECT_EQ(budget.available_bytes, 4096 * mib);
  EXPECT_EQ(budget.reason, "4 GiB of memory free on the host");
}

TEST_F(memory_budget_test, swap_counts_for_the_host) {
  write("/proc/meminfo", "MemAvailable: 1048576 kB\nSwapFree: 1048576 kB\n");
  EXPECT_EQ(read_memory_budget(root_).available_bytes, 2048 * mib);
}

TEST_F(memory_budget_test, tightest_group_up_to_the_root_bounds) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/a/memory.max", std::to_string(512 * mib));
  write("/sys/fs/cgroup/a/memory.current", std::to_string(300 * mib));
  write("/sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file " + std::to_string(100 * mib) + "\n");
  write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  write("/sys/fs/cgroup/a/b/memory.current", "1\n");
  memory_budget const budget = read_memory_budget(root_);
  EXPECT_EQ(budget.available_bytes, 312 * mib);
  EXPECT_EQ(budget.reason, "312 MiB free in control group /a (limit 512 MiB)");
}

TEST_F(memory_budget_test, version_1_group_behind_a_container_mount_bounds) {
  write("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/docker/abc\n0::/\n");
  write("/proc/self/mountinfo",
        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(64 * mib));
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(80 * mib));
  EXPECT_EQ(read_memory_budget(root_).available_bytes, 0u);
}

TEST_F(memory_budget_test, nothing_readable_bounds_nothing) {
  EXPECT_EQ(read_memory_budget(root_ + "/absent").available_bytes, ~std::uint64_t{0});
}

TEST(explain_shortage, all_ranks_count) {
  memory_budget const budget{1024 * mib, "1 GiB of memory free on the host"};
  EXPECT_EQ(explain_shortage(budget, 128 * mib, 7), "");
  std::string const text = explain_shortage(budget, 128 * mib, 8);
  EXPECT_NE(text.find("128 MiB of shared memory for each of the 8 ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("1 GiB of memory free"), std::string::npos) << text;
  EXPECT_NE(text.find("about 120 MiB per rank would fit"), std::string::npos) << text;
}

TEST(explain_shortage, sizes_beyond_64_bits_are_too_much) {
  EXPECT_NE(explain_shortage({~std::uint64_t{0}, ""}, ~std::uint64_t{0} / 2, 3), "");
}

TEST(readable_bytes, picks_the_unit) {
  EXPECT_EQ(readable_bytes(0), "0 B");
  EXPECT_EQ(readable_bytes(1023), "1023 B");
  EXPECT_EQ(readable_bytes(1536), "1.5 KiB");
  EXPECT_EQ(readable_bytes(128 * mib), "128 MiB");
}

}  // namespace
}  // namespace atoll::memory
