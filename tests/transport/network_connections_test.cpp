// Connections of a network: begun by one side or both, refused, closed, lost.

#include <thread>

#include "network_fabric.hpp"

namespace atl::transport {
namespace {

TEST_P(network_test, NobodyIsReachedBeforeConnecting) {
  open(2);
  bytes const header(8), payload(8);
  EXPECT_EQ(send_on(*at(0).net, 1, lane::request, header, payload, nullptr), started::unreachable);
  EXPECT_EQ(at(0).net->import_key(1, header).status, started::unreachable);
  EXPECT_EQ(at(0).net->flush(1, nullptr), started::unreachable);
  EXPECT_EQ(at(0).net->connect(1, header), started::unsupported);
  EXPECT_EQ(at(0).net->under_way(), 0U);
}

TEST_P(network_test, OneSideConnects) {
  open(3);
  connect(0, 2);
  EXPECT_EQ(at(0).count(connection_change::connected, 2), 1);
  EXPECT_EQ(at(2).count(connection_change::connected, 0), 1);
  EXPECT_TRUE(at(1).connections.empty());
  EXPECT_EQ(at(0).net->connect(2, at(2).net->address()), started::complete);
  send(2, 0, lane::request, pattern(16, 1), pattern(100, 2));
  ASSERT_TRUE(until([&] { return at(0).messages.size() == 1; }));
  EXPECT_EQ(at(0).messages[0].payload, pattern(100, 2));
}

TEST_P(network_test, BothSidesConnectAtOnce) {
  for (int round = 0; round < 10; ++round) {
    open(2);
    for (int tries = 0; tries < 20 && !(at(0).connected(1) && at(1).connected(0)); ++tries) {
      (void)at(0).net->connect(1, at(1).net->address());
      for (int i = 0; i < round; ++i) at(1).poll();
      (void)at(1).net->connect(0, at(0).net->address());
      rounds(100);
    }
    ASSERT_TRUE(until([&] { return at(0).connected(1) && at(1).connected(0); }));
    rounds(100);
    EXPECT_EQ(at(0).count(connection_change::connected, 1), 1);
    EXPECT_EQ(at(1).count(connection_change::connected, 0), 1);
    send(0, 1, lane::control, pattern(8, 1), pattern(8, 2));
    send(1, 0, lane::control, pattern(8, 1), pattern(8, 2));
    ASSERT_TRUE(until([&] { return at(0).messages.size() == 1 && at(1).messages.size() == 1; }));
  }
}

// A job that has ended may have been where another is now.
TEST_P(network_test, CallsOfAnotherJobAreNotTaken) {
  open(2);
  std::unique_ptr<network_job> const other = GetParam().make(2, GetParam().options);
  node stranger;
  stranger.rank = 1;
  stranger.net = other->open(1);
  (void)stranger.net->connect(0, at(0).net->address());
  for (int i = 0; i < 200; ++i) {
    rounds(1);
    stranger.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(at(0).connections.empty());
  EXPECT_FALSE(stranger.connected(0));
  connect(1, 0);
  send(1, 0, lane::request, pattern(16, 1), pattern(100, 2));
  ASSERT_TRUE(until([&] { return at(0).messages.size() == 1; }));
}

TEST_P(network_test, TheOwnRankIsAPeerWhereThatIsPromised) {
  open(2);
  network& net = *at(0).net;
  if (!net.abilities().loopback) {
    EXPECT_EQ(net.connect(0, net.address()), started::unreachable);
    return;
  }
  for (int round = 0; round < 3; ++round) {
    connect(0, 0);
    send(0, 0, lane::request, pattern(16, 1), pattern(100, 2));
    send(0, 0, lane::control, pattern(16, 1), pattern(10'000, 3));
    ASSERT_TRUE(until([&] { return at(0).messages.size() == 2; }));
    at(0).messages.clear();
    bytes target(30'000), back(30'000);
    bytes const source = pattern(30'000, 4);
    registration* const entered = enter(0, target);
    remote_key* const key = share(0, entered, 0);
    complete([&](operation* op) {
      return net.put(0, {key, 0}, {const_cast<std::byte*>(source.data()), nullptr}, source.size(), op);
    });
    EXPECT_EQ(target, source);
    complete([&](operation* op) { return net.get(0, {back.data(), nullptr}, {key, 0}, back.size(), op); });
    EXPECT_EQ(back, source);
    net.close(0);
    ASSERT_TRUE(until([&] { return !at(0).connected(0); }));
    EXPECT_EQ(at(0).count(connection_change::lost, 0), 0);
    net.drop_key(0, key);
    net.forget(entered);
    EXPECT_EQ(net.under_way(), 0U);
  }
}

TEST_P(network_test, ConnectsFromCallbacks) {
  open(3);
  connect(0, 1);
  bool asked = false;
  at(1).on_message = [&](arrival const&) {
    asked = true;
    EXPECT_EQ(at(1).net->connect(2, at(2).net->address()), started::under_way);
    return taken::consumed;
  };
  at(1).on_connection = [&](connection_event const& e) {
    if (e.what == connection_change::refused) (void)at(1).net->connect(2, at(2).net->address());
  };
  send(0, 1, lane::request, pattern(8, 1), pattern(8, 2));
  ASSERT_TRUE(until([&] { return asked && at(1).connected(2) && at(2).connected(1); }));
}

TEST_P(network_test, ClosingWhileConnectingWaitsForTheConnection) {
  for (int round = 0; round < 10; ++round) {
    open(2);
    // Again if it is refused: then there is nothing to close.
    for (int tries = 0; tries < 20 && at(0).count(connection_change::closed, 1) == 0; ++tries) {
      int const refused = at(0).count(connection_change::refused, 1);
      (void)at(0).net->connect(1, at(1).net->address());
      for (int i = 0; i < round; ++i) at(1).poll();
      at(0).net->close(1);
      ASSERT_TRUE(until([&] {
        return at(0).count(connection_change::closed, 1) != 0 ||
               at(0).count(connection_change::refused, 1) != refused;
      }));
    }
    ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
    for (std::int32_t rank : {0, 1}) {
      EXPECT_EQ(at(rank).count(connection_change::connected, 1 - rank), 1);
      EXPECT_EQ(at(rank).count(connection_change::closed, 1 - rank), 1);
      EXPECT_EQ(at(rank).count(connection_change::lost, 1 - rank), 0);
    }
  }
}

TEST_P(network_test, ClosingDrainsBothWays) {
  for (int round = 0; round < 5; ++round) {
    open(2);
    connect(0, 1);
    std::size_t const n = 20;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::int32_t from : {0, 1}) {
        bytes const payload = pattern(i * 40, i);
        (void)persist([&] {
          return send_on(*at(from).net, 1 - from, i % 2 ? lane::request : lane::control, pattern(8, i),
                         payload, nullptr);
        });
      }
    }
    at(0).net->close(1);
    bytes const payload(8);
    EXPECT_EQ(send_on(*at(0).net, 1, lane::request, payload, payload, nullptr), started::no_room);
    if (round % 2 == 1) at(1).net->close(0);
    ASSERT_TRUE(until([&] {
      return at(0).count(connection_change::closed, 1) == 1 && at(1).count(connection_change::closed, 0) == 1;
    }));
    EXPECT_EQ(at(0).messages.size(), n);
    EXPECT_EQ(at(1).messages.size(), n);
    for (std::int32_t rank : {0, 1}) {
      EXPECT_EQ(at(rank).connections.back().what, connection_change::closed);
      EXPECT_EQ(at(rank).count(connection_change::lost, 1 - rank), 0);
      EXPECT_EQ(send_on(*at(rank).net, 1 - rank, lane::request, payload, payload, nullptr),
                started::unreachable);
      EXPECT_EQ(at(rank).net->under_way(), 0U);
    }
  }
}

TEST_P(network_test, ClosingWaitsForOpenBuffers) {
  open(2);
  for (unsigned const way : {0U, 1U, 2U, 3U}) {
    bool const by_peer = (way & 1U) != 0;
    bool const cancelled = (way & 2U) != 0;
    connect(0, 1);
    network_buffer buffer;
    started const s = persist([&] { return at(0).net->begin(1, lane::control, 16, 48, 48, buffer); });
    if (s == started::unsupported) GTEST_SKIP() << "has none";
    ASSERT_EQ(s, started::complete);
    at(1).messages.clear();
    at(by_peer ? 1 : 0).net->close(by_peer ? 0 : 1);
    rounds(200);
    EXPECT_TRUE(at(0).connected(1));
    EXPECT_TRUE(at(1).connected(0));
    bytes const payload = pattern(48, way);
    std::memcpy(buffer.payload, payload.data(), payload.size());
    if (cancelled) {
      at(0).net->cancel(buffer);
    } else {
      at(0).net->commit(buffer, pattern(16, 1), payload.size());
    }
    ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
    EXPECT_EQ(at(0).count(connection_change::lost, 1), 0);
    ASSERT_EQ(at(1).messages.size(), cancelled ? 0U : 1U);
    if (!cancelled) {
      EXPECT_EQ(at(1).messages[0].payload, payload);
    }
  }
}

/// What is committed after a loss is lost, also where the peer is connected again by then.
TEST_P(network_test, ALossTakesOpenBuffersAlong) {
  open(2);
  for (unsigned const way : {0U, 1U, 2U, 3U}) {
    bool const cancelled = (way & 1U) != 0;
    bool const again = (way & 2U) != 0;
    connect(0, 1);
    network_buffer buffer;
    started const s = persist([&] { return at(0).net->begin(1, lane::request, 16, 48, 48, buffer); });
    if (s == started::unsupported) GTEST_SKIP() << "has none";
    ASSERT_EQ(s, started::complete);
    at(1).messages.clear();
    bool open_still = true;
    auto const finish = [&] {
      if (std::exchange(open_still, false))
        cancelled ? at(0).net->cancel(buffer) : at(0).net->commit(buffer, pattern(16, 1), 48);
    };
    int const closed_before = at(0).count(connection_change::closed, 1);
    int const losses_before = at(0).count(connection_change::lost, 1);
    at(0).net->give_up(1);
    ASSERT_TRUE(until([&] { return at(0).count(connection_change::lost, 1) > losses_before; }));
    rounds(200);
    // Networks may wait for open buffers.
    if (!again || at(0).count(connection_change::closed, 1) == closed_before) finish();
    ASSERT_TRUE(until([&] { return !at(0).connected(1); }));
    connect(0, 1);
    finish();
    send(0, 1, lane::request, pattern(16, 2), pattern(48, 3));
    ASSERT_TRUE(until([&] { return !at(1).messages.empty(); }));
    rounds(200);
    ASSERT_EQ(at(1).messages.size(), 1U);
    EXPECT_EQ(at(1).messages[0].payload, pattern(48, 3));
    at(0).net->close(1);
    ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
  }
}

TEST_P(network_test, WhoEndsAfterAnAgreedCloseLosesNothing) {
  for (std::size_t round = 0; round < 10; ++round) {
    open(2);
    connect(0, 1);
    std::size_t const n = 5 + round;
    for (std::size_t i = 0; i < n; ++i) {
      bytes const payload = pattern(i * 10, i);
      (void)persist([&] {
        return send_on(*at(1).net, 0, i % 2 ? lane::request : lane::control, pattern(8, i), payload, nullptr);
      });
    }
    at(0).net->close(1);
    ASSERT_TRUE(until([&] { return at(1).count(connection_change::closed, 0) == 1; }));
    at(1).net.reset();
    ASSERT_TRUE(until([&] { return at(0).count(connection_change::closed, 1) == 1; }));
    EXPECT_EQ(at(0).messages.size(), n);
    EXPECT_EQ(at(0).count(connection_change::lost, 1), 0);
  }
}

TEST_P(network_test, ReconnectingInvalidatesKeys) {
  open(2);
  bytes memory = pattern(256, 1), copy(256);
  registration* const r = enter(1, memory);
  for (int round = 0; round < 10; ++round) {
    connect(round % 2, 1 - round % 2);
    remote_key* const key = share(1, r, 0);
    complete([&](operation* op) { return at(0).net->get(1, {copy.data()}, {key, 0}, 256, op); });
    EXPECT_EQ(copy, memory);
    (void)at(round % 2).net->close(1 - round % 2);
    ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
    connect(0, 1);
    EXPECT_EQ(persist([&] {
                return at(0).net->get(1, {copy.data()}, {key, 0}, 256, nullptr);
              }),
              started::unsupported);
    at(0).net->drop_key(1, key);
  }
  at(1).net->forget(r);
}

TEST_P(network_test, ALossReachesEveryOperation) {
  open(3);
  connect(0, 1);
  connect(0, 2);
  if (!job->break_connection(*at(0).net, 1)) GTEST_SKIP() << "cannot be played";
  ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
  EXPECT_EQ(at(1).count(connection_change::lost, 0), 1);

  connect(0, 1);
  constexpr std::size_t size = 300'000;
  bytes memory(size), source = pattern(size, 3), into(size);
  registration* const r = enter(1, memory);
  remote_key* const key = share(1, r, 0);
  std::vector<std::unique_ptr<counted>> ops;
  std::vector<int> sources;
  auto const start = [&](auto const& go) {
    for (int i = 0; i < 6; ++i) {
      ops.push_back(std::make_unique<counted>());
      started const s = go(ops.back().get());
      if (s == started::no_room || s == started::complete) {
        ops.pop_back();
      } else {
        sources.push_back(s == started::source_free ? 1 : 0);
      }
    }
  };
  // The peer does not poll: nothing comes to an end.
  start([&](operation* op) { return at(0).net->put(1, {key, 0}, {source.data()}, source.size(), op); });
  start([&](operation* op) { return at(0).net->get(1, {into.data()}, {key, 0}, 1000, op); });
  start([&](operation* op) { return at(0).net->get(1, {into.data()}, {key, 0}, size, op); });
  start([&](operation* op) { return at(0).net->flush(1, op); });
  EXPECT_FALSE(ops.empty());
  at(0).on_connection = [&](connection_event const& e) {
    for (auto const& op : ops) {
      EXPECT_EQ(op->finished, e.what == connection_change::closed ? 1 : 0) << "an event is out of turn";
    }
  };
  job->break_connection(*at(0).net, 1);
  for (int i = 0; i < 100; ++i) at(0).poll();
  EXPECT_EQ(at(0).count(connection_change::lost, 1), 2);
  EXPECT_EQ(at(0).net->flush(1, nullptr), started::unreachable);
  if (!at(0).net->abilities().ends_what_is_lost) {
    ASSERT_TRUE(until([&] { return !at(0).connected(1); }));
  }
  EXPECT_FALSE(at(0).connected(1));
  at(0).on_connection = nullptr;
  for (auto const& op : ops) {
    EXPECT_EQ(op->finished, 1);
    EXPECT_EQ(op->how, outcome::peer_lost);
  }
  EXPECT_EQ(at(0).connections.back().what, connection_change::closed);
  ASSERT_TRUE(until([&] { return !at(1).connected(0); }));
  // Others go on, and so does a new connection; nothing of the old one comes through.
  at(1).messages.clear();
  send(0, 2, lane::request, pattern(8, 1), pattern(8, 2));
  connect(1, 0);
  send(0, 1, lane::request, pattern(8, 3), pattern(8, 4));
  ASSERT_TRUE(until([&] { return at(1).messages.size() == 1 && at(2).messages.size() == 1; }));
  rounds(200);
  EXPECT_EQ(at(1).messages.size(), 1U);
  at(0).net->drop_key(1, key);
  at(1).net->forget(r);
}

TEST_P(network_test, APeerThatIsGivenUpHoldsNothing) {
  open(2);
  for (int round = 0; round < 3; ++round) {
    connect(0, 1);
    bytes memory(300'000), into(300'000);
    registration* const r = enter(1, memory);
    remote_key* const key = share(1, r, 0);
    int order = 0, lost_at = 0, finished_at = 0;
    struct noted : operation {
      int *order, *at;
      outcome how = outcome::ok;
    } get;
    get.on_event = [](operation& self, completion, outcome how) {
      auto& mine = static_cast<noted&>(self);
      *mine.at = ++*mine.order;
      mine.how = how;
    };
    get.asked = ask_finished;
    get.order = &order;
    get.at = &finished_at;
    bytes const header(8);
    at(0).on_connection = [&](connection_event const& e) {
      if (e.what != connection_change::lost) return;
      lost_at = ++order;
      EXPECT_EQ(send_on(*at(0).net, 1, lane::control, header, {}, nullptr), started::unreachable);
      EXPECT_EQ(at(0).net->connect(1, at(1).net->address()), started::no_room);
    };
    ASSERT_EQ(persist([&] {
                return at(0).net->get(1, {into.data()}, {key, 0}, into.size(), &get);
              }),
              started::under_way);
    // It does not poll any more.
    at(0).net->give_up(1);
    for (int i = 0; i < 100; ++i) at(0).poll();
    EXPECT_EQ(lost_at, 1);
    if (!at(0).net->abilities().ends_what_is_lost) {
      EXPECT_EQ(finished_at, 0) << "its memory may still be written";
      ASSERT_TRUE(until([&] { return !at(0).connected(1); }));
    }
    EXPECT_EQ(finished_at, 2);
    EXPECT_EQ(get.how, outcome::peer_lost);
    EXPECT_EQ(at(0).connections.back().what, connection_change::closed);
    EXPECT_EQ(at(0).net->under_way(), 0U);
    at(0).on_connection = nullptr;
    at(0).net->drop_key(1, key);
    // It lives after all: it learns of the loss, and may be connected again.
    for (int tries = 0; tries < 20 && !at(0).connected(1); ++tries) {
      (void)at(0).net->connect(1, at(1).net->address());
      rounds(100);
    }
    ASSERT_TRUE(until([&] { return at(0).connected(1) && at(1).connected(0); }));
    EXPECT_EQ(at(1).count(connection_change::lost, 0), round + 1);
    at(1).net->forget(r);
    at(0).net->close(1);
    ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
  }
}

/// The memory is the caller's again, whether the transport has registered it or the caller has.
TEST_P(network_test, ALossEndsPayloadsThatNobodyHasFetched) {
  open(2);
  message_sizes const sizes = at(0).net->sizes(1, lane::request);
  if (sizes.late == sizes.eager) GTEST_SKIP() << "has none";
  if (at(0).net->abilities().ends_what_is_lost) GTEST_SKIP() << "nothing is kept back";
  bytes payload = pattern(sizes.eager * 2, 1), into(payload.size());
  registration* const known = enter(0, payload);
  for (registration* const memory : {static_cast<registration*>(nullptr), known}) {
    connect(0, 1);
    bool arrived = false;
    arrival_handle handle;
    at(1).on_message = [&](arrival const& what) {
      arrived = what.late;
      handle = what.handle;
      return taken::kept;
    };
    counted op(ask_source);
    ASSERT_EQ(persist([&] {
                return at(0).net->send(1, lane::request, {}, {payload.data(), memory}, payload.size(), &op);
              }),
              started::under_way);
    ASSERT_TRUE(until([&] { return arrived; }));
    at(0).net->give_up(1);
    for (int i = 0; i < 100; ++i) at(0).poll();
    EXPECT_EQ(op.source, memory == nullptr ? 1 : 0) << "what the caller has registered may still be read";
    int const losses = memory == nullptr ? 1 : 2;
    ASSERT_TRUE(until([&] { return at(1).count(connection_change::lost, 0) == losses; }));
    EXPECT_EQ(at(1).net->fetch(handle, {into.data()}, nullptr), started::unreachable);
    at(1).net->release(handle);
    at(1).on_message = nullptr;
    ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
    EXPECT_EQ(op.source, 1);
    EXPECT_EQ(op.how, outcome::peer_lost);
  }
  at(0).net->forget(known);
}

TEST_P(network_test, APeerThatEndsIsLost) {
  open(2);
  connect(0, 1);
  bytes memory(64), data(64);
  remote_key* const key = share(1, enter(1, memory), 0);
  counted op(ask_finished);
  at(1).net.reset();
  switch (at(0).net->abilities().losses) {
    case loss_notice::always:
    case loss_notice::of_ends:
      break;
    case loss_notice::by_traffic:
      ASSERT_NE(persist([&] {
                  return at(0).net->put(1, {key, 0}, {data.data()}, data.size(), &op);
                }),
                started::complete);
      break;
    case loss_notice::none:
      at(0).net->give_up(1);
  }
  ASSERT_TRUE(until([&] { return !at(0).connected(1); }));
  EXPECT_EQ(at(0).count(connection_change::lost, 1), 1);
  at(0).net->drop_key(1, key);
}

INSTANTIATE_TEST_SUITE_P(Connections, network_test, testing::ValuesIn(network_kinds()), name_of_network);

}  // namespace
}  // namespace atl::transport
