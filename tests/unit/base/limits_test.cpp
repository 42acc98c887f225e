// Cores and memory as control groups allow them, read from imitated /proc and /sys trees.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/os/cores.hpp"
#include "base/os/memory.hpp"

namespace {

class tree : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "limits-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    write("/proc/meminfo", "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:   8000 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(std::string const& path, std::string const& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  char const* root() const { return root_.c_str(); }

 private:
  std::string root_;
};

TEST_F(tree, no_control_group_no_limit) {
  EXPECT_EQ(atl::os::cgroup_core_quota(root()), 0);
  auto const limits = atl::os::read_memory_limits(root());
  EXPECT_EQ(limits.host_total, 16000U * 1024);
  EXPECT_EQ(limits.available(), 8000U * 1024);
  EXPECT_FALSE(limits.group_limit);
}

TEST_F(tree, version_2_takes_the_tightest_limit_on_the_way_up) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/outer/inner/memory.max", "3000000\n");
  write("/sys/fs/cgroup/outer/inner/memory.current", "1000000\n");
  write("/sys/fs/cgroup/outer/inner/memory.stat", "anon 5\ninactive_file 300000\nactive_file 100000\n");
  write("/sys/fs/cgroup/outer/memory.max", "max\n");
  EXPECT_DOUBLE_EQ(atl::os::cgroup_core_quota(root()), 1.5);
  auto const limits = atl::os::read_memory_limits(root());
  EXPECT_EQ(limits.group_limit, 3000000U);
  EXPECT_EQ(limits.group_used, 600000U);
  EXPECT_EQ(limits.available(), 2400000U);
}

TEST_F(tree, version_1) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n");
  write("/proc/self/mountinfo",
        "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2000000\n");
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1500000\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_DOUBLE_EQ(atl::os::cgroup_core_quota(root()), 0.5);
  EXPECT_EQ(atl::os::read_memory_limits(root()).available(), 500000U);
}

TEST_F(tree, container_that_sees_only_its_own_part_of_the_tree) {
  write("/proc/self/cgroup", "0::/docker/abc/job\n");
  write("/proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  write("/sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(atl::os::cgroup_core_quota(root()), 2);
}

TEST(limits, this_machine_has_cores_and_memory) {
  EXPECT_GE(atl::os::usable_cores(), 1);
  EXPECT_FALSE(atl::os::affinity_cores().empty());
  auto const limits = atl::os::read_memory_limits();
  EXPECT_GT(limits.host_total, 0U);
  EXPECT_LE(limits.available(), limits.host_total);
}

}  // namespace
