// progress levels, discharge, and the restricted context (parallel digest, 1.1, 1.2 and 1.5).

#include <algorithm>

#include "common.hpp"

namespace {
int calls;
}

using progress_test = multirank::fixture;

TEST_F(progress_test, in_progress_is_true_exactly_inside_callbacks_of_progress) {
  EXPECT_FALSE(upcxx::in_progress());
  bool in_lpc = false, in_rpc_reply = false;
  upcxx::current_persona().lpc([&] { in_lpc = upcxx::in_progress(); }).wait();
  EXPECT_TRUE(in_lpc);
  EXPECT_TRUE(upcxx::rpc(right, [] { return upcxx::in_progress(); }).wait());
  upcxx::rpc(right, [] {}).then([&] { in_rpc_reply = upcxx::in_progress(); }).wait();
  EXPECT_TRUE(in_rpc_reply);
  bool in_user_fulfillment = true;
  upcxx::promise<> p;
  p.get_future().then([&] { in_user_fulfillment = upcxx::in_progress(); });
  p.fulfill_anonymous(1);
  EXPECT_FALSE(in_user_fulfillment);
  bool in_ready_then = true;
  upcxx::make_future().then([&] { in_ready_then = upcxx::in_progress(); });
  EXPECT_FALSE(in_ready_then);
  EXPECT_FALSE(upcxx::in_progress());
}

TEST_F(progress_test, internal_progress_runs_nothing_of_the_users) {
  calls = 0;
  upcxx::barrier();
  int const before = calls;  // whoever leaves the barrier first may have called already
  int lpcs = 0;
  upcxx::rpc_ff(right, [] { ++calls; });
  upcxx::current_persona().lpc_ff([&] { ++lpcs; });
  upcxx::future<> reply = upcxx::rpc(right, [] { ++calls; });
  for (int i = 0; i < 1000; ++i) {
    upcxx::progress(upcxx::progress_level::internal);
  }
  EXPECT_EQ(calls, before);
  EXPECT_EQ(lpcs, 0);
  EXPECT_FALSE(reply.ready());
  reply.wait();
  multirank::spin_until([&] { return calls == 2 && lpcs == 1; });
}

TEST_F(progress_test, discharge_sends_without_notifying) {
  calls = 0;
  upcxx::barrier();
  int const before = calls;  // whoever leaves the barrier first may have called already
  int lpcs = 0;
  upcxx::current_persona().lpc_ff([&] { ++lpcs; });
  upcxx::future<int> f = upcxx::rpc(right, [] { return ++calls; });
  upcxx::rpc_ff(me, [] { ++calls; });
  upcxx::discharge();
  EXPECT_FALSE(upcxx::progress_required());
  upcxx::discharge(upcxx::default_persona_scope());
  EXPECT_FALSE(upcxx::progress_required(upcxx::default_persona_scope()));
  upcxx::discharge(upcxx::top_persona_scope());
  EXPECT_EQ(lpcs, 0);
  EXPECT_EQ(calls, before);
  EXPECT_FALSE(f.ready());
  EXPECT_GE(f.wait(), 1);
  multirank::spin_until([&] { return calls == 2 && lpcs == 1; });
}

TEST_F(progress_test, without_traffic_no_progress_is_required) {
  upcxx::barrier();
  upcxx::discharge();
  EXPECT_FALSE(upcxx::progress_required());
}

TEST_F(progress_test, progress_inside_a_callback_runs_no_other_callback) {
  calls = 0;
  upcxx::barrier();
  static bool nested, finished;
  nested = finished = false;
  upcxx::current_persona().lpc_ff([&] {
    upcxx::current_persona().lpc_ff([] { nested = nested || !finished; });
    upcxx::rpc_ff(upcxx::rank_me(), [] { ++calls; });
    int const before = calls;
    for (int i = 0; i < 100; ++i) {
      upcxx::progress();
    }
    EXPECT_EQ(calls, before);
    EXPECT_TRUE(upcxx::in_progress());
    finished = true;
  });
  multirank::spin_until([&] { return finished && calls == 1; });
  EXPECT_FALSE(nested);
  multirank::poll();
}

TEST_F(progress_test, callbacks_may_start_every_non_collective_operation) {
  multirank::shared_array<int> cells(6);
  std::fill_n(cells.local(), 6, me);
  upcxx::barrier();
  static int const source[2] = {70, 71};
  static int fetched[2];
  upcxx::promise<> done;
  int value = -1;
  done.require_anonymous(1);
  upcxx::current_persona().lpc_ff([&, to = cells.at(right)] {
    upcxx::when_all(upcxx::rput(60, to + 1), upcxx::rput(source, to + 2, 2), upcxx::rget(to),
                    upcxx::rget(to, fetched, 1),
                    upcxx::rpc(
                        right, [](int x) { return x * 2; }, 21),
                    upcxx::copy(source, to + 4, 2))
        .then([&](int got, int doubled) {
          value = got + doubled;
          done.fulfill_anonymous(1);
        });
  });
  done.finalize().wait();
  EXPECT_EQ(value, right + 42);
  EXPECT_EQ(fetched[0], right);
  upcxx::barrier();
  EXPECT_EQ(cells.local()[1], 60);
  EXPECT_EQ(cells.local()[3], 71);
  EXPECT_EQ(cells.local()[5], 71);
}

TEST_F(progress_test, waiting_for_a_future_serves_calls_of_others) {
  // Everyone waits for someone who waits: only serving inside wait() resolves it.
  for (int i = 0; i < 200; ++i) {
    int const got = upcxx::rpc(
                        right, [](int x) { return x + upcxx::rank_me(); }, i)
                        .wait();
    EXPECT_EQ(got, i + right);
  }
}

TEST_F(progress_test, a_ready_future_may_be_read_in_a_callback) {
  upcxx::future<int> ready = upcxx::make_future(4);
  int got = 0;
  upcxx::current_persona().lpc([&] { got = ready.result(); }).wait();
  EXPECT_EQ(got, 4);
}
