// What is particular to the network over UCX: what it says of itself, and what its library may not do to the process.

#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network_fabric.hpp"
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

class ucx_long : public network_test {};

// Shorter ones would be written wherever the key says; the engine has keys dropped before.
TEST_P(ucx_long, TransfersNeedMemoryThatIsRegistered) {
  open(2);
  std::string const version = at(0).net->description();
  if (std::stoi(version.substr(version.find("libucp 1.") + 9)) >= 16)
    GTEST_SKIP() << "they are put and got there";
  connect(0, 1);
  bytes memory = pattern(400'000, 1);
  bytes const before = memory;
  registration* const r = enter(1, memory);
  remote_key* const key = share(1, r, 0);
  at(1).net->forget(r);
  bytes data(300'000);
  counted put, get, flushed(ask_finished);
  ASSERT_EQ(at(0).net->put(1, {key, 0}, {data.data()}, data.size(), &put), started::under_way);
  ASSERT_EQ(at(0).net->get(1, {data.data()}, {key, 0}, data.size(), &get), started::under_way);
  ASSERT_TRUE(until([&] { return put.finished == 1 && get.finished == 1; }));
  EXPECT_EQ(put.source, 1);
  EXPECT_EQ(put.how, outcome::bad_key);
  EXPECT_EQ(get.how, outcome::bad_key);
  EXPECT_TRUE(memory == before);
  EXPECT_TRUE(data == bytes(data.size()));
  ASSERT_NE(at(0).net->put(1, {key, 0}, {data.data()}, data.size(), nullptr), started::unsupported);
  started const s = at(0).net->flush(1, &flushed);
  ASSERT_TRUE(s == started::under_way && until([&] { return flushed.finished == 1; }));
  EXPECT_EQ(flushed.how, outcome::bad_key);
  at(0).net->drop_key(1, key);
}

INSTANTIATE_TEST_SUITE_P(Ucx, ucx_long, testing::ValuesIn(network_kinds()), name_of_network);

}  // namespace
}  // namespace atl::transport
