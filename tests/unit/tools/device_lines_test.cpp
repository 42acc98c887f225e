// What `atoll info` says of where network devices are.

#include "info/device_lines.hpp"

#include <gtest/gtest.h>

#include <string>

#include "unit/transport/fake_machine.hpp"

namespace atl::tools {
namespace {

class device_lines : public testing::Test {
 protected:
  void SetUp() override { machine_.add_nodes(2, 1); }
  void add(std::string const& name, std::string const& path, int node, std::string const& cpus) const {
    machine_.add_network(name, path, node);
    machine_.write("sys/devices/" + path + "/local_cpulist", cpus);
  }

  test::fake_machine machine_;

 private:
  test::no_gpu_variables const unset_;
};

TEST_F(device_lines, say_which_cores_are_near) {
  add("infiniband/mlx5_0", "pci0000:10/0000:11:00.0", 1, "4-7");
  add("net/eth0", "pci0000:00/0000:00:03.0", -1, "");
  EXPECT_EQ(
      words_on_devices({0}, machine_.root()),
      "            device mlx5_0: near cores 4-7 (NUMA node 1; distance 32 from those of this process, 10 is nearest)\n"
      "            device eth0: near no cores in particular\n");
  EXPECT_EQ(words_on_devices({0}, "/nowhere"), "");
}

TEST_F(device_lines, say_which_gpu_is_beside_and_whose_it_is) {
  add("infiniband/mlx5_0", "pci0000:10/0000:10:01.0/0000:11:00.0", -1, "0-3");
  add("infiniband/mlx5_1", "pci0000:20/0000:20:01.0/0000:21:00.0", -1, "0-3");
  machine_.add_gpu("pci0000:20/0000:20:01.0/0000:22:00.0");
  EXPECT_EQ(words_on_devices({0}, machine_.root()),
            "            device mlx5_0: near cores 0-3\n"
            "            device mlx5_1: near cores 0-3; beside GPU 0000:22:00.0 (of all ranks of a host)\n");
  machine_.add_gpu("pci0000:10/0000:10:02.0/0000:12:00.0");
  machine_.add_gpu("pci0000:20/0000:20:01.0/0000:23:00.0");
  EXPECT_EQ(
      words_on_devices({0}, machine_.root()),
      "            device mlx5_0: near cores 0-3\n"
      "            device mlx5_1: near cores 0-3; beside GPU 0000:22:00.0 (of ranks 1, 4, ... of a host), "
      "0000:23:00.0 (of ranks 2, 5, ... of a host)\n");
}

TEST_F(device_lines, a_gpu_under_the_nearer_switch_is_beside) {
  std::string const top = "pci0000:10/0000:10:01.0/0000:11:00.0/";
  machine_.add_gpu(top + "0000:12:00.0/0000:13:00.0");
  machine_.add_gpu(top + "0000:12:01.0/0000:14:00.0/0000:15:00.0");
  add("infiniband/mlx5_0", top + "0000:12:01.0/0000:14:01.0/0000:16:00.0", -1, "0-3");
  EXPECT_EQ(
      words_on_devices({0}, machine_.root()),
      "            device mlx5_0: near cores 0-3; beside GPU 0000:15:00.0 (of ranks 1, 3, ... of a host)\n");
}

}  // namespace
}  // namespace atl::tools
