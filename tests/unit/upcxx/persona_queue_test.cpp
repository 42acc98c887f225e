// Personas and their queues between threads, without the library being started: lpc needs no rank.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <upcxx/upcxx.hpp>

namespace {

template <class Done>
void progress_until(Done done) {
  while (!done()) {
    upcxx::progress();
    sched_yield();
  }
}

TEST(persona_queue, own_calls_run_in_order_and_only_in_progress) {
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) upcxx::default_persona().lpc_ff([&order, i] { order.push_back(i); });
  EXPECT_TRUE(order.empty());
  upcxx::progress(upcxx::progress_level::internal);
  EXPECT_TRUE(order.empty());
  upcxx::progress();
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(persona_queue, calls_from_before_a_scope_run_before_those_of_the_scope) {
  upcxx::persona other;
  std::vector<int> order;
  auto const queue = [&](int i) { other.lpc_ff([&order, i] { order.push_back(i); }); };
  queue(0);
  std::thread([&] { queue(1); }).join();
  {
    upcxx::persona_scope const scope(other);
    queue(2);
  }
  queue(3);
  std::thread([&] {  // finds some in the list of the holder before, some not
    upcxx::persona_scope const scope(other);
    queue(4);
    upcxx::progress();
  })
      .join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(persona_queue, calls_queued_by_a_callback_run_in_a_later_round) {
  int depth = 0;
  struct again {
    int* depth;
    void operator()() {
      EXPECT_TRUE(upcxx::in_progress());
      if (++*depth < 50) upcxx::default_persona().lpc_ff(again{depth});
      int const before = *depth;
      upcxx::progress();  // in a callback: no user-level progress
      EXPECT_EQ(*depth, before);
    }
  };
  upcxx::default_persona().lpc_ff(again{&depth});
  for (int i = 1; i <= 50; ++i) {
    upcxx::progress();
    EXPECT_EQ(depth, i);
  }
}

TEST(persona_queue, calls_from_many_threads_arrive_once_and_see_what_came_before) {
  constexpr int threads = 4;
  constexpr int count = 3000;
  struct slot {
    int value = 0;  // plain: its visibility comes with the call
  };
  std::vector<std::vector<slot>> written(threads, std::vector<slot>(count));
  std::vector<int> next(threads);  // touched by this thread only
  upcxx::persona& target = upcxx::default_persona();
  std::vector<std::thread> senders;
  for (int t = 0; t < threads; ++t) {
    senders.emplace_back([&, t] {
      auto& mine = written[static_cast<std::size_t>(t)];
      for (int i = 0; i < count; ++i) {
        mine[static_cast<std::size_t>(i)].value = i + 1;
        target.lpc_ff([&, t, i] {
          auto const thread = static_cast<std::size_t>(t);
          EXPECT_EQ(next[thread], i) << "calls of thread " << t;
          next[thread] = i + 1;
          EXPECT_EQ(written[thread][static_cast<std::size_t>(i)].value, i + 1);
        });
      }
    });
  }
  progress_until([&] {
    for (int const n : next) {
      if (n != count) return false;
    }
    return true;
  });
  for (std::thread& t : senders) t.join();
}

TEST(persona_queue, results_come_back_to_the_thread_that_asked) {
  constexpr int threads = 3;
  std::atomic<int> running{threads};
  upcxx::persona& target = upcxx::default_persona();
  std::thread::id const here = std::this_thread::get_id();
  int served = 0;
  std::vector<std::thread> askers;
  for (int t = 0; t < threads; ++t) {
    askers.emplace_back([&, t] {
      std::thread::id const me = std::this_thread::get_id();
      for (int i = 0; i < 500; ++i) {
        int const doubled = target
                                .lpc([&, i] {
                                  EXPECT_EQ(std::this_thread::get_id(), here);
                                  ++served;
                                  return 2 * i;
                                })
                                .then([&](int v) {
                                  EXPECT_EQ(std::this_thread::get_id(), me);
                                  return v + t;
                                })
                                .wait();
        EXPECT_EQ(doubled, 2 * i + t);
      }
      target.lpc([] {}).wait();
      running.fetch_sub(1);
    });
  }
  progress_until([&] { return running.load() == 0; });
  for (std::thread& t : askers) t.join();
  EXPECT_EQ(served, threads * 500);
}

TEST(persona_queue, a_function_may_return_a_future_of_its_own_persona) {
  std::atomic<bool> running{true};
  upcxx::persona& target = upcxx::default_persona();
  upcxx::promise<std::string> later;
  int rounds = 0;
  std::thread asker([&] {
    std::string const text = target.lpc([&] { return later.get_future(); }).wait();
    EXPECT_EQ(text, "a string that is too long for a small buffer");
    target.lpc([] { return upcxx::make_future(); }).wait();
    running = false;
  });
  progress_until([&] {
    if (++rounds == 20) later.fulfill_result("a string that is too long for a small buffer");
    return rounds > 20 && !running;
  });
  asker.join();
}

TEST(persona_queue, the_end_of_a_returned_future_runs_no_callback_of_the_asking_persona) {
  upcxx::persona asking;
  upcxx::persona_scope const scope(asking);
  upcxx::promise<int> later;
  int seen = 0;
  upcxx::default_persona().lpc([&] { return later.get_future(); }).then([&](int value) {
    EXPECT_TRUE(upcxx::current_persona().active_with_caller());
    EXPECT_EQ(&upcxx::current_persona(), &asking);
    seen = value;
  });
  upcxx::progress();
  bool fulfilled = false;
  upcxx::default_persona().lpc_ff([&] {
    later.fulfill_result(7);  // of progress level none
    EXPECT_EQ(seen, 0);
    fulfilled = true;
  });
  progress_until([&] { return seen != 0; });
  EXPECT_TRUE(fulfilled);
  EXPECT_EQ(seen, 7);
}

TEST(persona_queue, a_persona_wanders_between_threads_under_a_mutex) {
  constexpr int threads = 4;
  constexpr int rounds = 300;
  upcxx::persona wanderer;
  std::mutex mutex;
  long sum = 0;  // plain: belongs to whoever holds the persona
  std::atomic<int> running{threads};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        wanderer.lpc_ff([&] { ++sum; });
        {
          upcxx::persona_scope const scope(mutex, wanderer);
          EXPECT_TRUE(wanderer.active_with_caller());
          EXPECT_EQ(&upcxx::current_persona(), &wanderer);
          wanderer.lpc_ff([&] { ++sum; });  // stays in the queue if nobody makes progress now
          if (i % 3 != 0) upcxx::progress();
        }
        EXPECT_FALSE(wanderer.active_with_caller());
        EXPECT_EQ(&upcxx::current_persona(), &upcxx::default_persona());
      }
      running.fetch_sub(1);
    });
  }
  for (std::thread& t : all) t.join();
  upcxx::persona_scope const scope(mutex, wanderer);
  upcxx::progress();
  EXPECT_EQ(sum, 2L * threads * rounds);
}

