// What `atoll info --hosts` prints.

#include "info/host_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace atl::tools {
namespace {

host_facts host(std::string name, bool has_ucx, bool has_ofi = true) {
  return {std::move(name),
          {{"ucx", has_ucx, has_ucx ? "libucp 1.13.1, devices tcp/eth0" : "no libucp.so.0"},
           {"ofi", has_ofi, has_ofi ? "libfabric 1.17, tcp/eth0" : "no device"}}};
}

TEST(host_table, two_hosts_that_are_alike) {
  EXPECT_EQ(table_of({host("a", true), host("b", true)}),
            "hosts       2; order of choice: shm inside a host, ucx, ofi\n"
            "  a, b  ucx  libucp 1.13.1, devices tcp/eth0\n"
            "        ofi  libfabric 1.17, tcp/eth0\n"
            "pairs       what a job on two of them would use\n"
            "  ranks of one host     shm\n"
            "  a, b with each other  ucx\n"
            "job         on all of them: ucx\n");
}

TEST(host_table, many_hosts_are_as_readable) {
  std::vector<host_facts> hosts;
  for (int i = 1; i <= 64; ++i) hosts.push_back(host("n" + std::to_string(i), i != 7 && i != 9));
  EXPECT_EQ(table_of(hosts),
            "hosts       64; order of choice: shm inside a host, ucx, ofi\n"
            "  n[1-6,8,10-64]  ucx  libucp 1.13.1, devices tcp/eth0\n"
            "                  ofi  libfabric 1.17, tcp/eth0\n"
            "  n[7,9]          ucx  cannot be used: no libucp.so.0\n"
            "                  ofi  libfabric 1.17, tcp/eth0\n"
            "pairs       what a job on two of them would use\n"
            "  ranks of one host               shm\n"
            "  n[1-6,8,10-64] with each other  ucx\n"
            "  n[1-6,8,10-64] with n[7,9]      ofi (not ucx: n[7,9] lack it)\n"
            "  n[7,9] with each other          ofi (not ucx: n[7,9] lack it)\n"
            "job         on all of them: ofi (not ucx: n[7,9] lack it)\n");
}

TEST(host_table, hosts_that_have_nothing_in_common) {
  std::string const text = table_of({host("a", true, false), host("b", false, true)});
  EXPECT_THAT(text, testing::HasSubstr("a with b           nothing (ucx: b lacks it; ofi: a lacks it)\n"));
}

TEST(host_table, hosts_that_list_other_networks_lack_the_rest) {
  host_facts only_ofi = host("b", true);
  only_ofi.networks.erase(only_ofi.networks.begin());
  EXPECT_THAT(table_of({host("a", true), only_ofi}),
              testing::HasSubstr("a with b           ofi (not ucx: b lacks it)\n"));
  host_facts other_order = host("b", false);
  std::swap(other_order.networks[0], other_order.networks[1]);
  EXPECT_THAT(table_of({host("a", true), other_order}),
              testing::HasSubstr("a with b           ofi (not ucx: b lacks it)\n"));
}

TEST(host_table, short_names_of_hosts) {
  EXPECT_EQ(short_names({"nid007", "nid008", "login", "nid010"}), "nid[007-008,010], login");
  EXPECT_EQ(short_names({"10", "11"}), "[10-11]");
  EXPECT_EQ(short_names({"a1"}), "a1");
}

TEST(host_table, cards) {
  host_facts facts = host("a", false);
  auto const back = from_card(to_card(facts));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->host, "a");
  EXPECT_EQ(back->networks, facts.networks);
  facts.networks[0].words = "two\nlines " + std::string(5000, 'x');
  std::string const card = to_card(facts);
  EXPECT_LE(card.size(), 1024U);
  ASSERT_TRUE(from_card(card));
  EXPECT_EQ(from_card(card)->networks[1], facts.networks[1]);
  for (char const* const bad : {"a\nucx", "a\nucx\n", "a\nucx\n?"}) EXPECT_FALSE(from_card(bad)) << bad;
}

}  // namespace
}  // namespace atl::tools
