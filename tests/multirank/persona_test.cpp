// Personas, scopes and local procedure calls (parallel digest, 1.3 and 1.4).
//
// Compiled in both thread modes; what only `par` allows is at the end.

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <thread>

#include "common.hpp"
#if defined(UPCXX_THREADMODE) && UPCXX_THREADMODE
#include "discharge_cases.hpp"
#endif

namespace {

[[maybe_unused]] std::atomic<int> ranks_through{0};

template <class Expected, class F>
void expect_future(F const&) {
  static_assert(std::is_same_v<F, Expected>);
}

}  // namespace

using persona_test = multirank::fixture;

TEST_F(persona_test, the_initial_stack_is_master_above_default) {
  EXPECT_EQ(&upcxx::current_persona(), &upcxx::master_persona());
  EXPECT_NE(&upcxx::default_persona(), &upcxx::master_persona());
  EXPECT_TRUE(upcxx::master_persona().active_with_caller());
  EXPECT_TRUE(upcxx::default_persona().active_with_caller());
  upcxx::persona other;
  EXPECT_FALSE(other.active_with_caller());
  static_assert(!std::is_copy_constructible_v<upcxx::persona> &&
                !std::is_move_constructible_v<upcxx::persona>);
}

// The constructor is not explicit.
static_assert(std::is_convertible_v<upcxx::persona&, upcxx::persona_scope>);

TEST_F(persona_test, scopes_nest_and_the_top_is_current) {
  upcxx::persona a, b;
  {
    upcxx::persona_scope sa(a);
    EXPECT_EQ(&upcxx::current_persona(), &a);
    EXPECT_EQ(&upcxx::top_persona_scope(), &sa);
    {
      upcxx::persona_scope sb(b);
      EXPECT_EQ(&upcxx::current_persona(), &b);
      EXPECT_TRUE(a.active_with_caller());
      {
        upcxx::persona_scope again(a);  // the same persona twice in one stack
        EXPECT_EQ(&upcxx::current_persona(), &a);
      }
      EXPECT_TRUE(a.active_with_caller());
      EXPECT_EQ(&upcxx::current_persona(), &b);
    }
    EXPECT_FALSE(b.active_with_caller());
    EXPECT_EQ(&upcxx::current_persona(), &a);
    EXPECT_TRUE(upcxx::master_persona().active_with_caller());
  }
  EXPECT_FALSE(a.active_with_caller());
  EXPECT_EQ(&upcxx::current_persona(), &upcxx::master_persona());
}

TEST_F(persona_test, scopes_can_be_moved) {
  upcxx::persona a;
  {
    auto scope = upcxx::persona_scope(a);
    upcxx::persona_scope moved(std::move(scope));
    EXPECT_EQ(&upcxx::current_persona(), &a);
    EXPECT_EQ(&upcxx::top_persona_scope(), &moved);
  }
  EXPECT_FALSE(a.active_with_caller());
}

TEST_F(persona_test, the_mutex_form_locks_for_the_life_of_the_scope) {
  struct counting_mutex {
    int locks = 0;
    int unlocks = 0;
    upcxx::persona* watched = nullptr;
    bool active_at_lock = true;
    bool active_at_unlock = true;
    void lock() {
      ++locks;
      active_at_lock = watched->active_with_caller();
    }
    void unlock() {
      ++unlocks;
      active_at_unlock = watched->active_with_caller();
    }
  } mutex;
  upcxx::persona p;
  mutex.watched = &p;
  {
    upcxx::persona_scope scope(mutex, p);
    EXPECT_EQ(mutex.locks, 1);
    EXPECT_EQ(mutex.unlocks, 0);
    EXPECT_TRUE(p.active_with_caller());
    upcxx::persona_scope moved(std::move(scope));
    EXPECT_EQ(mutex.unlocks, 0);
  }
  EXPECT_EQ(mutex.locks, 1);
  EXPECT_EQ(mutex.unlocks, 1);
  EXPECT_FALSE(mutex.active_at_lock) << "locked first, pushed after";
  EXPECT_FALSE(mutex.active_at_unlock) << "popped first, unlocked after";
  std::mutex standard;
  {
    upcxx::persona_scope scope(standard, p);
    EXPECT_FALSE(standard.try_lock());
  }
  EXPECT_TRUE(standard.try_lock());
  standard.unlock();
}

