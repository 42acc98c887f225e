// Little memory for messages and much to send: nobody hangs, nobody dies who has done nothing wrong, and
// nothing is lost. Registered under several limits.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>

#include "../common.hpp"

namespace {

using words = std::vector<std::uint64_t>;

words make_words(std::size_t bytes, std::uint64_t salt) {
  words all(bytes / sizeof(std::uint64_t));
  std::iota(all.begin(), all.end(), salt << 32);
  return all;
}

template <class Words>
bool are_words(Words const& all, std::size_t bytes, std::uint64_t salt) {
  if (all.size() != bytes / sizeof(std::uint64_t)) return false;
  std::uint64_t next = salt << 32;
  for (std::uint64_t const word : all) {
    if (word != next++) return false;
  }
  return true;
}

#if UPCXX_THREADMODE
constexpr bool any_thread_sends = true;
#else
constexpr bool any_thread_sends = false;  // only the master's
#endif

long arrived;
long damaged;
std::size_t notices;

void take(upcxx::view<std::uint64_t> const& all, std::size_t bytes, std::uint64_t salt) {
  ++arrived;
  damaged += are_words(all, bytes, salt) ? 0 : 1;
}

words give(std::size_t bytes, std::uint64_t salt) { return make_words(bytes, salt); }

}  // namespace

/// Calls again, with progress in between, while there is no memory for it.
template <class Call>
void insist(Call call) {
  for (;;) {
    try {
      call();
      return;
    } catch (upcxx::bad_shared_alloc const&) {
      upcxx::progress();
    }
  }
}

class flow_control_test : public multirank::fixture {
 protected:
  void SetUp() override {
    multirank::fixture::SetUp();
    upcxx::barrier();
    arrived = damaged = 0;
    notices = 0;
    upcxx::barrier();
  }
  void send(int to, std::size_t bytes, std::uint64_t salt) {
    words const all = make_words(bytes, salt);
    upcxx::rpc_ff(to, take, upcxx::make_view(all), bytes, salt);
  }
};

/// Which it does not serve: a peer comes to what is waited for only when it could send all before.
TEST_F(flow_control_test, who_waits_at_internal_level_takes_in_what_peers_send_before) {
  constexpr long calls = 200;
  constexpr std::size_t bytes = 32 << 10;
  upcxx::team all = upcxx::world().split(0, me);
  if (me != 0) {
    for (long i = 0; i < calls; ++i) insist([&] { send(0, bytes, static_cast<std::uint64_t>(i)); });
  }
  all.destroy(upcxx::entry_barrier::internal);
  long const expected = me == 0 ? calls * (upcxx::rank_n() - 1) : 0;
  while (arrived < expected) upcxx::progress();
  EXPECT_EQ(arrived, expected);
  EXPECT_EQ(damaged, 0);
  upcxx::barrier();
}

TEST_F(flow_control_test, discharge_ends_although_both_sides_are_full) {
  // A large message of the even ranks is out; the odd ones have sent more than the even ones may keep.
  std::size_t const large = std::size_t{50} << 20;
  int const partner = me ^ 1;
  if (partner >= n) return;
  bool const sends_large = me % 2 == 0;
  try {
    if (sends_large) {
      send(partner, large, 1);
    } else {
      for (std::uint64_t i = 0; i < 100; ++i) send(partner, std::size_t{64} << 10, i);
    }
  } catch (upcxx::bad_shared_alloc const&) {
    // Less than that is allowed here: then there is nothing to wait for.
  }
  upcxx::discharge();
  EXPECT_FALSE(upcxx::progress_required());
}

TEST_F(flow_control_test, answers_larger_than_the_memory_for_them) {
  std::size_t const bytes = std::size_t{64} << 10;
  constexpr int calls = 500;
  int answered = 0;
  int wrong = 0;
  for (int i = 0; i < calls; ++i) {
    upcxx::rpc(right, give, bytes, static_cast<std::uint64_t>(i)).then([&, i](words const& all) {
      wrong += are_words(all, bytes, static_cast<std::uint64_t>(i)) ? 0 : 1;
      ++answered;
    });
  }
  multirank::spin_until([&] { return answered == calls; });
  EXPECT_EQ(wrong, 0);
}

TEST_F(flow_control_test, answers_to_an_initiator_that_is_busy_do_not_hold_up_others) {
  // Rank 0 asks for more than anybody may keep and makes no progress of its own; the others go on meanwhile.
  std::size_t const bytes = std::size_t{256} << 10;
  constexpr int calls = 200;
  int answered = 0;
  if (me == 0) {
    for (int i = 0; i < calls; ++i) {
      upcxx::rpc(n - 1, give, bytes, std::uint64_t{7}).then([&](words const&) { ++answered; });
    }
  }
  upcxx::barrier_async().wait();
  if (me != 0) {
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(upcxx::rpc(n - 1, give, std::size_t{4096}, std::uint64_t{3}).wait().size(), 512U);
    }
  }
  if (me == 0) multirank::spin_until([&] { return answered == calls; });
}

