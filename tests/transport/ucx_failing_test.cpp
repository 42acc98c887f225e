// Endpoints that libucp does not make: who hears of it.

#include <dlfcn.h>

#include <chrono>
#include <cstring>

#include "network_fabric.hpp"
#include "transport/plugins.hpp"

namespace atl::transport {

class ucx_job final : public network_job {
 public:
  std::unique_ptr<network> open(std::int32_t rank) override {
    network_config config;
    config.rank = rank;
    config.ranks = 2;
    config.library = FAILING_UCP;
    config.one_machine = true;
    opened_network opened = open_plugin("ucx", config);
    EXPECT_NE(opened.network, nullptr) << opened.why_not;
    if (opened.network == nullptr) std::abort();
    return std::move(opened.network);
  }
};

std::vector<network_kind> network_kinds() {
  return {{"ucx",
           [](std::int32_t, std::string const&) -> std::unique_ptr<network_job> {
             return std::make_unique<ucx_job>();
           },
           ""}};
}

namespace {

class ucx_failing : public network_test {
 protected:
  static void fail(int endpoints, bool for_good = false) {
    void* const library = ::dlopen(FAILING_UCP, RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr) << ::dlerror();
    void (*count)(int, bool) = nullptr;
    void* const found = ::dlsym(library, "failing_ucp_endpoints");
    std::memcpy(&count, &found, sizeof count);
    count(endpoints, for_good);
  }
};

TEST_P(ucx_failing, WhoHasAskedIsRefused) {
  open(2);
  fail(1);
  ASSERT_EQ(at(0).net->connect(1, at(1).net->address()), started::under_way);
  ASSERT_TRUE(until([&] { return !at(0).connections.empty(); }));
  EXPECT_EQ(at(0).count(connection_change::refused, 1), 1);
  connect(0, 1);
}

TEST_P(ucx_failing, WhereNoInterfaceLeadsThereIsTimeBetweenAttempts) {
  open(2);
  fail(1, true);
  auto const begin = std::chrono::steady_clock::now();
  ASSERT_EQ(at(0).net->connect(1, at(1).net->address()), started::under_way);
  ASSERT_TRUE(until([&] { return at(0).count(connection_change::refused, 1) == 1; }));
  started now = started::no_room;
  ASSERT_TRUE(until([&] { return (now = at(0).net->connect(1, at(1).net->address())) != started::no_room; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
  EXPECT_EQ(now, started::under_way);
  ASSERT_TRUE(until([&] { return at(0).connected(1) && at(1).connected(0); }));
}

TEST_P(ucx_failing, WhoHasNotAskedHearsThatItIsWanted) {
  open(2);
  ASSERT_EQ(at(0).net->connect(1, at(1).net->address()), started::under_way);
  fail(1);  // the other side's
  ASSERT_TRUE(until([&] { return at(1).count(connection_change::wanted, 0) == 1; }));
  EXPECT_EQ(at(1).connections.size(), 1U);
  EXPECT_EQ(at(1).net->under_way(), 0U);
  // It asks itself, which is an answer to the first as well.
  ASSERT_EQ(at(1).net->connect(0, at(0).net->address()), started::under_way);
  ASSERT_TRUE(until([&] { return at(0).connected(1) && at(1).connected(0); }));
  EXPECT_EQ(at(1).count(connection_change::refused, 0), 0);
  send(0, 1, lane::request, pattern(8, 1), pattern(100, 1));
  ASSERT_TRUE(until([&] { return at(1).messages.size() == 1; }));
}

INSTANTIATE_TEST_SUITE_P(All, ucx_failing, testing::ValuesIn(network_kinds()), name_of_network);

}  // namespace
}  // namespace atl::transport
