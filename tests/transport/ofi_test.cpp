// What is particular to the network over libfabric: what it says of itself, and what its library may not do to the process.

#include <csignal>
#include <map>
#include <string>
#include <vector>

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

using signal_handler = void (*)(int);

signal_handler handler_of(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 ? now.sa_handler : SIG_ERR;
}

// Before the library is opened. A sanitizer has taken some by then.
std::map<int, signal_handler> const handlers_at_start = [] {
  std::map<int, signal_handler> handlers;
  for (int const signal : {SIGINT, SIGTERM, SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) {
    handlers.emplace(signal, handler_of(signal));
  }
  return handlers;
}();

TEST(ofi, SimulatedHostsTalkByLoopBack) {
  opened_network const opened = open_plugin("ofi", between_simulated_hosts());
  ASSERT_NE(opened.network, nullptr) << opened.why_not;
  EXPECT_EQ(opened.network->name(), "ofi");
  EXPECT_THAT(opened.network->description(), AllOf(HasSubstr("libfabric "), testing::EndsWith("/lo")));
  // So that a put and its notice take one way.
  EXPECT_EQ(opened.network->abilities().put_notified.how, support::native);
}

TEST(ofi, SignalsAreWhatTheyWere) {
  ASSERT_NE(open_plugin("ofi", between_simulated_hosts()).network, nullptr);
  for (auto const& [signal, handler] : handlers_at_start) {
    EXPECT_EQ(handler_of(signal), handler) << signal;
  }
}

TEST(ofi, DevicesAreFoundByTheirNames) {
  network_config config = between_simulated_hosts();
  config.one_machine = false;
  for (char const* const devices : {"lo", "tcp/lo", "no_such_device,lo:1"}) {
    config.devices = devices;
    opened_network const opened = open_plugin("ofi", config);
    ASSERT_NE(opened.network, nullptr) << opened.why_not;
    EXPECT_THAT(opened.network->description(), testing::EndsWith("tcp/lo"));
  }
}

TEST(ofi, OneEndpointForAllPeersIsTakenWhereItsProviderIsNamed) {
  network_config config = between_simulated_hosts();
  opened_network const usual = open_plugin("ofi", config);
  ASSERT_NE(usual.network, nullptr) << usual.why_not;
  EXPECT_TRUE(usual.network->abilities().ends_what_is_lost) << "connected endpoints come first";
  config.devices = "tcp;ofi_rxm/lo";
  opened_network const opened = open_plugin("ofi", config);
  ASSERT_NE(opened.network, nullptr) << opened.why_not;
  EXPECT_THAT(opened.network->description(), testing::EndsWith("tcp;ofi_rxm/lo"));
  EXPECT_FALSE(opened.network->abilities().ends_what_is_lost);
  EXPECT_EQ(opened.network->abilities().losses, loss_notice::none);
  // They do not talk to each other, and say so.
  EXPECT_EQ(opened.network->connect(1, usual.network->address()), started::unsupported);
  EXPECT_THAT(opened.network->last_error(), HasSubstr("tcp;ofi_rxm"));
}

TEST(ofi, DevicesThatDoNotExistAreNamedWithThoseThatDo) {
  network_config config = between_simulated_hosts();
  config.one_machine = false;
  config.devices = "no_such_device";
  opened_network const opened = open_plugin("ofi", config);
  EXPECT_EQ(opened.network, nullptr);
  EXPECT_THAT(opened.why_not, AllOf(HasSubstr("ATOLL_NET_DEVICES=no_such_device"), HasSubstr("tcp/lo")));
}

TEST(ofi, AnAddressThatDoesNotFitIsRefused) {
  network_config config = between_simulated_hosts();
  config.address_room = 4;
  opened_network const opened = open_plugin("ofi", config);
  EXPECT_EQ(opened.network, nullptr);
  EXPECT_THAT(opened.why_not, HasSubstr("4 can be passed on"));
}

TEST(ofi, AnAddressIsRefusedThatIsNone) {
  opened_network const opened = open_plugin("ofi", between_simulated_hosts());
  ASSERT_NE(opened.network, nullptr) << opened.why_not;
  std::string const text = "not an address of libfabric";
  EXPECT_EQ(opened.network->connect(1, std::as_bytes(std::span(text))), started::unsupported);
  EXPECT_THAT(opened.network->last_error(), HasSubstr("no address"));
}

struct refusals final : receiver {
  std::string words;
  taken arrived(arrival const& /*what*/) override { return taken::consumed; }
  void notified(std::int32_t /*peer*/, std::uint64_t /*tag*/) override {}
  void connection(connection_event const& event) override { words = event.words; }
};

TEST(ofi, WhoIsRefusedSaysWhere) {
  opened_network const opened = open_plugin("ofi", between_simulated_hosts());
  ASSERT_NE(opened.network, nullptr) << opened.why_not;
  std::vector<std::byte> gone;
  {
    opened_network const other = open_plugin("ofi", between_simulated_hosts());
    ASSERT_NE(other.network, nullptr) << other.why_not;
    gone.assign(other.network->address().begin(), other.network->address().end());
  }
  ASSERT_EQ(opened.network->connect(1, gone), started::under_way);
  refusals heard;
  while (heard.words.empty()) opened.network->poll(heard);
  EXPECT_THAT(heard.words, testing::MatchesRegex(R"(.+ \(127\.0\.0\.1 port [0-9]+\))"));
}

}  // namespace
}  // namespace atl::transport