TEST_F(persona_test, lpcs_run_in_progress_and_never_in_the_call) {
  for (upcxx::persona* target :
       {&upcxx::master_persona(), &upcxx::default_persona(), &upcxx::current_persona()}) {
    int runs = 0;
    target->lpc_ff([&] {
      ++runs;
      EXPECT_TRUE(upcxx::in_progress());
    });
    EXPECT_EQ(runs, 0);
    upcxx::progress(upcxx::progress_level::internal);
    EXPECT_EQ(runs, 0);
    multirank::spin_until([&] { return runs == 1; });
    upcxx::future<int> f = target->lpc([&] { return ++runs; });
    EXPECT_FALSE(f.ready());
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(f.wait(), 2);
  }
}

TEST_F(persona_test, an_inactive_persona_runs_its_calls_once_it_is_active) {
  upcxx::persona p;
  int runs = 0;
  p.lpc_ff([&] {
    ++runs;
    EXPECT_TRUE(p.active_with_caller());
  });
  upcxx::future<std::string> f = p.lpc([&] {
    ++runs;
    return std::string("result");
  });
  multirank::poll(200);
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(f.ready());
  {
    upcxx::persona_scope scope(p);
    multirank::spin_until([&] { return runs == 2; });
  }
  EXPECT_EQ(f.wait(), "result");
}

TEST_F(persona_test, results_of_all_kinds_come_back) {
  upcxx::persona& self = upcxx::current_persona();
  static int object = 5;
  auto nothing = self.lpc([] {});
  auto value = self.lpc([] { return std::string("v"); });
  auto reference = self.lpc([]() -> int& { return object; });
  auto rvalue = self.lpc([]() -> int&& { return std::move(object); });
  auto owned = self.lpc([] { return std::make_unique<int>(8); });
  auto flattened = self.lpc([] { return upcxx::make_future(1, std::string("two")); });
  auto owned_later = self.lpc([] { return upcxx::make_future(2, std::make_unique<int>(9)); });
  auto waits = self.lpc([&] { return self.lpc([] { return 3; }); });
  expect_future<upcxx::future<>>(nothing);
  expect_future<upcxx::future<std::string>>(value);
  expect_future<upcxx::future<int&>>(reference);
  expect_future<upcxx::future<int>>(rvalue);
  expect_future<upcxx::future<std::unique_ptr<int>>>(owned);
  expect_future<upcxx::future<int, std::string>>(flattened);
  expect_future<upcxx::future<int, std::unique_ptr<int>>>(owned_later);
  expect_future<upcxx::future<int>>(waits);
  nothing.wait();
  EXPECT_EQ(value.wait(), "v");
  EXPECT_EQ(&reference.wait(), &object);
  EXPECT_EQ(rvalue.wait(), 5);
  EXPECT_EQ(*owned.wait_reference(), 8);
  EXPECT_EQ(flattened.wait<1>(), "two");
  EXPECT_EQ(*owned_later.wait_reference<1>(), 9);
  EXPECT_EQ(waits.wait(), 3);
}

TEST_F(persona_test, callables_may_be_lvalues_move_only_or_heavy) {
  int sum = 0;
  auto const lvalue = [&sum] { sum += 1; };
  upcxx::master_persona().lpc_ff(lvalue);
  upcxx::master_persona().lpc_ff([&sum, p = std::make_unique<int>(10)] { sum += *p; });
  std::array<int, 1000> heavy{};
  heavy[999] = 100;
  upcxx::master_persona().lpc_ff([&sum, heavy] { sum += heavy[999]; });
  upcxx::master_persona().lpc_ff([&sum, count = 0]() mutable { sum += ++count * 1000; });
  multirank::spin_until([&] { return sum == 1111; });
}

