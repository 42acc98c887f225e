// Simulated networks that lack an ability, or want more of the caller: what they say of themselves, and what they take.

#include "network_fabric.hpp"

namespace atl::transport {
namespace {

class sim_abilities : public network_pair {
 protected:
  sim_abilities() : network_pair(10'000) {}
  bytes here = pattern(10'000, 1);

  bool is(char const* name) const { return GetParam().name == name; }
  template <class Start>
  bool takes(Start const& start) {
    counted op(ask_finished);
    started const s = persist([&] { return start(&op); });
    if (s == started::unsupported) return false;
    EXPECT_TRUE(until([&] { return op.finished == 1; }));
    EXPECT_EQ(op.how, outcome::ok);
    return true;
  }
  /// In all forms: are they taken?
  void expect_puts(bool taken, local_place from, std::size_t n) {
    remote_piece const far{{key, 0}, n};
    local_piece const near{from, n};
    EXPECT_EQ(takes([&](operation* op) { return net().put(1, {key, 0}, from, n, op); }), taken);
    EXPECT_EQ(takes([&](operation* op) { return net().put_pieces(1, {&far, 1}, {&near, 1}, op); }), taken);
    EXPECT_EQ(takes([&](operation* op) { return net().put_notified(1, {key, 0}, from, n, 1, op); }), taken);
  }
  void expect_gets(bool taken, local_place to, std::size_t n) {
    remote_piece const far{{key, 0}, n};
    local_piece const near{to, n};
    EXPECT_EQ(takes([&](operation* op) { return net().get(1, to, {key, 0}, n, op); }), taken);
    EXPECT_EQ(takes([&](operation* op) { return net().get_pieces(1, {&near, 1}, {&far, 1}, op); }), taken);
  }
};

TEST_P(sim_abilities, AreWhatTheOptionsSay) {
  begin();
  abilities const& can = net().abilities();
  for (ability const& a : {can.put, can.put_pieces, can.put_notified}) EXPECT_NE(bool{a}, is("no_put"));
  for (ability const& a : {can.get, can.get_pieces}) EXPECT_NE(bool{a}, is("no_get"));
  for (ability const& a : {can.put, can.get, net().atomic_support(atomic_op::add, atomic_type::int64)}) {
    EXPECT_TRUE(!a || a.needs_target != is("adapter"));
  }
  EXPECT_EQ(can.needs_local_registration, is("registers"));
}

TEST_P(sim_abilities, OnlyWhatIsThereIsTaken) {
  begin();
  registration* const known = enter(0, here);
  for (std::size_t const n : {std::size_t{8}, here.size()}) {
    expect_puts(!is("no_put"), {here.data(), known}, n);
    expect_gets(!is("no_get"), {here.data(), known}, n);
    expect_puts(!is("no_put") && !is("registers"), {here.data()}, n);
    expect_gets(!is("no_get") && !is("registers"), {here.data()}, n);
  }
  // Beside the registration that is named.
  expect_puts(false, {here.data() + here.size() - 7, known}, 8);
  expect_gets(false, {here.data() + here.size() - 7, known}, 8);
  expect_gets(false, {target.data(), known}, 8);
  // Messages and atomics need none.
  std::uint64_t operand = 1, before = 0;
  EXPECT_TRUE(takes([&](operation* op) {
    return net().atomic(1, {key, 8}, atomic_op::add, atomic_type::uint64, &operand, {&before}, op);
  }));
  send(0, 1, lane::request, bytes(16), pattern(50'000, 1));
  ASSERT_TRUE(until([&] { return at(1).messages.size() == 1; }));
  at(0).net->forget(known);
}

std::vector<network_kind> with_abilities() {
  network_kind const sim = network_kinds().front();
  return {{"adapter", sim.make, "adapter=yes"},
          {"registers", sim.make, "registers=yes"},
          {"no_put", sim.make, "put=no"},
          {"no_get", sim.make, "get=no"}};
}

INSTANTIATE_TEST_SUITE_P(Abilities, sim_abilities, testing::ValuesIn(with_abilities()), name_of_network);

}  // namespace
}  // namespace atl::transport
