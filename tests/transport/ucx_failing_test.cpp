// Endpoints that libucp does not make, and a put that ends before its endpoint: who hears of what.

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
    void (*count)(int, bool) = nullptr;
    find(count, "failing_ucp_endpoints");
    count(endpoints, for_good);
  }
  static void fail_next_put() {
    void (*fail)() = nullptr;
    find(fail, "failing_ucp_put");
    fail();
  }
  static void fail_next_message(int status) {
    void (*fail)(int) = nullptr;
    find(fail, "failing_ucp_message");
    fail(status);
  }

 private:
  template <class Function>
  static void find(Function& function, char const* name) {
    void* const library = ::dlopen(FAILING_UCP, RTLD_NOW | RTLD_NOLOAD);
    void* const found = library != nullptr ? ::dlsym(library, name) : nullptr;
    if (found == nullptr) std::abort();
    std::memcpy(&function, &found, sizeof function);
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

TEST_P(ucx_failing, WhereNoInterfaceLeadsThereIsMoreAndMoreTimeBetweenAttempts) {
  open(2);
  fail(2, true);
  started now = at(0).net->connect(1, at(1).net->address());
  for (int const second : {1, 2}) {
    ASSERT_EQ(now, started::under_way);
    auto const begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(until([&] { return at(0).count(connection_change::refused, 1) == second; }));
    now = started::no_room;
    ASSERT_TRUE(
        until([&] { return (now = at(0).net->connect(1, at(1).net->address())) != started::no_room; }));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, second * std::chrono::milliseconds(900));
  }
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

/// libucp ends what is under way first, calls that a time-out, and says only then that the endpoint is gone.
TEST_P(ucx_failing, WhatALossEndsIsNoFailureOfItsOwn) {
  open(2);
  connect(1, 0);
  bytes memory(100'000), source = pattern(100'000, 1);
  registration* const r = enter(1, memory);
  remote_key* const key = share(1, r, 0);
  told_of_loss put(at(0));
  fail_next_put();
  ASSERT_EQ(at(0).net->put(1, {key, 0}, {source.data()}, source.size(), &put), started::under_way);
  ASSERT_TRUE(until([&] { return put.finished == 1; }));
  EXPECT_EQ(put.losses, 1);
  EXPECT_EQ(put.how, outcome::peer_lost);
  ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
  at(0).net->drop_key(1, key);
  at(1).net->forget(r);
}

constexpr int no_memory = -4;  // UCS_ERR_NO_MEMORY

TEST_P(ucx_failing, AMessageThatCannotLeaveIsALoss) {
  open(2);
  connect(0, 1);
  fail_next_message(no_memory);
  send(0, 1, lane::request, pattern(8, 1), pattern(100, 1));
  ASSERT_TRUE(until([&] { return at(0).count(connection_change::lost, 1) == 1; }));
}

TEST_P(ucx_failing, SoIsTheFirstWordOfAConnectionWhichIsTriedAgain) {
  open(2);
  fail_next_message(no_memory);
  ASSERT_EQ(at(0).net->connect(1, at(1).net->address()), started::under_way);
  ASSERT_TRUE(until([&] { return at(0).count(connection_change::refused, 1) == 1; }));
  connect(0, 1);
}

/// Who starts something before the loss has been told of hears why, too.
TEST_P(ucx_failing, WhatIsStartedBehindALossSaysWhy) {
  open(2);
  connect(0, 1);
  fail_next_message(-25);  // UCS_ERR_CONNECTION_RESET
  send(0, 1, lane::request, pattern(8, 1), pattern(100, 1));
  bytes const header = pattern(8, 1), payload = pattern(100, 1);
  EXPECT_EQ(at(0).net->send(1, lane::request, header, {const_cast<std::byte*>(payload.data())},
                            payload.size(), nullptr),
            started::unreachable);
  EXPECT_EQ(std::string(at(0).net->last_error()).find("there is no connection"), std::string::npos)
      << at(0).net->last_error();
}

INSTANTIATE_TEST_SUITE_P(All, ucx_failing, testing::ValuesIn(network_kinds()), name_of_network);

}  // namespace
}  // namespace atl::transport