TEST(persona_queue, everybody_calls_everybody) {
  constexpr int threads = 4;
  constexpr int count = 1000;
  std::atomic<upcxx::persona*> personas[threads] = {};
  std::atomic<int> finished{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      personas[t] = &upcxx::default_persona();
      for (auto& p : personas) {
        while (p.load() == nullptr) sched_yield();
      }
      int arrived = 0;
      int answers = 0;
      std::vector<int*> counters(threads);
      for (int i = 0; i < count; ++i) {
        for (int to = 0; to < threads; ++to) {
          // The counter is the target thread's own: found there, not here.
          personas[to]
              .load()
              ->lpc([] { return &upcxx::current_persona(); })
              .then([&, to](upcxx::persona* where) {
                EXPECT_EQ(where, personas[to].load());
                ++answers;
              });
        }
        ++arrived;
        upcxx::progress();
      }
      progress_until([&] { return answers == count * threads; });
      EXPECT_EQ(arrived, count);
      finished.fetch_add(1);
      progress_until([&] { return finished.load() == threads; });
    });
  }
  for (std::thread& t : all) t.join();
}

TEST(persona_queue, the_persona_of_a_callback_stays_current_when_a_scope_ends_inside_it) {
  upcxx::persona below;
  upcxx::persona above;
  upcxx::persona inside;
  upcxx::persona_scope const lower(below);
  upcxx::persona_scope const upper(above);
  bool ran = false;
  below.lpc_ff([&] {
    EXPECT_EQ(&upcxx::current_persona(), &below);
    {
      upcxx::persona_scope const scope(inside);
      EXPECT_EQ(&upcxx::current_persona(), &inside);
    }
    EXPECT_EQ(&upcxx::current_persona(), &below);
    ran = true;
  });
  upcxx::progress();
  EXPECT_TRUE(ran);
  EXPECT_EQ(&upcxx::current_persona(), &above);
}

