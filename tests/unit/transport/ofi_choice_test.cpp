// Which devices of a list of libfabric's are used, over lists made by hand and a tree of files that stands for /sys.

#include "transport/ofi/choice.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include <rdma/fi_domain.h>

#include "unit/transport/fake_machine.hpp"

namespace atl::transport::ofi {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// As fi_getinfo() would give it.
class device_list {
 public:
  device_list() = default;
  device_list(device_list&&) = default;  // what is listed stays where it is
  device_list& add(std::string name, std::string network = "IB-0xfe80000000000000",
                   std::uint64_t gigabits = 400, char const* address = "10.0.0.1") {
    entry& made = entries_.emplace_back();
    made.name = std::move(name);
    made.network = std::move(network);
    made.provider = "verbs";
    made.fabric.name = made.network.data();
    made.fabric.prov_name = made.provider.data();
    made.domain.name = made.name.data();
    made.link.speed = gigabits * 1'000'000'000;
    made.nic.link_attr = &made.link;
    made.address.sin_family = AF_INET;
    ::inet_pton(AF_INET, address, &made.address.sin_addr);
    made.info.fabric_attr = &made.fabric;
    made.info.domain_attr = &made.domain;
    made.info.nic = &made.nic;
    made.info.src_addr = &made.address;
    made.info.src_addrlen = sizeof made.address;
    if (entries_.size() > 1) entries_[entries_.size() - 2].info.next = &made.info;
    return *this;
  }
  [[nodiscard]] fi_info const* first() const { return &entries_.front().info; }

 private:
  struct entry {
    std::string name, network, provider;
    fi_fabric_attr fabric{};
    fi_domain_attr domain{};
    fi_link_attr link{};
    fid_nic nic{};
    sockaddr_in address{};
    fi_info info{};
  };
  std::deque<entry> entries_;
};

class ofi_choice : public testing::Test {
 protected:
  /// Names of those that are chosen, the first one first; and what is said about it behind them.
  [[nodiscard]] std::vector<std::string> chosen(device_list const& list, std::string gpu,
                                                std::vector<int> cpus = {0},
                                                std::string const& devices = "") const {
    choice const made =
        choose_among(list.first(), devices, {std::move(cpus), std::move(gpu), machine_.sys()});
    std::vector<std::string> names;
    if (made.first != nullptr) names.emplace_back(made.first->domain_attr->name);
    for (fi_info const* each : made.alike) names.emplace_back(each->domain_attr->name);
    if (!made.why.empty()) names.push_back(made.why);
    return names;
  }
  static device_list eight() {
    device_list list;
    for (char const digit : {'0', '1', '2', '3', '4', '5', '6', '7'}) list.add(std::string("mlx5_") + digit);
    return list;
  }

