#pragma once

// What discharge() leaves behind (parallel digest, 1.5): a thread starts an operation that is to tell another
// persona, discharges, and then ends or sleeps. The other persona hears of it all the same. Included by
// persona_test.cpp, thread mode par.

#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "common.hpp"

class discharge_test : public multirank::fixture {
 protected:
  /// `start(told)` is called on a thread of its own and starts operations that will call `told` on the master
  /// persona `times` times. Once on a thread that ends after its discharge, once on one that only sleeps.
  template <class Start>
  void expect_news(Start start, int times = 1) {
    std::atomic<int> heard{0};
    auto const told = [&heard] {
      EXPECT_TRUE(upcxx::master_persona().active_with_caller());
      EXPECT_TRUE(upcxx::in_progress());
      ++heard;
    };
    auto const body = [&] {
      start(told);
      upcxx::discharge();
      EXPECT_FALSE(upcxx::progress_required());
    };
    std::thread(body).join();  // nobody serves meanwhile: discharging needs no other rank's program
    EXPECT_EQ(heard, 0);
    multirank::spin_until([&] { return heard >= times; });
    std::thread sleeper([&] {
      body();
      while (heard < 2 * times) std::this_thread::yield();
    });
    multirank::spin_until([&] { return heard >= 2 * times; });
    sleeper.join();
    multirank::poll();
    EXPECT_EQ(heard, 2 * times);
    upcxx::barrier();
  }

  template <class F>
  static auto to_master(F f) {
    return upcxx::operation_cx::as_lpc(upcxx::master_persona(), f);
  }
};

