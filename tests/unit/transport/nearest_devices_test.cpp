// Near which cores and GPUs devices are: in a tree of files that stands for /sys.

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
  add("infiniband/rdmap79s0", "2", "8-11");
  EXPECT_EQ(distance_of("efa/rdmap79s0-rdm", {0}, sys_), 32);
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

TEST_F(nearest_devices, bridges_of_guests_lead_nowhere) {
  auto const bridge = [this](std::string const& name) {
    fs::create_directories(fs::path(sys_) / "class/net" / name / "bridge");
  };
  auto const join = [this](std::string const& name, std::string const& port) {
    fs::create_directories(fs::path(sys_) / "class/net" / port);
    fs::create_directories(fs::path(sys_) / "class/net" / name / ("lower_" + port));
  };
  auto const leads_nowhere = [this](char const* name) {
    return joins_guests_only(name, sys_, sys_ + "/routes");
  };
  bridge("docker0");
  EXPECT_TRUE(leads_nowhere("docker0"));
  join("docker0", "veth1");
  EXPECT_TRUE(leads_nowhere("docker0"));
  EXPECT_FALSE(leads_nowhere("veth1"));
  EXPECT_FALSE(leads_nowhere("nothing"));

  // By a VLAN of a bond of two adapters.
  bridge("br0");
  join("br0", "veth2");
  join("br0", "bond0.7");
  join("bond0.7", "bond0");
  join("bond0", "eth5");
  EXPECT_TRUE(leads_nowhere("br0"));
  fs::create_directories(fs::path(sys_) / "class/net/eth5/device");
  EXPECT_FALSE(leads_nowhere("br0"));

  // In a container the host's network may come by one that is virtual.
  write("routes",
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"
        "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
        "lxcbr0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0");
  bridge("lxcbr0");
  EXPECT_FALSE(leads_nowhere("lxcbr0"));
  EXPECT_TRUE(leads_nowhere("docker0"));
}

class nearest_to_gpu : public testing::Test {
 protected:
  [[nodiscard]] gpu_nearness of(std::string_view device, std::string_view gpu) const {
    return nearness_to_gpu(device, gpu, machine_.sys());
  }
  [[nodiscard]] bool is_nearer(std::string_view device, std::string_view than, std::string_view gpu) const {
    return nearer(of(device, gpu), of(than, gpu));
  }
  void expect_equal(std::string_view device, std::string_view other, std::string_view gpu) const {
    EXPECT_FALSE(is_nearer(device, other, gpu)) << device << ' ' << other;
    EXPECT_FALSE(is_nearer(other, device, gpu)) << device << ' ' << other;
  }

  test::fake_machine machine_;
};

TEST_F(nearest_to_gpu, is_what_shares_its_switch_then_its_node) {
  machine_.add_pairs_under_switches();
  EXPECT_EQ(of("mlx5_0:1", "0000:13:00.0").bridges, 2);
  EXPECT_EQ(of("mlx5_5", "0000:63:00.0").bridges, 2);
  EXPECT_EQ(of("mlx5_1", "0000:13:00.0").bridges, 0);
  EXPECT_EQ(of("mlx5_1", "0000:13:00.0").distance, 10);
  EXPECT_EQ(of("mlx5_4", "0000:13:00.0").distance, 32);
  EXPECT_TRUE(is_nearer("mlx5_0", "mlx5_1", "0000:13:00.0"));
  EXPECT_TRUE(is_nearer("mlx5_1", "mlx5_0", "0000:23:00.0"));
  EXPECT_TRUE(is_nearer("mlx5_3", "mlx5_4", "0000:13:00.0"));
  expect_equal("mlx5_1", "mlx5_3", "0000:13:00.0");
}

TEST_F(nearest_to_gpu, a_switch_behind_a_switch_is_nearer) {
  std::string const top = "pci0000:10/0000:10:01.0/0000:11:00.0/";
  machine_.add_gpu(top + "0000:12:00.0/0000:13:00.0/0000:14:00.0/0000:15:00.0");
  machine_.add_network("infiniband/same", top + "0000:12:00.0/0000:13:00.0/0000:14:01.0/0000:16:00.0");
  machine_.add_network("infiniband/above", top + "0000:12:01.0/0000:17:00.0");
  machine_.add_network("infiniband/apart", "pci0000:10/0000:10:02.0/0000:18:00.0");
  EXPECT_TRUE(is_nearer("same", "above", "0000:15:00.0"));
  EXPECT_TRUE(is_nearer("above", "apart", "0000:15:00.0"));
  EXPECT_EQ(of("apart", "0000:15:00.0").bridges, 0) << "a bus that both begin with is no switch";
}

TEST_F(nearest_to_gpu, functions_of_one_adapter_are_equally_near) {
  machine_.add_pairs_under_switches();
  machine_.add_network("net/ib0", "pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:01.0/0000:14:00.1");
  expect_equal("mlx5_0", "tcp/ib0", "0000:13:00.0");
}

TEST_F(nearest_to_gpu, in_a_virtual_machine_nothing_is_nearer) {
  machine_.add_gpu("pci0000:00/0000:00:05.0", -1);
  machine_.add_network("net/eth0", "pci0000:00/0000:00:03.0", -1);
  machine_.add_network("net/eth1", "pci0000:00/0000:00:06.0/virtio3", -1);
  expect_equal("eth0", "eth1", "0000:00:05.0");
  // Devices that a hypervisor passes on, each with a bus of its own.
  std::string const passed = "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/";
  machine_.add_gpu(passed + "47505500-0001/pci0001:00/0001:00:00.0", 0);
  machine_.add_network("infiniband/mlx5_0", passed + "47505500-0002/pci0101:00/0101:00:02.0", 0);
  EXPECT_EQ(of("mlx5_0", "0001:00:00.0").bridges, 0);
  expect_equal("mlx5_0", "eth0", "0001:00:00.0");
}

TEST_F(nearest_to_gpu, nothing_is_held_against_what_is_not_known) {
  machine_.add_pairs_under_switches();
  for (char const* const gpu : {"", "0000:99:00.0"}) expect_equal("mlx5_0", "mlx5_7", gpu);
  fs::create_directories(machine_.sys() + "/class/net/veth7");
  for (char const* const device : {"veth7", "nowhere", ""}) {
    EXPECT_EQ(of(device, "0000:13:00.0").bridges, 0);
    EXPECT_EQ(of(device, "0000:13:00.0").distance, 10);
  }
  fs::remove_all(machine_.sys() + "/devices/system");
  EXPECT_TRUE(is_nearer("mlx5_0", "mlx5_1", "0000:13:00.0"));
  expect_equal("mlx5_1", "mlx5_7", "0000:13:00.0");
}

TEST(cpus_of_this_process, are_some) { EXPECT_FALSE(cpus_of_this_process().empty()); }

}  // namespace
}  // namespace atl::transport