  test::fake_machine machine_;
};

TEST_F(ofi_choice, each_rank_takes_the_adapter_beside_its_gpu) {
  machine_.add_pairs_under_switches();
  EXPECT_THAT(chosen(eight(), "0000:13:00.0"), ElementsAre("mlx5_0", "beside GPU 0000:13:00.0"));
  EXPECT_THAT(chosen(eight(), "0000:33:00.0"), ElementsAre("mlx5_2", "beside GPU 0000:33:00.0"));
  EXPECT_THAT(chosen(eight(), "0000:63:00.0", {5}), ElementsAre("mlx5_5", "beside GPU 0000:63:00.0"));
}

TEST_F(ofi_choice, without_gpu_all_that_are_near_the_cores_are_used) {
  machine_.add_pairs_under_switches();
  EXPECT_THAT(chosen(eight(), ""), ElementsAre("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"));
  EXPECT_THAT(chosen(eight(), "", {4}), ElementsAre("mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"));
  EXPECT_THAT(chosen(eight(), "0000:99:00.0"), ElementsAre("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"));
}

TEST_F(ofi_choice, cores_come_before_the_gpu) {
  machine_.add_pairs_under_switches();
  // A GPU of the other socket: all adapters here are as far from it.
  EXPECT_THAT(chosen(eight(), "0000:63:00.0", {0}), ElementsAre("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"));
  // Cores of both sockets.
  EXPECT_THAT(chosen(eight(), "0000:63:00.0", {0, 4}), ElementsAre("mlx5_5", "beside GPU 0000:63:00.0"));
}

TEST_F(ofi_choice, both_adapters_under_the_switch_of_a_gpu_are_used) {
  machine_.add_pairs_under_switches();
  machine_.add_network("infiniband/second", "pci0000:20/0000:20:01.0/0000:21:00.0/0000:22:02.0/0000:25:00.0");
  EXPECT_THAT(chosen(eight().add("second"), "0000:23:00.0"),
              ElementsAre("mlx5_1", "second", "beside GPU 0000:23:00.0"));
}

TEST_F(ofi_choice, where_no_adapter_shares_the_switch_those_of_the_node_are_used) {
  machine_.add_pairs_under_switches();
  machine_.add_gpu("pci0000:90/0000:90:01.0/0000:91:00.0", 1);
  EXPECT_THAT(chosen(eight(), "0000:91:00.0", {0, 4}),
              ElementsAre("mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7", "near GPU 0000:91:00.0"));
}

TEST_F(ofi_choice, nothing_is_said_of_a_gpu_that_has_decided_nothing) {
  machine_.add_pairs_under_switches();
  EXPECT_THAT(chosen(device_list().add("mlx5_0"), "0000:13:00.0"), ElementsAre("mlx5_0"));
}

TEST_F(ofi_choice, names_settle_it) {
  machine_.add_pairs_under_switches();
  EXPECT_THAT(chosen(eight(), "0000:33:00.0", {0}, "mlx5_0,verbs/mlx5_2"), ElementsAre("mlx5_0", "mlx5_2"));
  EXPECT_THAT(chosen(eight(), "0000:33:00.0", {0}, "mlx5_1:1"), ElementsAre("mlx5_1"));
  EXPECT_THAT(chosen(eight(), "0000:33:00.0", {0}, "all"), ElementsAre("mlx5_2", "beside GPU 0000:33:00.0"));
}

TEST_F(ofi_choice, no_gpu_leads_to_a_slower_device) {
  machine_.add_pairs_under_switches();
  device_list list;
  list.add("mlx5_1").add("mlx5_0", "IB-0xfe80000000000000", 25).add("mlx5_2");
  EXPECT_THAT(chosen(list, "0000:13:00.0"), ElementsAre("mlx5_1", "mlx5_2"));
  EXPECT_THAT(chosen(list, "0000:33:00.0"), ElementsAre("mlx5_2", "beside GPU 0000:33:00.0"));
}

TEST_F(ofi_choice, no_gpu_leads_to_another_network) {
  machine_.add_pairs_under_switches();
  device_list list;
  list.add("mlx5_0", "10.0.0.0/24").add("mlx5_1", "10.0.1.0/24").add("mlx5_2", "10.0.2.0/24");
  // All ranks meet in the first one. What is nearer helps with long transfers, what is farther does not.
  EXPECT_THAT(chosen(list, "0000:23:00.0"), ElementsAre("mlx5_0", "mlx5_1", "mlx5_2"));
  EXPECT_THAT(chosen(list, "0000:13:00.0"), ElementsAre("mlx5_0", "beside GPU 0000:13:00.0"));
}

TEST_F(ofi_choice, the_gpu_chooses_also_where_speeds_are_not_known) {
  machine_.add_pairs_under_switches();
  device_list list;
  for (char const* const name : {"mlx5_0", "mlx5_1", "mlx5_2"}) list.add(name, "cxi", 0);
  EXPECT_THAT(chosen(list, "0000:23:00.0"), ElementsAre("mlx5_1", "beside GPU 0000:23:00.0"));
  EXPECT_THAT(chosen(list, ""), ElementsAre("mlx5_0")) << "not alike";
}

TEST_F(ofi_choice, a_virtual_machine_is_as_without_gpu) {
  machine_.add_gpu("pci0000:00/0000:00:05.0", -1);
  machine_.add_network("net/eth0", "pci0000:00/0000:00:03.0", -1);
  machine_.add_network("net/eth1", "pci0000:00/0000:00:04.0", -1);
  EXPECT_THAT(chosen(device_list().add("eth0").add("eth1"), "0000:00:05.0"), ElementsAre("eth0", "eth1"));
}

TEST_F(ofi_choice, addresses_come_before_places) {
  machine_.add_pairs_under_switches();
  device_list list;
  list.add("mlx5_3", "net", 400, "169.254.0.1").add("mlx5_0", "net", 400, "127.0.0.1").add("mlx5_1", "net");
  EXPECT_THAT(chosen(list, "0000:13:00.0"), ElementsAre("mlx5_1"));
  EXPECT_THAT(chosen(list, "0000:13:00.0", {0}, "mlx5_3"), IsEmpty());
}

TEST_F(ofi_choice, bridges_of_guests_are_the_last_resort) {
  machine_.write("sys/class/net/docker0/bridge/bridge_id", "8000.0242ac110001");
  device_list list;
  list.add("lo", "127.0.0.0/8", 0, "127.0.0.1")
      .add("docker0", "172.17.0.0/16", 10, "172.17.0.1")
      .add("eth0", "10.0.0.0/8", 1, "10.0.0.1");
  EXPECT_THAT(chosen(list, ""), ElementsAre("eth0"));
  EXPECT_THAT(chosen(list, "", {0}, "docker0"), ElementsAre("docker0"));
  device_list others;
  others.add("lo", "127.0.0.0/8", 0, "127.0.0.1").add("docker0", "172.17.0.0/16", 10, "172.17.0.1");
  EXPECT_THAT(chosen(others, ""), ElementsAre("docker0"));
}

TEST_F(ofi_choice, loop_back_is_known) {
  EXPECT_FALSE(is_loop_back(*device_list().add("eth0").first()));
  EXPECT_TRUE(is_loop_back(*device_list().add("lo", "127.0.0.0/8", 0, "127.0.0.1").first()));
}

}  // namespace
}  // namespace atl::transport::ofi