TEST_F(persona_test, calls_sent_from_calls_run_later) {
  int depth = 0;
  bool nested = false;
  bool inside = false;
  std::function<void()> step = [&] {
    nested = nested || inside;
    inside = true;
    if (++depth < 100) {
      upcxx::current_persona().lpc_ff(step);
    }
    upcxx::progress();
    inside = false;
  };
  upcxx::current_persona().lpc_ff(step);
  multirank::spin_until([&] { return depth == 100; });
  EXPECT_FALSE(nested);
}

// Checked builds would stop at the end of the persona if it were still to hear of the calls; also in the next test.
TEST_F(persona_test, calls_whose_futures_are_given_up_end_and_are_forgotten) {
  auto const captured = std::make_shared<int>(1);
  auto given_up_later = std::make_unique<upcxx::promise<int>>();
  upcxx::persona asking;
  {
    upcxx::persona_scope const scope(asking);
    upcxx::persona& asked = upcxx::master_persona();
    auto const at_once = asked.lpc([captured] { return upcxx::promise<int>().get_future(); });
    auto const later = asked.lpc([captured, &given_up_later] { return given_up_later->get_future(); });
    auto const no_promise = asked.lpc([captured] { return upcxx::future<std::string, int>(); });
    EXPECT_EQ(captured.use_count(), 4);
    upcxx::progress();
    upcxx::progress();
    EXPECT_EQ(captured.use_count(), 2);
    given_up_later.reset();
    EXPECT_EQ(captured.use_count(), 1);
    upcxx::progress();
    EXPECT_FALSE(at_once.is_ready() || later.is_ready() || no_promise.is_ready());
  }
}

TEST_F(persona_test, a_call_whose_function_throws_while_it_is_copied_has_not_begun) {
  struct refuses_to_be_copied {
    refuses_to_be_copied() = default;
    refuses_to_be_copied(refuses_to_be_copied const&) { throw std::bad_alloc(); }
    int operator()() const { return 1; }
  };
  refuses_to_be_copied const function;
  upcxx::persona asking;
  {
    upcxx::persona_scope const scope(asking);
    EXPECT_THROW(static_cast<void>(upcxx::master_persona().lpc(function)), std::bad_alloc);
    EXPECT_THROW(upcxx::master_persona().lpc_ff(function), std::bad_alloc);
    EXPECT_EQ(upcxx::master_persona().lpc([] { return 2; }).wait(), 2);
  }
}

TEST_F(persona_test, another_thread_reaches_the_master_persona) {
  std::atomic<int> runs{0};
  std::thread::id const main_thread = std::this_thread::get_id();
  std::thread worker([&] {
    EXPECT_FALSE(upcxx::master_persona().active_with_caller());
    EXPECT_EQ(&upcxx::current_persona(), &upcxx::default_persona());
    for (int i = 0; i < 1000; ++i) {
      upcxx::master_persona().lpc_ff([&] {
        EXPECT_EQ(std::this_thread::get_id(), main_thread);
        ++runs;
      });
    }
    // A result comes back to the worker's own default persona.
    upcxx::future<int> f = upcxx::master_persona().lpc([] { return upcxx::rank_me() + 1; });
    EXPECT_EQ(f.wait(), upcxx::rank_me() + 1);
    // The funnelling idiom: the master persona communicates on the worker's behalf.
    int const peer = (upcxx::rank_me() + 1) % upcxx::rank_n();
    EXPECT_EQ(upcxx::master_persona()
                  .lpc([peer] { return upcxx::rpc(peer, [] { return upcxx::rank_me(); }); })
                  .wait(),
              peer);
    ++runs;
  });
  multirank::spin_until([&] { return runs == 1001; });
  worker.join();
}

