// When a message has left, where the messages of the other side tell.

#include <gtest/gtest.h>

#include "network_fabric.hpp"

namespace atl::transport {
namespace {

class network_leaving : public network_test {
 protected:
  /// A short message that is to say when it has left, until it has arrived.
  started send_short(std::size_t from, std::int32_t to) {
    counted op(ask_left);
    auto& there = at(static_cast<std::size_t>(to)).messages;
    there.clear();
    started const s = send_on(*at(from).net, to, lane::control, pattern(16, 1), pattern(100, 1), &op);
    EXPECT_TRUE(until([&] { return there.size() == 1 && (s == started::complete || op.finished == 1); }));
    return s;
  }
};

// Two that answer each other know that their messages have left; others have to ask.
TEST_P(network_leaving, IsKnownWhereTheOtherSideHasAnswered) {
  open(2);
  if (!at(0).net->abilities().ends_what_is_lost)
    GTEST_SKIP() << "one endpoint for all peers may keep messages";
  connect(0, 1);
  for (int round = 0; round < 3; ++round) {
    static_cast<void>(send_short(0, 1));
    static_cast<void>(send_short(1, 0));
  }
  for (int round = 0; round < 600; ++round) {
    ASSERT_EQ(send_short(0, 1), started::complete) << round;
    ASSERT_EQ(send_short(1, 0), started::complete) << round;
  }
  for (int n = 0; n < 9; ++n) static_cast<void>(send_short(0, 1));
  EXPECT_EQ(send_short(0, 1), started::under_way) << "more are unanswered than a wire holds for sure";
  static_cast<void>(send_short(1, 0));
  EXPECT_EQ(send_short(0, 1), started::complete);
  // Something long.
  at(1).messages.clear();
  counted long_one(ask_source);
  static_cast<void>(send_on(*at(0).net, 1, lane::control, pattern(16, 1), pattern(5000, 1), &long_one));
  ASSERT_TRUE(until([&] { return at(1).messages.size() == 1; }));
  EXPECT_EQ(send_short(0, 1), started::under_way);
  static_cast<void>(send_short(1, 0));
  EXPECT_EQ(send_short(0, 1), started::complete);
  // Many that nobody answers meanwhile.
  for (int n = 0; n < 200; ++n) static_cast<void>(send_short(0, 1));
  for (int round = 0; round < 2; ++round) {
    static_cast<void>(send_short(1, 0));
    static_cast<void>(send_short(0, 1));
  }
  EXPECT_EQ(send_short(0, 1), started::complete);
  // Who has a key may read at any time.
  bytes memory(1000);
  registered const r =
      at(0).net->register_memory(memory.data(), memory.size(), static_cast<memory::kind_id>(1), -1);
  ASSERT_NE(r.memory, nullptr) << r.why_not;
  bytes key(at(0).net->limits().key_bytes);
  ASSERT_NE(at(0).net->export_key(r.memory, key), 0U);
  static_cast<void>(send_short(1, 0));
  EXPECT_EQ(send_short(0, 1), started::under_way);
  at(0).net->forget(r.memory);
}

INSTANTIATE_TEST_SUITE_P(All, network_leaving, testing::ValuesIn(network_kinds()), name_of_network);

}  // namespace
}  // namespace atl::transport
