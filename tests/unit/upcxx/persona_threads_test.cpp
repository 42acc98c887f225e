// Several threads of one rank that communicate (thread mode par). One rank is enough for ThreadSanitizer to
// see what threads share in the engine: messages to oneself take the same ways.

#include <atomic>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <upcxx/upcxx.hpp>

namespace {

class persona_threads : public testing::Test {
 protected:
  void SetUp() override { upcxx::init(); }
  void TearDown() override {
    if (upcxx::master_persona().active_with_caller()) {
      upcxx::finalize();
    } else {  // the test has liberated it
      upcxx::persona_scope const scope(upcxx::master_persona());
      upcxx::finalize();
    }
  }

  /// Runs `body(thread)` on `threads` threads while this one serves as the master.
  template <class Body>
  static void beside_the_master(int threads, Body body) {
    std::atomic<int> running{threads};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        body(t);
        upcxx::discharge();
        running.fetch_sub(1);
      });
    }
    while (running.load() != 0) {
      upcxx::progress();
      sched_yield();
    }
    for (std::thread& t : all) t.join();
    upcxx::progress();
  }
};

TEST_F(persona_threads, rpcs_run_with_the_master_and_answer_their_threads) {
  std::thread::id const master = std::this_thread::get_id();
  static int calls = 0;  // the master's
  calls = 0;
  beside_the_master(3, [&](int t) {
    for (int i = 0; i < 300; ++i) {
      std::string const text(static_cast<std::size_t>(i) * 17 % 5000, static_cast<char>('a' + t));
      std::size_t const length = upcxx::rpc(
                                     0,
                                     [](std::string const& s, std::thread::id who) {
                                       EXPECT_EQ(std::this_thread::get_id(), who);
                                       ++calls;
                                       return s.size();
                                     },
                                     text, master)
                                     .wait();
      EXPECT_EQ(length, text.size());
    }
  });
  EXPECT_EQ(calls, 900);
}

TEST_F(persona_threads, floods_from_threads_come_through) {
  static long sum = 0;
  sum = 0;
  constexpr int count = 2000;
  beside_the_master(3, [](int t) {
    std::vector<int> const payload(1 + static_cast<std::size_t>(t) * 700, t + 1);
    for (int i = 0; i < count; ++i) {
      upcxx::rpc_ff(
          0, [](upcxx::view<int> v) { sum += *v.begin(); }, upcxx::make_view(payload.begin(), payload.end()));
      if (i % 50 == 0) upcxx::progress();
    }
  });
  while (sum != 6L * count) upcxx::progress();
}

TEST_F(persona_threads, large_messages_from_threads_come_through) {
  static long sum = 0;
  sum = 0;
  beside_the_master(2, [](int) {
    std::vector<int> const payload(1'000'000, 1);
    for (int i = 0; i < 8; ++i) {
      int const answer = upcxx::rpc(
                             0,
                             [](std::vector<int> const& v) {
                               sum += v.back();
                               return v.front();
                             },
                             payload)
                             .wait();
      EXPECT_EQ(answer, 1);
    }
  });
  EXPECT_EQ(sum, 16);
}

TEST_F(persona_threads, collectives_of_the_master_complete_while_others_make_progress) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int t = 0; t < 2; ++t) {
    others.emplace_back([&] {
      while (!stop) {
        upcxx::progress();
        sched_yield();
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    upcxx::barrier();
    auto all = upcxx::when_all(upcxx::barrier_async(), upcxx::reduce_all(i, upcxx::op_fast_add),
                               upcxx::broadcast(i + 1, 0));
    auto const [sum, value] = all.wait_tuple();
    EXPECT_EQ(sum, i);
    EXPECT_EQ(value, i + 1);
    std::vector<long> many(50, i);
    upcxx::reduce_all(many.data(), many.data(), many.size(), upcxx::op_fast_add).wait();
    EXPECT_EQ(many.back(), i);
  }
  stop = true;
  for (std::thread& t : others) t.join();
}

TEST_F(persona_threads, puts_and_remote_completions_from_threads) {
  upcxx::global_ptr<int> const cells = upcxx::new_array<int>(3);
  static std::vector<int> arrived;
  arrived.assign(3, 0);
  beside_the_master(3, [&](int t) {
    for (int i = 1; i <= 500; ++i) {
      upcxx::rput(
          i, cells + t,
          upcxx::operation_cx::as_future() |
              upcxx::remote_cx::as_rpc([](int thread) { ++arrived[static_cast<std::size_t>(thread)]; }, t))
          .wait();
    }
    EXPECT_EQ(upcxx::rget(cells + t).wait(), 500);
  });
  while (std::accumulate(arrived.begin(), arrived.end(), 0) != 1500) upcxx::progress();
  upcxx::delete_array(cells);
}

TEST_F(persona_threads, the_master_persona_moves_to_a_progress_thread_and_back) {
  std::mutex mutex;
  upcxx::liberate_master_persona();
  std::atomic<bool> stop{false};
  std::thread server([&] {
    upcxx::persona_scope const scope(mutex, upcxx::master_persona());
    while (!stop) {
      upcxx::progress();
      sched_yield();
    }
  });
  std::thread::id const server_id = server.get_id();
  for (int i = 0; i < 500; ++i) {
    bool const there = upcxx::rpc(
                           0, [](std::thread::id id) { return std::this_thread::get_id() == id; }, server_id)
                           .wait();
    EXPECT_TRUE(there);
  }
  stop = true;
  server.join();
  // For the barrier and for finalize, this thread needs it again.
  upcxx::persona_scope const scope(mutex, upcxx::master_persona());
  EXPECT_TRUE(upcxx::master_persona().active_with_caller());
  upcxx::barrier();
}

}  // namespace