TEST_F(flow_control_test, calls_that_call_on_from_callbacks) {
  // Every call is passed on once, with its data, by a callback, which cannot wait for room. So all that a rank may have
  // at one time, four times this, is within the smallest limit.
  std::size_t const bytes = std::size_t{32} << 10;
  constexpr int calls = 24;
  for (int i = 0; i < calls; ++i) {
    words const all = make_words(bytes, 9);
    upcxx::rpc_ff(
        right,
        [](upcxx::view<std::uint64_t> const& data, std::size_t size, int to) {
          upcxx::rpc_ff(to, take, upcxx::make_view(data.begin(), data.end()), size, std::uint64_t{9});
        },
        upcxx::make_view(all), bytes, (right + 1) % n);
  }
  multirank::spin_until([] { return arrived == calls; });
  EXPECT_EQ(damaged, 0);
}

TEST_F(flow_control_test, a_rank_that_keeps_its_arguments_does_not_starve_others) {
  // The last rank keeps views of what the others sent until it is told.
  static upcxx::promise<>* open = nullptr;
  static int kept = 0;
  upcxx::promise<> done;
  open = &done;
  kept = 0;
  upcxx::barrier();
  constexpr int views = 100;
  if (me != n - 1) {
    words const all = make_words(24'000, 5);
    for (int i = 0; i < views; ++i) {
      upcxx::rpc_ff(
          n - 1,
          [](upcxx::view<std::uint64_t> const& data) {
            ++kept;
            damaged += are_words(data, 24'000, 5) ? 0 : 1;
            return open->get_future().then([data] { damaged += are_words(data, 24'000, 5) ? 0 : 1; });
          },
          upcxx::make_view(all));
    }
  } else {
    multirank::spin_until([this] { return kept == views * (n - 1); });
  }
  upcxx::barrier();
  for (int r = 0; r < n - 1; ++r) send(r, 4096, 2);
  multirank::spin_until([this] { return me == n - 1 || arrived == n; });
  done.fulfill_anonymous(1);
  upcxx::barrier();
  EXPECT_EQ(damaged, 0);
}

// Until the memory for messages is full, whatever the limit is.

TEST_F(flow_control_test, discharge_ends_when_each_has_more_for_the_other_than_that_may_keep) {
  int const partner = (me ^ 1) < n ? me ^ 1 : me;
  long sent = 0;
  try {
    for (; sent < 20'000; ++sent) send(partner, 1504, 4);
  } catch (upcxx::bad_shared_alloc const&) {
  }
  upcxx::discharge();
  EXPECT_FALSE(upcxx::progress_required());
  long const expected = upcxx::reduce_all(sent, upcxx::op_fast_add).wait();
  while (upcxx::reduce_all(arrived, upcxx::op_fast_add).wait() < expected) upcxx::progress();
  EXPECT_EQ(damaged, 0);
}

TEST_F(flow_control_test, floods_both_ways_without_progress_end) {
  // More than both may keep together, whatever the limit: who cannot go on is told.
  char const* const limit = std::getenv("ATOLL_MESSAGE_MEMORY");
  int const partner = me ^ 1;
  if (limit == nullptr) return;
  std::size_t const bytes = std::size_t{64} << 10;
  std::size_t const most = 4 * (std::strtoull(limit, nullptr, 10) << 20) / bytes;
  long sent = 0;
  bool told = false;
  try {
    for (std::size_t i = 0; partner < n && i < most; ++i, ++sent) send(partner, bytes, i);
  } catch (upcxx::bad_shared_alloc const&) {
    told = true;
    // Of a call that this thread has to send no other one need know.
    bool elsewhere = false;
    std::thread([&] { elsewhere = upcxx::progress_required(); }).join();
    EXPECT_EQ(elsewhere, any_thread_sends && upcxx::progress_required());
  }
  long const expected = upcxx::reduce_all(sent, upcxx::op_fast_add).wait();
  while (upcxx::reduce_all(arrived, upcxx::op_fast_add).wait() < expected) upcxx::progress();
  EXPECT_EQ(damaged, 0);
  EXPECT_TRUE(upcxx::reduce_all(told, upcxx::op_fast_bit_or).wait() || n == 1);
}

TEST_F(flow_control_test, answers_that_were_left_for_later_are_not_forgotten) {
  std::size_t const bytes = std::size_t{64} << 10;
  words const argument = make_words(1504, 1);
  int sent = 0;
  int answered = 0;
  try {
    for (; sent < 600; ++sent) {
      upcxx::rpc(
          right, [](upcxx::view<std::uint64_t> const&, std::size_t size) { return make_words(size, 6); },
          upcxx::make_view(argument), bytes)
          .then([&](words const& all) { answered += are_words(all, bytes, 6) ? 1 : 1'000'000; });
    }
  } catch (upcxx::bad_shared_alloc const&) {
  }
  upcxx::discharge();
  multirank::spin_until([&] { return answered >= sent; });
  EXPECT_EQ(answered, sent);
}

TEST_F(flow_control_test, calls_that_were_set_aside_wait_for_the_answers_before_them_too) {
  // Rank 1 makes internal progress only while calls arrive, and may then keep as many answers as otherwise: rank 0,
  // which takes none meanwhile, has asked for many times the memory that there is.
  char const* const limit = std::getenv("ATOLL_MESSAGE_MEMORY");
  if (limit == nullptr || std::atoi(limit) > 16) GTEST_SKIP() << "much memory";
  if (n == 1 || upcxx::local_team().rank_n() != n) GTEST_SKIP() << "not two ranks of one host";
  constexpr long calls = 1500;
  multirank::shared_array<long> turn(1);
  *turn.local() = 0;
  upcxx::barrier_async().wait();
  std::atomic_ref<long> const now(*turn.at(0).local());
  auto const come_to = [&](long what, auto const& meanwhile) {
    while (now.load(std::memory_order_acquire) < what) meanwhile();
  };
  int answered = 0;
  if (me == 0) {
    for (long i = 0; i < calls; ++i) {
      upcxx::rpc(1, [] { return ++arrived, words(8192); }).then([&](words const&) { ++answered; });
    }
    upcxx::discharge();
    now.store(1, std::memory_order_release);
    come_to(2, [] { sched_yield(); });
  }
  if (me == 1) {
    come_to(1, [] { upcxx::progress(upcxx::progress_level::internal); });
    for (int i = 0; i < 100; ++i) upcxx::progress();
    EXPECT_LT(arrived, calls / 2);
    now.store(2, std::memory_order_release);
  }
  multirank::spin_until([&] { return me != 0 || answered == calls; });
  upcxx::barrier_async().wait();
}

TEST_F(flow_control_test, a_call_that_ends_the_keeping_of_arguments_comes_through) {
  static upcxx::promise<>* open = nullptr;
  static int kept = 0;
  upcxx::promise<> done;
  open = &done;
  kept = 0;
  upcxx::barrier();
  int sent = 0;
  if (me == 0) {
    words const all = make_words(std::size_t{64} << 10, 5);
    try {
      for (; sent < 300; ++sent) {
        upcxx::rpc_ff(
            n - 1,
            [](upcxx::view<std::uint64_t> const& data) {
              ++kept;
              return open->get_future().then([data] {});
            },
            upcxx::make_view(all));
      }
    } catch (upcxx::bad_shared_alloc const&) {
    }
    insist([this] { upcxx::rpc_ff(n - 1, [] { open->fulfill_anonymous(1); }); });
  }
  if (me == n - 1) multirank::spin_until([] { return open->get_future().is_ready(); });
  sent = upcxx::broadcast(sent, 0).wait();
  if (me == n - 1) {
    multirank::spin_until([sent] { return kept == sent; });
  } else {
    done.fulfill_anonymous(1);
  }
  upcxx::barrier();
}

TEST_F(flow_control_test, large_calls_and_large_answers_both_ways) {
  constexpr int large_answers = 5;
  constexpr int large_calls = 100;
  words const argument = make_words(100'000, 2);
  int answered = 0;
  int sent = 0;
  for (int i = 0; i < large_answers; ++i, ++sent) {
    insist([&] {
      upcxx::rpc(right, give, std::size_t{4'000'000}, std::uint64_t{1}).then([&](words const&) {
        ++answered;
      });
    });
  }
  try {
    for (int i = 0; i < large_calls; ++i, ++sent) {
      upcxx::rpc(
          right, [](upcxx::view<std::uint64_t> const& data) { return are_words(data, 100'000, 2); },
          upcxx::make_view(argument))
          .then([&](bool right_words) { answered += right_words ? 1 : 1'000'000; });
    }
  } catch (upcxx::bad_shared_alloc const&) {
  }
  multirank::spin_until([&] { return answered >= sent; });
  EXPECT_EQ(answered, sent);
}

TEST_F(flow_control_test, memory_operations_out_of_callbacks_are_not_refused) {
  // A callback cannot wait for room, and only calls may throw where there is none left; not those that tell of data.
  constexpr int operations = 100;
  constexpr std::size_t bytes = std::size_t{16} << 10;
  words const given = make_words(bytes, 8);
  words seen(given.size());
  long before = 0;
  auto const mine = upcxx::new_array<std::uint64_t>(given.size());
  auto const counter = upcxx::new_<std::uint64_t>(0);
  upcxx::dist_object<std::pair<decltype(mine), decltype(counter)>> places({mine, counter});
  auto const [theirs, their_counter] = places.fetch(right).wait();
  upcxx::atomic_domain<std::uint64_t> atomics({upcxx::atomic_op::fetch_add, upcxx::atomic_op::load});
  upcxx::promise<> done;
  long sent = 0;
  upcxx::master_persona()
      .lpc([&, to = theirs, count = their_counter] {
        try {
          for (; sent < 600; ++sent) send(right, std::size_t{32} << 10, 3);
        } catch (upcxx::bad_shared_alloc const&) {
        }
        for (int i = 0; i < operations; ++i) {
          auto const told = upcxx::operation_cx::as_promise(done);
          upcxx::rput(given.data(), to, given.size(), told);
          upcxx::rput(given[0], to,
                      told | upcxx::remote_cx::as_rpc([](words const& w) { notices += w.size(); }, given));
          done.require_anonymous(1);
          atomics.fetch_add(count, 1, std::memory_order_relaxed).then([&](std::uint64_t was) {
            before += static_cast<long>(was);
            done.fulfill_anonymous(1);
          });
        }
      })
      .wait();
  upcxx::future<> const all = done.finalize();
  multirank::spin_until([&] { return all.is_ready(); });
  EXPECT_EQ(before, operations * (operations - 1) / 2);
  upcxx::future<> fetched;
  upcxx::master_persona()
      .lpc([&, from = theirs] {
        long more = 0;
        try {
          for (; more < 600; ++more) send(right, std::size_t{32} << 10, 3);
        } catch (upcxx::bad_shared_alloc const&) {
        }
        sent += more;
        fetched = upcxx::rget(from, seen.data(), seen.size());
        for (int i = 0; i < operations; ++i) {
          fetched = upcxx::when_all(fetched, upcxx::rget(from + i).then([&, i](std::uint64_t word) {
            damaged += word == given[static_cast<std::size_t>(i)] ? 0 : 1;
          }));
        }
      })
      .wait();
  multirank::spin_until([&] { return fetched.is_ready(); });
  EXPECT_EQ(seen, given);
  long const expected = upcxx::reduce_all(sent, upcxx::op_fast_add).wait();
  while (upcxx::reduce_all(arrived, upcxx::op_fast_add).wait() < expected) upcxx::progress();
  EXPECT_EQ(damaged, 0);
  multirank::spin_until([&] { return notices == operations * given.size(); });
  atomics.destroy();
  upcxx::delete_array(mine);
  upcxx::delete_(counter);
}

#if UPCXX_THREADMODE
TEST_F(flow_control_test, an_answer_for_a_thread_is_not_behind_a_flood) {
  // The master of each even rank only waits for a thread, whose answers come while calls flood the rank.
  constexpr int calls = 100;
  int const partner = me ^ 1;
  if (partner < n && me % 2 == 0) {
    std::thread worker([&] {
      upcxx::rpc(partner, [] {}).wait();
      for (std::size_t const size : {std::size_t{8}, std::size_t{5000}, std::size_t{300'000}}) {
        EXPECT_EQ(upcxx::rpc(partner, give, size, std::uint64_t{1}).wait().size(), size / 8);
      }
    });
    worker.join();
    multirank::spin_until([] { return arrived == calls; });
  } else if (partner < n) {
    for (int i = 0; i < calls; ++i) send(partner, std::size_t{64} << 10, 3);
  }
  upcxx::barrier();
  EXPECT_EQ(damaged, 0);
}

TEST_F(flow_control_test, a_thread_waits_while_the_master_makes_room) {
  // Its own progress finds no memory for what arrives, but the master runs the calls that take it.
  constexpr long calls = 1000;
  int const partner = me ^ 1;
  long sent = 0;
  std::atomic<bool> over{false};
  std::thread worker([&] {
    try {
      for (; partner < n && sent < calls; ++sent) send(partner, std::size_t{32} << 10, 4);
    } catch (upcxx::bad_shared_alloc const&) {
    }
    over = true;
  });
  multirank::spin_until([&] { return over.load(); });
  worker.join();
  EXPECT_EQ(sent, partner < n ? calls : 0);
  long const expected = upcxx::reduce_all(sent, upcxx::op_fast_add).wait();
  while (upcxx::reduce_all(arrived, upcxx::op_fast_add).wait() < expected) upcxx::progress();
  EXPECT_EQ(damaged, 0);
}
#endif
