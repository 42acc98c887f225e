// Which GPU a rank uses, as files of the system and the vendors' variables say.

#include "transport/gpu_places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "unit/transport/fake_machine.hpp"

namespace atl::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class gpu_places : public testing::Test {
 protected:
  static void set(char const* name, char const* value) { ::setenv(name, value, 1); }
  [[nodiscard]] std::vector<std::string> usable() const { return usable_gpus(machine_.root()); }
  [[nodiscard]] std::string of_rank(int local_rank) const { return gpu_of_rank(local_rank, machine_.root()); }

  test::fake_machine machine_;

 private:
  test::no_gpu_variables const unset_;
};

TEST_F(gpu_places, ranks_begin_at_different_gpus_as_their_devices_do) {
  machine_.add_pairs_under_switches();
  EXPECT_THAT(usable(), SizeIs(8));
  EXPECT_EQ(of_rank(0), "0000:13:00.0");
  EXPECT_EQ(of_rank(3), "0000:43:00.0");
  EXPECT_EQ(of_rank(7), "0000:83:00.0");
  EXPECT_EQ(of_rank(9), "0000:23:00.0");
}

TEST_F(gpu_places, numbers_go_in_the_order_of_the_bus) {
  machine_.add_gpu("pci10000:00/10000:01:00.0");
  machine_.add_gpu("pcic05b:00/c05b:00:00.0");
  machine_.add_gpu("pci0000:08/0000:0a:00.0", 0, "0x10de", "0x030000");
  EXPECT_THAT(usable(), ElementsAre("0000:0a:00.0", "c05b:00:00.0", "10000:01:00.0"));
}

TEST_F(gpu_places, none_where_there_are_none) {
  EXPECT_THAT(usable_gpus("/nowhere"), IsEmpty());
  machine_.add_nodes(2, 1);
  machine_.add_network("infiniband/mlx5_0", "pci0000:10/0000:11:00.0");
  EXPECT_EQ(of_rank(0), "");
}

TEST_F(gpu_places, what_only_looks_like_one_does_not_count) {
  machine_.add_gpu("pci0000:00/0000:00:02.0", 0, "0x8086", "0x030000");               // in the processor
  machine_.add_gpu("pci0000:00/0000:00:1c.0/0000:03:00.0", 0, "0x1a03", "0x030000");  // for the console
  machine_.add_pci("pci0000:40/0000:41:00.0", "0x068000", "0x10de", 0);               // switch of NVLink
  machine_.add_pci("pci0000:40/0000:42:00.1", "0x040300", "0x10de", 0);               // sound of a GPU
  EXPECT_THAT(usable(), IsEmpty());
}

TEST_F(gpu_places, files_that_are_missing_leave_a_device_out) {
  machine_.add_pairs_under_switches();
  std::string const devices = machine_.sys() + "/bus/pci/devices/";
  std::filesystem::remove(devices + "0000:13:00.0/numa_node");
  std::filesystem::remove(devices + "0000:23:00.0/vendor");
  std::filesystem::remove(devices + "0000:33:00.0/class");
  EXPECT_THAT(usable(),
              ElementsAre("0000:43:00.0", "0000:53:00.0", "0000:63:00.0", "0000:73:00.0", "0000:83:00.0"));
}

TEST_F(gpu_places, in_a_virtual_machine_they_need_no_numa_node) {
  machine_.add_gpu("pci0000:00/0000:00:05.0", -1);
  EXPECT_THAT(usable(), ElementsAre("0000:00:05.0"));
}

TEST_F(gpu_places, variables_choose_by_numbers) {
  machine_.add_pairs_under_switches();
  set("CUDA_VISIBLE_DEVICES", "6,2");
  EXPECT_THAT(usable(), ElementsAre("0000:73:00.0", "0000:33:00.0"));
  EXPECT_EQ(of_rank(1), "0000:33:00.0");
  set("CUDA_VISIBLE_DEVICES", "5");
  EXPECT_EQ(of_rank(3), "0000:63:00.0");
  set("HIP_VISIBLE_DEVICES", "1");
  EXPECT_EQ(of_rank(3), "0000:63:00.0") << "the other vendor's";
}

TEST_F(gpu_places, what_follows_a_wrong_number_is_not_seen) {
  machine_.add_pairs_under_switches();
  set("CUDA_VISIBLE_DEVICES", "1,8,2");
  EXPECT_THAT(usable(), ElementsAre("0000:23:00.0"));
  for (char const* const none : {"", "-1", "-1,0"}) {
    set("CUDA_VISIBLE_DEVICES", none);
    EXPECT_THAT(usable(), IsEmpty()) << none;
  }
}

