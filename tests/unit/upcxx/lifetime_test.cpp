// Long chains, order of ends, and the pool: what must hold for the memory behind futures.

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <upcxx/future.hpp>
#include <upcxx/persona.hpp>

#include "unit/upcxx/support.hpp"

namespace {

using future_test::counted;
using future_test::end_mark;
using upcxx::future;
using upcxx::make_future;
using upcxx::promise;
using upcxx::when_all;

// Enough to overflow the stack by recursion; the two common patterns run longer.
constexpr int chain_length = 200'000;
constexpr int long_chain_length = 1'000'000;

TEST(chains, then_becomes_ready) {
  promise<int> p;
  future<int> f = p.get_future();
  for (int i = 0; i < long_chain_length; ++i) {
    f = f.then([](int v) { return v + 1; });
  }
  p.fulfill_result(0);
  EXPECT_EQ(f.result(), long_chain_length);
}

TEST(chains, then_is_destroyed_from_the_source) {
  future<> f;
  {
    promise<> p;
    f = p.get_future();
    for (int i = 0; i < chain_length; ++i) {
      f = f.then([] {});
    }
  }
  EXPECT_FALSE(f.ready());
}

TEST(chains, when_all_becomes_ready) {
  promise<> p;
  future<> f = make_future();
  for (int i = 0; i < long_chain_length; ++i) {
    f = when_all(f, p.get_future());
  }
  EXPECT_FALSE(f.ready());
  p.fulfill_anonymous(1);
  EXPECT_TRUE(f.ready());
}

TEST(chains, when_all_of_separate_promises) {
  std::vector<promise<>> promises(100'000);
  future<> f = make_future();
  for (auto const& p : promises) {
    f = when_all(f, p.get_future());
  }
  for (auto p = promises.rbegin(); p != promises.rend(); ++p) {
    EXPECT_FALSE(f.ready());
    p->fulfill_anonymous(1);
  }
  EXPECT_TRUE(f.ready());
}

TEST(chains, when_all_is_destroyed) {
  promise<> p;
  future<int> f = promise<int>().get_future();
  for (int i = 0; i < chain_length; ++i) {
    f = when_all(f, p.get_future());
  }
  f = {};
  p = promise<>();
}

TEST(chains, returned_futures_become_ready) {
  // f waits for the future returned by a callback, which waits for the future returned by a callback, ...
  struct state {
    std::vector<promise<>> steps = std::vector<promise<>>(chain_length);
    std::size_t next = 0;
  } s;
  struct loop {
    state& s;
    future<int> operator()() const {
      promise<>& step = s.steps[s.next++];
      return step.get_future().then(
          [*this]() -> future<int> { return s.next == s.steps.size() ? make_future(7) : (*this)(); });
    }
  };
  auto f = loop{s}();
  for (auto& p : s.steps) {
    p.fulfill_anonymous(1);
  }
  EXPECT_EQ(f.result(), 7);
}

TEST(chains, through_results_are_destroyed) {
  struct node {
    future<node> next;
  };
  future<node> list;
  for (int i = 0; i < chain_length; ++i) {
    list = make_future(node{std::move(list)});
  }
  list = {};
}

TEST(chains, through_captures_are_destroyed) {
  promise<> first;
  promise<> p = first;
  for (int i = 0; i < chain_length; ++i) {
    promise<> next;
    p.get_future().then([next] { next.fulfill_anonymous(1); });
    p = next;
  }
  p = promise<>();
  first = promise<>();
}

TEST(lifetime, everything_ends) {
  counted::alive = 0;
  {
    promise<counted> p;
    auto a = p.get_future().then([c = counted(1)](counted const& v) { return counted(v.value); });
    auto b = when_all(a, p.get_future(), counted(3));
    auto c = b.then([](counted const&, counted const&, counted const& v) { return make_future(counted(v)); });
    auto d = make_future().then([c] { return c; });
    p.fulfill_result(counted(5));
    EXPECT_EQ(d.result_reference().value, 3);
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(lifetime, dropping_the_source_ends_pending_callbacks) {
  bool ended = false;
  bool ended_behind = false;
  auto p = std::make_unique<promise<>>();
  auto kept = p->get_future().then([mark = end_mark(ended)] {});
  kept.then([mark = end_mark(ended_behind)] {});
  p.reset();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(ended_behind);  // `kept` may still be asked
  kept = {};
  EXPECT_TRUE(ended_behind);
}

TEST(lifetime, end_of_a_capture_may_touch_its_surroundings) {
  struct owner {
    promise<> p;
    future<> f;
  };
  auto shared = std::make_shared<owner>();
  struct resetter {
    std::shared_ptr<owner> target;
    ~resetter() {
      if (target) {
        target->f = {};
        target->p = promise<>();
      }
    }
    resetter(std::shared_ptr<owner> t) : target(std::move(t)) {}
    resetter(resetter&&) = default;
  };
  auto trigger = std::make_unique<promise<>>();
  shared->f = trigger->get_future().then([r = resetter(shared)] {});
  shared->f.then([] {});
  trigger.reset();
  EXPECT_FALSE(shared->f.ready());
}

TEST(lifetime, fulfilment_while_others_are_pending) {
  // The callback of one dependent destroys the cell of the next one's result handle.
  promise<> p;
  future<> second;
  int runs = 0;
  p.get_future().then([&] {
    second = {};
    ++runs;
  });
  second = p.get_future().then([&] { ++runs; });
  p.fulfill_anonymous(1);
  EXPECT_EQ(runs, 2);
}

TEST(pool, cells_may_be_freed_on_another_thread) {
  for (int round = 0; round < 3; ++round) {
    std::vector<future<int>> futures;
    for (int i = 0; i < 20'000; ++i) {  // more than the other thread's list takes
      futures.push_back(make_future(i));
    }
    std::thread([moved = std::move(futures)]() mutable {
      moved.clear();
      EXPECT_EQ(make_future(2).result(), 2);
    }).join();
  }
}

TEST(pool, reuses_cells) {
#if ATOLL_POOLS_CELLS
  make_future(1);
  auto f = make_future(1);
  int const* const where = &f.result_reference();
  f = {};
  f = make_future(2);
  EXPECT_EQ(&f.result_reference(), where);
#else
  GTEST_SKIP() << "not pooled under AddressSanitizer";
#endif
}

// Destroyed after the main thread's lists: handled by the global allocator.
struct late {
  std::vector<future<std::string>> futures;
  ~late() {
    futures.clear();
    auto f = make_future(1).then([](int v) { return std::to_string(v); });
    promise<> p;
    p.get_future().then([] {});
  }
};
late at_exit;

// Ends before or after the thread's lists, depending on which is used first.
struct thread_late {
  future<int> kept;
  ~thread_late() { kept = make_future(kept.ready() ? kept.result() : 0); }
};
thread_local thread_late at_thread_exit;

TEST(pool, outlives_statics_and_thread_locals) {
  at_exit.futures.assign(10, make_future(std::string(30, 'q')));
  std::thread([] { at_thread_exit.kept = make_future(3); }).join();
  std::thread([] {
    EXPECT_TRUE(make_future(3).ready());
    at_thread_exit.kept = make_future(3);
  }).join();
}

// Begun before its thread has used the library, so that it ends after what the library keeps for the thread.
struct user_at_thread_end {
  bool* was_current = nullptr;
  ~user_at_thread_end() {
    if (was_current != nullptr) *was_current = &upcxx::current_persona() == &upcxx::default_persona();
  }
};
thread_local user_at_thread_end uses_library;

TEST(pool, threads_may_use_the_library_until_they_end) {
  bool was_current = false;
  std::thread([&] {
    uses_library.was_current = &was_current;
    EXPECT_TRUE(upcxx::default_persona().active_with_caller());
  }).join();
  EXPECT_TRUE(was_current);
}

}  // namespace