TEST(persona_queue, calls_behind_one_that_gives_the_persona_away_wait_for_who_takes_it) {
  upcxx::persona given;
  std::optional<upcxx::persona_scope> scope(std::in_place, given);
  int others = 0;
  given.lpc_ff([&] { scope.reset(); });
  for (int i = 0; i < 2; ++i) {
    given.lpc_ff([&] {
      EXPECT_TRUE(given.active_with_caller());
      EXPECT_EQ(&upcxx::current_persona(), &given);
      ++others;
    });
  }
  upcxx::progress();
  EXPECT_EQ(others, 0);
  upcxx::progress();
  EXPECT_EQ(others, 0);
  EXPECT_EQ(&upcxx::current_persona(), &upcxx::default_persona());
  std::thread([&] {
    upcxx::persona_scope const next(given);
    upcxx::progress();
    EXPECT_EQ(others, 2);
  }).join();
}

TEST(persona_queue, a_call_may_end_its_persona) {
  auto ending = std::make_unique<upcxx::persona>();
  auto scope = std::make_unique<upcxx::persona_scope>(*ending);
  ending->lpc_ff([&] {
    scope.reset();
    ending.reset();
  });
  upcxx::progress();
  EXPECT_EQ(ending, nullptr);
  EXPECT_EQ(&upcxx::current_persona(), &upcxx::default_persona());
}

TEST(persona_queue, each_call_has_its_own_persona_current_whatever_those_before_it_left) {
  upcxx::persona own;
  upcxx::persona other;
  upcxx::persona_scope const scope(own);
  std::optional<upcxx::persona_scope> left;
  int ran = 0;
  own.lpc_ff([&] { left.emplace(other); });
  own.lpc_ff([&] {
    EXPECT_EQ(&upcxx::current_persona(), &own);
    ++ran;
  });
  upcxx::progress();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(&upcxx::current_persona(), &other);
  left.reset();
}

TEST(persona_queue, a_call_may_move_the_scope_that_it_runs_under) {
  upcxx::persona below;
  upcxx::persona above;
  auto first = std::make_unique<upcxx::persona_scope>(below);
  std::unique_ptr<upcxx::persona_scope> moved;
  {
    upcxx::persona_scope const upper(above);
    int ran = 0;
    below.lpc_ff([&] {
      moved = std::make_unique<upcxx::persona_scope>(std::move(*first));
      first.reset();
    });
    below.lpc_ff([&] { ++ran; });
    upcxx::default_persona().lpc_ff([&] { ++ran; });
    upcxx::progress();
    upcxx::progress();
    EXPECT_EQ(ran, 2);
  }
}

TEST(persona_queue, move_only_captures_end_on_the_target) {
  auto const token = std::make_shared<int>(1);
  std::weak_ptr<int> const watch = token;
  {
    auto owned = std::make_unique<std::shared_ptr<int>>(token);
    upcxx::default_persona().lpc_ff([o = std::move(owned)] { EXPECT_EQ(**o, 1); });
  }
  EXPECT_EQ(watch.use_count(), 2);
  upcxx::progress();
  EXPECT_EQ(watch.use_count(), 1);
}

TEST(persona_queue, many_short_threads_come_and_go) {
  int arrived = 0;
  upcxx::persona& target = upcxx::default_persona();
  for (int i = 0; i < 100; ++i) {
    std::thread([&] {
      int own = 0;
      upcxx::default_persona().lpc_ff([&] { ++own; });
      upcxx::progress();
      EXPECT_EQ(own, 1);
      target.lpc_ff([&] { ++arrived; });
    }).join();
  }
  upcxx::progress();
  EXPECT_EQ(arrived, 100);
}

}  // namespace
