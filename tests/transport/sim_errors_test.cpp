// Operations of a simulated network that was asked for errors: each says so in its events, once, and the connection stands.

#include "network_fabric.hpp"

namespace atl::transport {
namespace {

class sim_errors : public network_pair {
 protected:
  sim_errors() : network_pair(100'000) {}
  bytes here = bytes(100'000);

  /// Each event comes once, and says `failed`.
  template <class Start>
  void fails(std::uint8_t asked, Start const& start) {
    // Memory that is not reached is another matter, of a few times.
    for (int tries = 0; tries < 10; ++tries) {
      counted op(asked);
      started const s = persist([&] { return start(&op); });
      ASSERT_TRUE(s == started::under_way || s == started::source_free) << static_cast<int>(s);
      int const source = (asked & ask_source) != 0 && s == started::under_way ? 1 : 0;
      int const finished = (asked & ~ask_source) != 0 ? 1 : 0;
      ASSERT_TRUE(until([&] { return op.source >= source && op.finished >= finished; }));
      if (op.how == outcome::refused) continue;
      EXPECT_EQ(op.how, outcome::failed);
      EXPECT_NE(net().last_error().find("asked for errors"), std::string::npos);
      rounds(100);
      EXPECT_EQ(op.source, source);
      EXPECT_EQ(op.finished, finished);
      return;
    }
    FAIL() << "memory is not reached for ever";
  }
};

TEST_P(sim_errors, EventsOfTransfersFail) {
  begin();
  for (std::size_t const n : {std::size_t{8}, here.size()}) {
    fails(ask_both, [&](operation* op) { return net().put(1, {key, 0}, {here.data()}, n, op); });
    fails(ask_finished, [&](operation* op) { return net().put(1, {key, 0}, {here.data()}, n, op); });
    fails(ask_finished, [&](operation* op) { return net().get(1, {here.data()}, {key, 0}, n, op); });
    fails(ask_both, [&](operation* op) { return net().put_notified(1, {key, 0}, {here.data()}, n, 5, op); });
  }
  std::vector<remote_piece> const far{{{key, 0}, 100}, {{key, 5000}, 60'000}};
  std::vector<local_piece> const near{{{here.data()}, 60'000}, {{here.data() + 70'000}, 100}};
  fails(ask_both, [&](operation* op) { return net().put_pieces(1, far, near, op); });
  fails(ask_finished, [&](operation* op) { return net().get_pieces(1, near, far, op); });
}

TEST_P(sim_errors, EventsOfAtomicsFail) {
  begin();
  std::uint64_t operand = 1, before = 0;
  for (void* const result : {static_cast<void*>(nullptr), static_cast<void*>(&before)}) {
    fails(ask_finished, [&](operation* op) {
      return net().atomic(1, {key, 8}, atomic_op::add, atomic_type::uint64, &operand, {result}, op);
    });
  }
}

TEST_P(sim_errors, BothSidesOfALatePayloadHearOfIt) {
  begin();
  bytes const header(16);
  bytes const payload = pattern(net().sizes(1, lane::request).eager + 1, 1);
  bytes landing(payload.size());
  counted fetched(ask_finished);
  arrival_handle handle;
  bool come = false, asked = false;
  at(1).on_message = [&](arrival const& what) {
    if (!what.late) return taken::consumed;
    handle = what.handle;
    come = true;
    return taken::kept;
  };
  counted sent(ask_source);
  ASSERT_EQ(persist([&] { return send_on(net(), 1, lane::request, header, payload, &sent); }),
            started::under_way);
  ASSERT_TRUE(until([&] {
    if (come && !asked) {
      asked = at(1).net->fetch(handle, {landing.data()}, &fetched) == started::under_way;
    }
    return sent.source == 1 && fetched.finished == 1;
  }));
  EXPECT_EQ(sent.how, outcome::failed);
  EXPECT_EQ(fetched.how, outcome::failed);
  rounds(100);
  EXPECT_EQ(sent.source + fetched.finished, 2);
}

// What nobody waits for: the next flush tells the worst of it, and what has events is not part of that.
TEST_P(sim_errors, FlushTellsTheWorst) {
  begin();
  std::uint64_t operand = 1;
  auto const flush = [&](bool all) {
    counted op(ask_finished);
    started const s = persist([&] { return all ? net().flush_all(&op) : net().flush(1, &op); });
    if (s == started::complete) return outcome::ok;
    EXPECT_TRUE(until([&] { return op.finished == 1; }));
    return op.how;
  };
  EXPECT_EQ(flush(false), outcome::ok);
  fails(ask_finished, [&](operation* op) { return net().put(1, {key, 0}, {here.data()}, 8, op); });
  EXPECT_EQ(flush(false), outcome::ok);
  for (bool const all : {false, true}) {
    for (std::size_t const n : {std::size_t{8}, here.size()}) {
      ASSERT_NE(persist([&] {
                  return net().put(1, {key, 0}, {here.data()}, n, nullptr);
                }),
                started::unsupported);
      EXPECT_EQ(flush(all), outcome::failed);
      EXPECT_NE(net().last_error().find("asked for errors"), std::string::npos);
      EXPECT_EQ(flush(all), outcome::ok);
    }
    ASSERT_EQ(persist([&] {
                return net().atomic(1, {key, 8}, atomic_op::add, atomic_type::uint64, &operand, {}, nullptr);
              }),
              started::complete);
    EXPECT_EQ(flush(all), outcome::failed);
  }
}

TEST_P(sim_errors, TheConnectionStands) {
  begin();
  for (int i = 0; i < 20; ++i) {
    fails(ask_finished, [&](operation* op) { return net().get(1, {here.data()}, {key, 0}, 64, op); });
    // Messages that have no event arrive.
    (void)persist([&] { return send_on(net(), 1, lane::control, bytes(16), bytes(8), nullptr); });
  }
  ASSERT_TRUE(until([&] { return at(1).messages.size() == 20; }));
  EXPECT_EQ(at(0).count(connection_change::lost, 1), 0);
  EXPECT_EQ(at(1).count(connection_change::lost, 0), 0);
  at(0).net->close(1);
  ASSERT_TRUE(until([&] { return !at(0).connected(1) && !at(1).connected(0); }));
}

std::vector<network_kind> with_errors() {
  network_kind const sim = network_kinds().front();
  return {{"at_rest", sim.make, "errors=100"},
          {"bad", sim.make, "bad=yes,errors=100"},
          {"bad_active", sim.make, "bad=yes,errors=100,passive=no,coherent=no,seed=2"}};
}

INSTANTIATE_TEST_SUITE_P(Errors, sim_errors, testing::ValuesIn(with_errors()), name_of_network);

}  // namespace
}  // namespace atl::transport