TEST_F(discharge_test, calls_tell_other_personas) {
  for (int const target : {right, me}) {
    expect_news([&](auto told) { upcxx::rpc(target, to_master(told), [] {}); });
    expect_news([&](auto told) {
      upcxx::rpc(
          target, to_master([=, me = me](int v) {
            EXPECT_EQ(v, me + 1);
            told();
          }),
          [](int v) { return v + 1; }, me);
    });
    // Larger than what travels in the queues themselves, there and back.
    std::vector<int> many(50'000);
    std::iota(many.begin(), many.end(), me);
    expect_news([&](auto told) {
      upcxx::rpc(
          target, to_master([=](std::vector<int> const& v) {
            EXPECT_EQ(v, many);
            told();
          }),
          [](std::vector<int> v) { return v; }, many);
    });
    // The answer comes late: the callback returns a future.
    expect_news([&](auto told) {
      upcxx::rpc(target, to_master([=](std::string const& text) {
                   EXPECT_EQ(text, "late");
                   told();
                 }),
                 [] { return upcxx::current_persona().lpc([] { return std::string("late"); }); });
    });
  }
}

TEST_F(discharge_test, fire_and_forget_leaves) {
  static std::atomic<int> runs;
  runs = 0;
  upcxx::barrier();
  expect_news([&](auto told) {
    upcxx::rpc_ff(right, upcxx::source_cx::as_lpc(upcxx::master_persona(), told), [] { ++runs; });
  });
  multirank::spin_until([] { return runs == 2; });
}

TEST_F(discharge_test, several_personas_are_told_each_with_its_own_values) {
  upcxx::persona idle;  // hears of it when somebody takes it
  int idle_heard = 0;
  expect_news(
      [&](auto told) {
        upcxx::rpc(right,
                   to_master([=](std::string const& text) {
                     EXPECT_EQ(text, "for all");
                     told();
                   }) |
                       upcxx::operation_cx::as_lpc(idle,
                                                   [&](std::string text) {
                                                     EXPECT_EQ(text, "for all");
                                                     ++idle_heard;
                                                   }) |
                       to_master([=](std::string text) {
                         EXPECT_EQ(text, "for all");
                         told();
                       }),
                   [] { return std::string("for all"); });
      },
      2);
  EXPECT_EQ(idle_heard, 0);
  {
    upcxx::persona_scope const scope(idle);
    multirank::spin_until([&] { return idle_heard == 2; });
  }
}

TEST_F(discharge_test, the_initiator_is_told_too_if_it_asked) {
  std::atomic<int> heard{0};
  std::atomic<bool> got{false};
  std::thread worker([&] {
    upcxx::promise<int> promise;
    int own = 0;
    auto [first, second] =
        upcxx::rpc(right,
                   upcxx::operation_cx::as_future() | upcxx::source_cx::as_future() |
                       upcxx::operation_cx::as_promise(promise) | to_master([&](int v) { heard += v; }) |
                       upcxx::operation_cx::as_lpc(upcxx::current_persona(), [&](int v) { own = v; }),
                   [] { return 17; });
    EXPECT_TRUE(second.ready());
    EXPECT_EQ(first.wait(), 17);
    EXPECT_EQ(promise.finalize().wait(), 17);
    while (own != 17) upcxx::progress();
    got = true;
  });
  multirank::spin_until([&] { return got && heard == 17; });
  worker.join();
}

TEST_F(discharge_test, transfers_tell_other_personas) {
  multirank::shared_array<int> cells(16);
  std::iota(cells.local(), cells.local() + 16, 100 * me);
  upcxx::atomic_domain<int> atomics({upcxx::atomic_op::fetch_add});
  static std::atomic<int> remote;
  remote = 0;
  upcxx::barrier();
  auto const theirs = cells.at(right);
  std::vector<int> values(4, 7);
  expect_news([&](auto told) { upcxx::rput(1, theirs + 8, to_master(told)); });
  expect_news([&](auto told) {
    upcxx::rput(values.data(), theirs + 8, values.size(),
                to_master(told) | upcxx::remote_cx::as_rpc([] { ++remote; }));
  });
  expect_news([&](auto told) {
    upcxx::rget(theirs, to_master([=, this](int v) {
                  EXPECT_EQ(v, 100 * right);
                  told();
                }));
  });
  expect_news([&](auto told) { upcxx::rget(theirs, values.data(), values.size(), to_master(told)); });
  expect_news([&](auto told) {
    upcxx::copy(values.data(), theirs + 8, values.size(),
                to_master(told) | upcxx::remote_cx::as_rpc([] { ++remote; }));
  });
  expect_news([&](auto told) {
    atomics.fetch_add(theirs + 12, 1, std::memory_order_relaxed, to_master([=](int) { told(); }));
  });
  expect_news([&](auto told) {
    upcxx::rput_strided<1>(values.data(), {sizeof(int)}, theirs + 8, {2 * sizeof(int)}, {2}, to_master(told));
  });
  multirank::spin_until([] { return remote == 4; });
  upcxx::barrier();
  atomics.destroy();
}

TEST_F(discharge_test, collectives_tell_other_personas) {
  // Only who holds the master persona starts collectives; the persona on top of it is the initiator, and goes.
  upcxx::team split = upcxx::world().split(me % 2, me);
  for (upcxx::team* const team : {&upcxx::world(), &split}) {
    int heard = 0;
    int const size = team->rank_n();
    {
      upcxx::persona initiator;
      upcxx::persona_scope const scope(initiator);
      upcxx::barrier_async(*team, to_master([&] { ++heard; }));
      upcxx::reduce_all(1, upcxx::op_fast_add, *team, to_master([&](int sum) {
                          EXPECT_EQ(sum, size);
                          ++heard;
                        }));
      upcxx::broadcast(size, 0, *team, to_master([&](int v) {
                                         EXPECT_EQ(v, size);
                                         ++heard;
                                       }) | to_master([&](int v) {
                                         EXPECT_EQ(v, size);
                                         ++heard;
                                       }));
      upcxx::experimental::broadcast_nontrivial(std::string("text"), 0, *team, to_master([&](std::string s) {
                                                  EXPECT_EQ(s, "text");
                                                  ++heard;
                                                }));
      upcxx::experimental::reduce_all_nontrivial(std::string("a"), upcxx::experimental::op_add, *team,
                                                 to_master([&](std::string s) {
                                                   EXPECT_EQ(s, std::string(size, 'a'));
                                                   ++heard;
                                                 }) | to_master([&](std::string const& s) {
                                                   EXPECT_EQ(s, std::string(size, 'a'));
                                                   ++heard;
                                                 }));
      upcxx::discharge();
    }
    multirank::spin_until([&] { return heard == 7; });
  }
  split.destroy();
}
