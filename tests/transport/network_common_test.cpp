// What the networks of modules have in common (src/transport/common), where the table leaves it open: how much may be under way,
// headers that turn out other than announced, what a flush of all peers tells, the order of what is told
// of a loss, and who polls rarely.

#include <algorithm>

#include "network_fabric.hpp"

namespace atl::transport {
namespace {

class network_common : public network_test {
 protected:
  network& net() { return *at(0).net; }
};

TEST_P(network_common, OpenBuffersFillTheirLaneAndGiveItBack) {
  open(2);
  connect(0, 1);
  std::size_t most = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<network_buffer> opened;
    network_buffer next;
    while (opened.size() < 1000 && net().begin(1, lane::request, 8, 1, 1, next) == started::complete)
      opened.push_back(next);
    EXPECT_EQ(send_on(net(), 1, lane::request, pattern(8, 1), pattern(8, 1), nullptr), started::no_room);
    ASSERT_EQ(net().begin(1, lane::control, 8, 1, 1, next), started::complete);
    net().cancel(next);
    if (round == 0) most = opened.size();
    EXPECT_EQ(opened.size(), most) << "in round " << round;
    for (network_buffer& each : opened) net().cancel(each);
  }
  EXPECT_GT(most, 1U);
  EXPECT_LT(most, 1000U);
  send(0, 1, lane::request, pattern(8, 2), pattern(8, 3));
  ASSERT_TRUE(until([&] { return at(1).messages.size() == 1; }));
}

TEST_P(network_common, AHeaderMayBeOfAnotherLengthThanAnnounced) {
  open(2);
  connect(0, 1);
  bytes const data = pattern(500, 1);
  for (std::size_t const length : {16U, 40U, 64U}) {
    network_buffer buffer;
    ASSERT_EQ(persist([&] { return net().begin(1, lane::request, 40, 600, 600, buffer); }),
              started::complete);
    std::copy(data.begin(), data.end(), buffer.payload);
    at(1).messages.clear();
    net().commit(buffer, pattern(length, 2), data.size());
    ASSERT_TRUE(until([&] { return at(1).messages.size() == 1; }));
    EXPECT_EQ(at(1).messages[0].header, pattern(length, 2));
    EXPECT_EQ(at(1).messages[0].payload, data) << length;
  }
}

TEST_P(network_common, GetsFindNoRoomBeforeThereAreTooMany) {
  open(2);
  connect(0, 1);
  bytes memory = pattern(8, 1), copies(8000);
  registration* const r = enter(1, memory);
  remote_key* const key = share(1, r, 0);
  std::vector<std::unique_ptr<counted>> ops;
  auto const start = [&] {
    ops.push_back(std::make_unique<counted>(ask_finished));
    return net().get(1, {copies.data() + 8 * (ops.size() - 1)}, {key, 0}, 8, ops.back().get());
  };
  started s = started::under_way;
  while (ops.size() < 1000 && (s = start()) == started::under_way) continue;
  EXPECT_EQ(s, started::no_room);
  EXPECT_LT(ops.size(), 1000U);
  ops.pop_back();
  auto const is_done = [](auto const& op) { return op->finished == 1; };
  ASSERT_TRUE(until([&] { return std::all_of(ops.begin(), ops.end(), is_done); }));
  EXPECT_EQ(start(), started::under_way);
  ASSERT_TRUE(until([&] { return is_done(ops.back()); }));
  for (std::size_t i = 0; i < ops.size(); ++i)
    EXPECT_TRUE(std::equal(memory.begin(), memory.end(), copies.data() + 8 * i)) << i;
  net().drop_key(1, key);
  at(1).net->forget(r);
}

TEST_P(network_common, AFlushOfAllTellsTheWorst) {
  open(3);
  bytes memory[2]{bytes(64), bytes(64)}, source = pattern(64, 1);
  registration* registered[2];
  remote_key* keys[2];
  for (std::int32_t const peer : {1, 2}) {
    connect(0, peer);
    auto const i = static_cast<std::size_t>(peer - 1);
    registered[i] = enter(peer, memory[i]);
    keys[i] = share(peer, registered[i], 0);
  }
  for (std::int32_t const peer : {1, 2}) {
    ASSERT_EQ(net().put(peer, {keys[peer - 1], 0}, {source.data()}, source.size(), nullptr),
              started::complete);
  }
  counted all(ask_finished);
  ASSERT_EQ(net().flush_all(&all), started::under_way);
  net().give_up(1);
  ASSERT_TRUE(until([&] { return all.finished == 1; }));
  EXPECT_EQ(all.how, outcome::peer_lost);
  EXPECT_EQ(memory[1], source);
  ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
  for (std::int32_t const peer : {1, 2}) {
    net().drop_key(peer, keys[peer - 1]);
    at(peer).net->forget(registered[peer - 1]);
  }
}

/// What went wrong unheard belongs to the connection on which it did.
TEST_P(network_common, AFlushHearsNothingOfAnEarlierConnection) {
  open(2);
  connect(0, 1);
  bytes memory(300'000), source = pattern(300'000, 1);
  registration* const r = enter(1, memory);
  remote_key* const key = share(1, r, 0);
  // The peer does not poll meanwhile, and wires hold less than all of these.
  for (int i = 0; i < 60; ++i)
    ASSERT_EQ(net().put(1, {key, 0}, {source.data()}, source.size(), nullptr), started::complete);
  net().give_up(1);
  ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
  net().drop_key(1, key);
  connect(0, 1);
  counted one(ask_finished), all(ask_finished);
  if (net().flush(1, &one) != started::complete) {
    ASSERT_TRUE(until([&] { return one.finished == 1; }));
  }
  if (net().flush_all(&all) != started::complete) {
    ASSERT_TRUE(until([&] { return all.finished == 1; }));
  }
  EXPECT_EQ(one.how, outcome::ok);
  EXPECT_EQ(all.how, outcome::ok);
  at(1).net->forget(r);
}

/// Those of a lane that nobody fetches leave the other lane alone.
TEST_P(network_common, LatePayloadsFillTheirLaneAndGiveItBack) {
  open(2);
  connect(0, 1);
  std::size_t const length = net().sizes(1, lane::request).eager + 1000;
  std::vector<arrival_handle> held;
  std::size_t control_messages = 0;
  at(1).on_message = [&](arrival const& what) {
    EXPECT_TRUE(what.late);
    control_messages += what.lane == lane::control ? 1 : 0;
    held.push_back(what.handle);
    return taken::kept;
  };
  bytes const payload = pattern(length, 1);
  std::size_t most = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<counted>> ops;
    auto const start = [&](lane where) {
      ops.push_back(std::make_unique<counted>(ask_source));
      started const s = send_on(net(), 1, where, pattern(8, 1), payload, ops.back().get());
      if (s != started::under_way) ops.pop_back();
      return s;
    };
    while (ops.size() < 1000 && start(lane::request) == started::under_way) continue;
    // They arrive, and credit for short messages comes back.
    ASSERT_TRUE(until([&] { return held.size() == ops.size(); }));
    rounds(100);
    EXPECT_EQ(start(lane::request), started::no_room);
    if (round == 0) most = ops.size();
    EXPECT_EQ(ops.size(), most) << "in round " << round;
    ASSERT_EQ(start(lane::control), started::under_way);
    ASSERT_TRUE(until([&] { return held.size() == ops.size(); }));
    EXPECT_EQ(control_messages, static_cast<std::size_t>(round + 1));
    bytes into(length);
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (i % 2 == 0) {
        at(1).net->release(held[i]);  // given up
        continue;
      }
      counted fetched(ask_finished);
      std::fill(into.begin(), into.end(), std::byte{0});
      ASSERT_EQ(persist([&] { return at(1).net->fetch(held[i], {into.data()}, &fetched); }),
                started::under_way);
      ASSERT_TRUE(until([&] { return fetched.finished == 1; }));
      EXPECT_EQ(into, payload) << i;
    }
    held.clear();
    ASSERT_TRUE(until(
        [&] { return std::all_of(ops.begin(), ops.end(), [](auto const& op) { return op->source == 1; }); }));
  }
  EXPECT_GT(most, 1U);
  EXPECT_LT(most, 1000U);
}

