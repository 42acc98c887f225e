// Near which cores devices are: in a tree of files that stands for /sys.

#include "transport/nearest_devices.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "unit/transport/fake_machine.hpp"

namespace atl::transport {
namespace {

namespace fs = std::filesystem;

/// Two sockets of two NUMA nodes each; an adapter beside the first and one beside the last, two interfaces, and one without a place.
class nearest_devices : public testing::Test {
 protected:
  void SetUp() override {
    machine_.add_nodes(2, 2);
    add("infiniband/mlx5_1", "3", "12-15");
    add("infiniband/mlx5_0", "0", "0-3");
    add("net/eth1", "1", "4-7");
    add("net/eth0", "-1", "");
    fs::create_directories(fs::path(sys_) / "class/net/veth7");
  }
  void write(std::string const& file, std::string const& line) const { machine_.write("sys/" + file, line); }
  void add(std::string const& device, std::string const& node, std::string const& cpus) const {
    write("class/" + device + "/device/numa_node", node);
    write("class/" + device + "/device/local_cpulist", cpus);
  }

  test::fake_machine machine_;
  std::string sys_ = machine_.sys();
};

TEST_F(nearest_devices, are_listed_with_their_places) {
  std::string text;
  for (device_place const& each : attached_devices(sys_))
    text += each.name + " " + std::to_string(each.numa_node) + " " + each.cpus + "\n";
  EXPECT_EQ(text, "mlx5_0 0 0-3\nmlx5_1 3 12-15\neth0 -1 \neth1 1 4-7\n");
}

TEST_F(nearest_devices, distance_is_that_of_the_nearest_core) {
  EXPECT_EQ(distance_of("mlx5_0:1", {1}, sys_), 10);
  EXPECT_EQ(distance_of("verbs/mlx5_0", {7}, sys_), 12);
  EXPECT_EQ(distance_of("mlx5_0", {9, 15}, sys_), 32);
  EXPECT_EQ(distance_of("mlx5_1", {9, 15}, sys_), 10);
  EXPECT_EQ(distance_of("mlx5_1", {11, 3}, sys_), 12);
  EXPECT_EQ(distance_of("tcp/eth1", {0}, sys_), 12);
}

TEST_F(nearest_devices, nothing_is_held_against_what_is_not_known) {
  EXPECT_EQ(distance_of("eth0", {0}, sys_), 10);
  EXPECT_EQ(distance_of("veth7", {0}, sys_), 10);
  EXPECT_EQ(distance_of("nowhere", {0}, sys_), 10);
  EXPECT_EQ(distance_of("", {0}, sys_), 10);
  EXPECT_EQ(distance_of("mlx5_0", {}, sys_), 10);
  EXPECT_EQ(distance_of("mlx5_0", {99}, sys_), 10);
  EXPECT_TRUE(attached_devices("/nowhere").empty());
}

TEST_F(nearest_devices, speeds_are_those_that_the_system_says) {
  write("class/net/eth0/speed", "25000");
  write("class/net/veth7/speed", "-1");
  EXPECT_EQ(interface_speed("eth0", sys_), 25'000'000'000U);
  EXPECT_EQ(interface_speed("veth7", sys_), 0U);
  EXPECT_EQ(interface_speed("eth1", sys_), 0U);
  fs::create_directories(fs::path(sys_) / "class/net/eth1/bridge");
  EXPECT_TRUE(is_bridge("eth1", sys_));
  EXPECT_FALSE(is_bridge("eth0", sys_));
}

TEST(cpus_of_this_process, are_some) { EXPECT_FALSE(cpus_of_this_process().empty()); }

}  // namespace
}  // namespace atl::transport
