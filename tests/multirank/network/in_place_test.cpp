// Small messages to other hosts are written straight into the network's buffers: when, what they cost, and what becomes
// of those that are given up. Linked with the library's objects, to look inside.

#include <algorithm>
#include <atoll/engine/am.hpp>
#include <vector>

#include "../common.hpp"
#include "engine/progress/progress_engine.hpp"

namespace {

using atl::engine::am_begin;
using atl::engine::am_cancel;
using atl::engine::header_bytes;
using atl::engine::lane;
using atl::engine::network_messages;
using atl::engine::outgoing;
using atl::engine::pressure;
using atl::transport::storage;

atl::transport::message_memory const& memory() { return atl::engine::progress_engine::here().shm.memory(); }

class in_place_test : public multirank::fixture {
 protected:
  void SetUp() override {
    multirank::fixture::SetUp();
    upcxx::rpc(right, [] {}).wait();  // the connection stands, and nothing waits for it
    upcxx::barrier();
  }
  outgoing begin(std::size_t bytes, lane way, std::size_t alignment = 64) const {
    outgoing out;
    am_begin(out, right, bytes, pressure::always, alignment, way);
    return out;
  }
};

TEST_F(in_place_test, small_messages_only) {
  for (lane const way : {lane::request, lane::control}) {
    for (std::size_t const bytes :
         {header_bytes, header_bytes + 1, std::size_t{100}, network_messages::most_in_place}) {
      outgoing out = begin(bytes, way);
      EXPECT_EQ(out.where, storage::in_network) << bytes;
      EXPECT_EQ(out.capacity, bytes);
      std::memset(out.begin + header_bytes, 0x55, bytes - header_bytes);
      am_cancel(out);
    }
    outgoing out = begin(network_messages::most_in_place + 1, way);
    EXPECT_EQ(out.where, storage::network);
    am_cancel(out);
  }
  EXPECT_FALSE(upcxx::progress_required());
}

TEST_F(in_place_test, beyond_the_limit_one_announced_call_comes_after_the_other) {
  constexpr std::size_t bytes = 100'000;
  constexpr int calls = 8;
  static int came;
  came = 0;
  auto& full = const_cast<atl::transport::message_memory&>(memory());
  if (me == 0) full.charge_arrival(full.limit());
  upcxx::barrier();
  std::vector<char> const data(bytes);
  for (int i = 0; me == 1 && i < calls; ++i)
    upcxx::rpc_ff(
        0, [](upcxx::view<char> const& all) { came += all.size() == bytes; }, upcxx::make_view(data));
  std::size_t most = 0;
  while (me == 0 && came < calls) {
    upcxx::progress();
    most = std::max(most, full.arrived() - full.limit());
  }
  upcxx::barrier();
  if (me != 0) return;
  full.discharge_arrival(full.limit());
  EXPECT_GE(most, bytes);
  EXPECT_LT(most, 2 * bytes);
}

TEST_F(in_place_test, requests_take_credit_and_give_it_back) {
  constexpr std::size_t bytes = 1000;
  constexpr std::size_t credit = std::size_t{256} << 10;  // of 4 MB
  for (int round = 0; round < 10; ++round) {
    std::vector<outgoing> open;
    for (;;) {
      outgoing out = begin(bytes, lane::request);
      if (out.where != storage::in_network) {
        am_cancel(out);
        break;
      }
      open.push_back(out);
    }
    // Answers and the engine's messages need none.
    outgoing answer = begin(bytes, lane::control);
    EXPECT_EQ(answer.where, storage::in_network);
    am_cancel(answer);
    // What the call before them took may not be back yet.
    EXPECT_LE(open.size() * bytes, credit);
    EXPECT_GE(open.size() * bytes, credit - 4 * bytes);
    for (outgoing& each : open) am_cancel(each);
    // When it has run, the other side has passed them.
    EXPECT_EQ(upcxx::rpc(
                  right, [](int x) { return x + 1; }, 1)
                  .wait(),
              2);
  }
}

std::size_t taken;
void take(atl::engine::message* m) {
  ++taken;
  atl::engine::release(m);
}

TEST_F(in_place_test, immediate_mode_says_that_there_is_no_room) {
  for (std::size_t const bytes : {header_bytes + 8, std::size_t{1000}, std::size_t{100'000}}) {
    taken = 0;
    upcxx::barrier();
    std::size_t sent = 0;
    if (me == 0) {
      for (outgoing out; atl::engine::am_try_begin(out, right, bytes); ++sent) {
        ASSERT_LT(sent, 1'000'000U) << "it takes what has no room";
        std::memset(out.begin + header_bytes, 1, bytes - header_bytes);
        atl::engine::am_commit(out, atl::engine::message_kind::active, atl::engine::token_cache<&take>::get(),
                               bytes);
      }
      EXPECT_GT(sent, 0U);
    }
    std::size_t const all = upcxx::broadcast(sent, 0).wait();
    if (me == 1) multirank::spin_until([&] { return taken == all; });
    upcxx::barrier();
    outgoing out;
    EXPECT_TRUE(atl::engine::am_try_begin(out, right, bytes));
    am_cancel(out);
  }
}

struct alignas(256) wide {
  long value;
};

TEST_F(in_place_test, arrived_ones_are_aligned_as_asked_for) {
  auto const far = [](wide const& w) {
    return reinterpret_cast<std::uintptr_t>(&w) % alignof(wide) == 0 ? w.value : -1;
  };
  auto const view = [](upcxx::view<wide> all) {
    auto const at = reinterpret_cast<std::uintptr_t>(&*all.begin());
    return at % alignof(wide) == 0 ? all.begin()->value : -1;
  };
  wide const one{7};
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(upcxx::rpc(right, far, one).wait(), 7);
    EXPECT_EQ(upcxx::rpc(right, view, upcxx::make_view(&one, &one + 1)).wait(), 7);
  }
}

int runs;
bool may_start;

TEST_F(in_place_test, what_waits_counts_as_arrived) {
  constexpr int calls = 200;
  network_messages const& network = network_messages::here();
  // One after the other, since who sends makes user-level progress.
  for (upcxx::intrank_t const sender : {0, 1}) {
    runs = 0;
    may_start = false;
    upcxx::barrier();
    if (me == sender) {
      multirank::spin_until([] { return may_start; });
      for (int i = 0; i < calls; ++i)
        upcxx::rpc_ff(
            right, [](int) { ++runs; }, i);
    } else {
      upcxx::rpc_ff(right, [] { may_start = true; });
      // Internal progress only: what has come waits for its persona.
      std::uint64_t const before = network.calls_taken();
      while (network.calls_taken() - before < calls) atl::engine::poll();
      while (atl::engine::poll()) {
      }
      EXPECT_EQ(runs, 0);
      std::size_t const each = memory().arrived() / calls;
      EXPECT_EQ(memory().arrived(), each * calls);
      EXPECT_GT(each, header_bytes);
      EXPECT_LE(each, 64U);
      multirank::spin_until([] { return runs == calls; });
      EXPECT_EQ(memory().arrived(), 0U);
    }
    upcxx::barrier();
  }
}

}  // namespace
