// What is particular to the network over UCX: what it says of itself, and what its library may not do to the process.

#include <csignal>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/plugins.hpp"

namespace atl::transport {
namespace {

using testing::AllOf;
using testing::HasSubstr;

network_config between_simulated_hosts() {
  network_config config;
  config.ranks = 2;
  config.one_machine = true;
  return config;
}

TEST(ucx, SimulatedHostsTalkByTcpOnly) {
  opened_network const opened = open_plugin("ucx", between_simulated_hosts());
  ASSERT_NE(opened.network, nullptr) << opened.why_not;
  EXPECT_EQ(opened.network->name(), "ucx");
  EXPECT_THAT(opened.network->description(), AllOf(HasSubstr("libucp 1."), testing::EndsWith(": tcp/lo")));
  EXPECT_TRUE(opened.network->abilities().put.needs_target);
}

TEST(ucx, SignalsAreWhatTheyWere) {
  ASSERT_NE(open_plugin("ucx", between_simulated_hosts()).network, nullptr);
  for (int const signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGHUP}) {
    struct sigaction now {};
    ASSERT_EQ(::sigaction(signal, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << signal;
  }
}

TEST(ucx, DevicesThatDoNotExistAreNamedWithThoseThatDo) {
  network_config config = between_simulated_hosts();
  config.one_machine = false;
  config.devices = "no_such_device";
  opened_network const opened = open_plugin("ucx", config);
  EXPECT_EQ(opened.network, nullptr);
  EXPECT_THAT(opened.why_not, AllOf(HasSubstr("ATOLL_NET_DEVICES=no_such_device"), HasSubstr("tcp/lo")));
}

TEST(ucx, SettingsThatLeaveNothingAreNamed) {
  network_config config = between_simulated_hosts();
  config.one_machine = false;
  ::setenv("UCX_TLS", "self,sm", 1);
  opened_network const opened = open_plugin("ucx", config);
  ::unsetenv("UCX_TLS");
  EXPECT_EQ(opened.network, nullptr);
  EXPECT_THAT(opened.why_not, HasSubstr("no network device on this host (set: UCX_TLS=self,sm)"));
}

TEST(ucx, AnAddressThatDoesNotFitIsRefused) {
  network_config config = between_simulated_hosts();
  config.address_room = 20;
  opened_network const opened = open_plugin("ucx", config);
  EXPECT_EQ(opened.network, nullptr);
  EXPECT_THAT(opened.why_not, AllOf(HasSubstr("20 can be passed on"), HasSubstr("fewer devices")));
}

TEST(ucx, AnAddressIsRefusedThatIsNone) {
  opened_network const opened = open_plugin("ucx", between_simulated_hosts());
  ASSERT_NE(opened.network, nullptr) << opened.why_not;
  std::string const text = "not an address of UCX";
  EXPECT_EQ(opened.network->connect(1, std::as_bytes(std::span(text))), started::unsupported);
  EXPECT_THAT(opened.network->last_error(), HasSubstr("no address"));
}

}  // namespace
}  // namespace atl::transport