TEST_F(persona_test, the_master_reaches_another_threads_default_persona) {
  std::atomic<upcxx::persona*> address{nullptr};
  std::atomic<bool> stop{false};
  std::atomic<int> runs{0};
  std::thread worker([&] {
    address = &upcxx::default_persona();
    while (!stop) {
      upcxx::progress();
      std::this_thread::yield();
    }
  });
  while (address == nullptr) {
    std::this_thread::yield();
  }
  std::thread::id const worker_id = worker.get_id();
  for (int i = 0; i < 1000; ++i) {
    address.load()->lpc_ff([&] {
      EXPECT_EQ(std::this_thread::get_id(), worker_id);
      ++runs;
    });
  }
  upcxx::future<int> f = address.load()->lpc([&] { return runs.load() >= 0 ? 77 : 0; });
  EXPECT_EQ(f.wait(), 77);
  // An operation of this rank completes on the worker.
  multirank::shared_array<int> cells(1);
  *cells.local() = me;
  upcxx::barrier();
  std::atomic<int> got{-1};
  upcxx::rget(cells.at(right), upcxx::operation_cx::as_lpc(*address.load(), [&](int v) {
                EXPECT_EQ(std::this_thread::get_id(), worker_id);
                got = v;
              }));
  multirank::spin_until([&] { return got == right && runs == 1000; });
  stop = true;
  worker.join();
}

TEST_F(persona_test, a_persona_changes_threads_under_its_mutex) {
  upcxx::persona shared;
  std::mutex mutex;
  std::atomic<int> runs{0};
  for (int i = 0; i < 100; ++i) {
    shared.lpc_ff([&] { ++runs; });
  }
  auto drain = [&] {
    upcxx::persona_scope scope(mutex, shared);
    upcxx::progress();
  };
  std::thread worker([&] {
    for (int i = 0; i < 50; ++i) {
      drain();
    }
  });
  for (int i = 0; i < 50; ++i) {
    drain();
  }
  worker.join();
  while (runs < 100) {
    drain();
  }
  EXPECT_EQ(runs, 100);
}

TEST_F(persona_test, a_callback_that_ends_its_scope_leaves_the_persona_below_current) {
  upcxx::persona p;
  std::optional<upcxx::persona_scope> scope(std::in_place, p);
  p.lpc_ff([&] {
    EXPECT_EQ(&upcxx::current_persona(), &p);
    scope.reset();
  });
  upcxx::progress();
  EXPECT_FALSE(scope.has_value());
  EXPECT_FALSE(p.active_with_caller());
  EXPECT_EQ(&upcxx::current_persona(), &upcxx::master_persona());
}

TEST_F(persona_test, notifications_go_to_the_persona_that_was_current_at_initiation) {
  multirank::shared_array<int> cells(1);
  *cells.local() = me;
  upcxx::barrier();
  upcxx::persona p;
  upcxx::future<int> f;
#if defined(UPCXX_THREADMODE) && UPCXX_THREADMODE
  {
    upcxx::persona_scope scope(p);
    f = upcxx::rget(cells.at(right), upcxx::operation_cx::as_defer_future());
  }
#else
  // In seq mode only the master persona may be current while communicating; lpc is unrestricted.
  {
    upcxx::persona_scope scope(p);
    f = upcxx::master_persona().lpc([] { return 1; }).then([value = right](int) { return value; });
  }
#endif
  multirank::poll(200);
  EXPECT_FALSE(f.ready());
  {
    upcxx::persona_scope scope(p);
    EXPECT_EQ(f.wait(), right);
  }
  upcxx::barrier();
}

TEST_F(persona_test, progress_serves_calls_with_another_persona_on_top) {
  static int served;
  served = 0;
  upcxx::barrier();
  upcxx::rpc_ff(right, [] {
    ++served;
    EXPECT_TRUE(upcxx::master_persona().active_with_caller());
  });
  {
    upcxx::persona p;
    upcxx::persona_scope scope(p);
    multirank::spin_until([] { return served == 1; });
  }
}