TEST_F(gpu_places, nobody_knows_which_are_named_otherwise) {
  machine_.add_pairs_under_switches();
  machine_.add_gpu("pci0000:a0/0000:a1:00.0", 0, "0x1002");
  for (char const* const names : {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "MIG-GPU-8932f937/1/0",
                                  "0,GPU-8932f937", "NoDevFiles", "3x", "1,,2"}) {
    set("CUDA_VISIBLE_DEVICES", names);
    EXPECT_EQ(of_rank(0), "") << names;
  }
}

TEST_F(gpu_places, those_that_the_process_may_not_open_are_not_numbered) {
  machine_.add_pairs_under_switches();
  auto const tell = [&](std::string const& address, std::string const& minor) {
    machine_.write("proc/driver/nvidia/gpus/" + address + "/information",
                   "Model: \t\t NVIDIA H200\nBus Location: \t " + address + "\nDevice Minor: \t " + minor);
  };
  tell("0000:23:00.0", "0");  // numbers of files go their own way
  tell("0000:33:00.0", "3");
  tell("0000:43:00.0", "2");
  tell("0000:53:00.0", "");
  EXPECT_THAT(usable(), IsEmpty());
  machine_.write("dev/nvidia3", "");
  EXPECT_THAT(usable(), ElementsAre("0000:33:00.0"));
  machine_.write("dev/nvidia2", "");
  set("CUDA_VISIBLE_DEVICES", "1");
  EXPECT_EQ(of_rank(0), "0000:43:00.0");
}

TEST_F(gpu_places, nor_are_such_of_amd) {
  machine_.add_gpu("pci0000:00/0000:01:00.0", 0, "0x1002");
  machine_.add_gpu("pci0000:20/0000:21:00.0", 0, "0x1002");
  machine_.write("sys/devices/pci0000:00/0000:01:00.0/drm/card0/dev", "226:0");
  machine_.write("sys/devices/pci0000:00/0000:01:00.0/drm/renderD128/dev", "226:128");
  machine_.write("sys/devices/pci0000:20/0000:21:00.0/drm/card1/dev", "226:1");
  EXPECT_THAT(usable(), ElementsAre("0000:21:00.0")) << "nobody says by which file that is opened";
  machine_.write("dev/dri/renderD128", "");
  EXPECT_THAT(usable(), SizeIs(2));
}

TEST_F(gpu_places, amds_are_numbered_by_two_variables_in_turn) {
  machine_.add_gpu("pci0000:00/0000:01:00.0", 0, "0x1002", "0x038000");
  machine_.add_gpu("pci0000:20/0000:21:00.0", 0, "0x1002", "0x120000");
  machine_.add_gpu("pci0000:40/0000:41:00.0", 0, "0x1002", "0x120000");
  EXPECT_THAT(usable(), SizeIs(3));
  set("CUDA_VISIBLE_DEVICES", "GPU-8932f937");
  EXPECT_THAT(usable(), SizeIs(3)) << "the other vendor's";
  set("HIP_VISIBLE_DEVICES", "1");
  EXPECT_EQ(of_rank(5), "0000:21:00.0");
  set("ROCR_VISIBLE_DEVICES", "0,2");
  EXPECT_EQ(of_rank(5), "0000:41:00.0") << "the second of those that the first variable leaves";
  set("ROCR_VISIBLE_DEVICES", "GPU-4b2c1a9f");
  EXPECT_EQ(of_rank(5), "");
}

TEST_F(gpu_places, the_kind_that_programs_get_first_is_asked_first) {
  machine_.add_gpu("pci0000:00/0000:01:00.0", 0, "0x1002");
  machine_.add_gpu("pci0000:20/0000:21:00.0");
  EXPECT_EQ(of_rank(0), "0000:21:00.0");
  set("ATOLL_CUDA_DRIVER", "none");
  EXPECT_EQ(of_rank(0), "0000:01:00.0");
  ::unsetenv("ATOLL_CUDA_DRIVER");
  set("CUDA_VISIBLE_DEVICES", "");
  EXPECT_EQ(of_rank(0), "0000:01:00.0");
  set("ATOLL_HIP_DRIVER", "none");
  EXPECT_EQ(of_rank(0), "");
}

}  // namespace
}  // namespace atl::transport