/// Whoever hears of an operation that it did not succeed can tell why.
TEST_P(network_common, ALossIsToldBeforeWhatItEnds) {
  open(2);
  connect(0, 1);
  bytes memory(300'000), into(300'000), source = pattern(300'000, 1);
  remote_key* const key = share(1, enter(1, memory), 0);
  told_of_loss put(at(0)), get(at(0), ask_finished);
  // More than a wire holds, so that they are under way when the peer ends, which does not poll meanwhile.
  ASSERT_EQ(net().get(1, {into.data()}, {key, 0}, into.size(), &get), started::under_way);
  ASSERT_NE(net().put(1, {key, 0}, {source.data()}, source.size(), &put), started::complete);
  at(1).net.reset();
  if (net().abilities().losses == loss_notice::none) net().give_up(1);
  bool const ends = net().abilities().ends_what_is_lost;
  ASSERT_TRUE(until([&] { return at(0).count(connection_change::lost, 1) == 1; }));
  if (ends) {
    ASSERT_TRUE(until([&] { return !at(0).connected(1); }));
    EXPECT_EQ(get.finished, 1);
  }
  for (told_of_loss const* each : {&get, &put}) {
    if (each->finished == 0) continue;
    EXPECT_EQ(each->losses, 1);
    EXPECT_EQ(each->how, outcome::peer_lost);
  }
  net().drop_key(1, key);
  if (!ends) at(0).net.reset();  // it may write into memory of this test's
}

/// Connections may be looked at in some of many polls only; one that computes in between has few.
TEST_P(network_common, WhoPollsRarelyIsConnectedAllTheSame) {
  open(2);
  constexpr int many = 64;
  for (int n = 0; n < 5 * many; ++n) at(1).poll();
  ASSERT_EQ(net().connect(1, at(1).net->address()), started::under_way);
  for (int rare = 0; rare < many - 4 && !at(1).connected(0); ++rare) {
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    do at(0).poll();
    while (std::chrono::steady_clock::now() < end);
    at(1).poll();
  }
  EXPECT_TRUE(at(1).connected(0));
}

INSTANTIATE_TEST_SUITE_P(All, network_common, testing::ValuesIn(network_kinds()), name_of_network);

}  // namespace
}  // namespace atl::transport