#if defined(UPCXX_THREADMODE) && UPCXX_THREADMODE
TEST_F(persona_test, par_any_thread_communicates_with_its_own_persona) {
  multirank::shared_array<int> cells(8);
  std::atomic<int> finished{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        upcxx::rput(1000 * me + t, cells.at(right) + t).wait();
        EXPECT_EQ(upcxx::rget(cells.at(right) + t).wait(), 1000 * me + t);
        EXPECT_EQ(upcxx::rpc(
                      right, [](int x) { return x + upcxx::rank_me(); }, i)
                      .wait(),
                  i + right);
        upcxx::global_ptr<int> p = upcxx::new_<int>(i);
        upcxx::delete_(p);
      }
      ++finished;
    });
  }
  multirank::spin_until([&] { return finished == 4; });
  for (auto& t : threads) {
    t.join();
  }
  upcxx::barrier();
  for (int t = 0; t < 4; ++t) {
    EXPECT_EQ(cells.local()[t], 1000 * left + t);
  }
}

TEST_F(persona_test, par_source_completion_on_another_thread_finds_the_arguments_copied) {
  upcxx::persona theirs;
  std::atomic<bool> stop{false};
  std::thread other([&] {
    upcxx::persona_scope scope(theirs);
    while (!stop) upcxx::progress();
  });
  std::vector<long> numbers(std::size_t{1} << 17);
  for (int round = 0; round < 100; ++round) {
    std::fill(numbers.begin(), numbers.end(), 1);
    std::atomic<bool> told{false};
    auto const overwrite = [&] {
      std::fill(numbers.rbegin(), numbers.rend(), -1);
      told = true;
    };
    upcxx::future<long> const sum = upcxx::rpc(
        right, upcxx::source_cx::as_lpc(theirs, overwrite) | upcxx::operation_cx::as_future(),
        [](upcxx::view<long> v) { return std::accumulate(v.begin(), v.end(), 0L); },
        upcxx::make_view(numbers));
    EXPECT_EQ(sum.wait(), static_cast<long>(numbers.size()));
    multirank::spin_until([&] { return told.load(); });
  }
  stop = true;
  other.join();
}

TEST_F(persona_test, par_personas_begin_and_end_beside_nested_periods) {
  std::thread other([] {
    for (int i = 0; i < 1000; ++i) {
      upcxx::persona p;
      EXPECT_TRUE(upcxx::initialized());
    }
  });
  for (int i = 0; i < 1000; ++i) {
    upcxx::init();
    upcxx::finalize();
  }
  other.join();
}

TEST_F(persona_test, par_zz_the_master_persona_can_be_liberated_and_served_by_another_thread) {
  upcxx::liberate_master_persona();
  EXPECT_FALSE(upcxx::master_persona().active_with_caller());
  std::atomic<bool> stop{false};
  std::thread progress_thread([&] {
    upcxx::persona_scope scope(upcxx::master_persona());
    while (!stop) {
      upcxx::progress();
      std::this_thread::yield();
    }
  });
  // Calls are served by the progress thread while this one only waits for its own results.
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(upcxx::rpc(
                  right, [](int x) { return x * 2; }, i)
                  .wait(),
              i * 2);
  }
  // Stop only when every rank is through: the master persona must serve until then. (A barrier would have to
  // be started by the thread that holds master, outside of its callbacks.)
  for (int r = 0; r < n; ++r) {
    upcxx::rpc(r, [] { ++ranks_through; }).wait();
  }
  while (ranks_through < n) {
    std::this_thread::yield();
  }
  stop = true;
  progress_thread.join();
  static upcxx::persona_scope* kept;  // holds master until the end of the process
  kept = new upcxx::persona_scope(upcxx::master_persona());
  EXPECT_TRUE(upcxx::master_persona().active_with_caller());
  EXPECT_NE(kept, nullptr);
  upcxx::barrier();
}
#endif
