// neighbors and sync_neighbors: random and lopsided neighbourhoods, ranks that lag, flags by messages.

#include <atoll/neighbors.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "multirank/common.hpp"

namespace {

using upcxx::intrank_t;

/// Whether two ranks are neighbours in graph number `graph`; the same answer for both.
bool adjacent(int a, int b, int graph) {
  auto const low = static_cast<unsigned>(std::min(a, b));
  auto const high = static_cast<unsigned>(std::max(a, b));
  std::minstd_rand numbers((low * 31 + high) * 7 + static_cast<unsigned>(graph) + 1);
  numbers.discard(5);
  return numbers() % 3 != 0;
}

std::vector<intrank_t> neighbourhood(int graph) {
  std::vector<intrank_t> ranks;
  for (int r = upcxx::rank_n() - 1; r >= 0; --r) {
    if (adjacent(upcxx::rank_me(), r, graph)) {
      ranks.push_back(r);
      if (r % 2 == 0) ranks.push_back(r);  // repetitions and the own rank do not count
    }
  }
  return ranks;
}

void lag(int step) {
  if ((step * 7 + upcxx::rank_me() * 3) % 11 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Every rank writes its step into a word at each other; after a synchronisation the words of the
/// neighbours are at least there, and at most one ahead.
class words {
 public:
  words() : words_(static_cast<std::size_t>(upcxx::rank_n())) {
    std::fill_n(words_.local(), upcxx::rank_n(), 0);
    upcxx::barrier();
  }
  ~words() { upcxx::barrier(); }
  void write(int rank, int step) {
    upcxx::global_ptr<int> const word = words_.at(rank) + upcxx::rank_me();
    if (word.is_local()) {
      std::atomic_ref<int>(*word.local()).store(step, std::memory_order_relaxed);
    } else {
      upcxx::rput(step, word).wait();
    }
  }
  void expect(int rank, int step) {
    int const seen = std::atomic_ref<int>(words_.local()[rank]).load(std::memory_order_relaxed);
    ASSERT_GE(seen, step) << "of rank " << rank;
    ASSERT_LE(seen, step + 1) << "of rank " << rank;
  }

 private:
  multirank::shared_array<int> words_;
};

}  // namespace

using neighbors_test = multirank::fixture;

TEST_F(neighbors_test, a_list_loses_repetitions_and_the_own_rank_and_keeps_its_order) {
  std::vector<intrank_t> const ranks{left, me, right, left, right};
  atl::neighbors around(ranks);
  EXPECT_EQ(around.size(), n == 1 ? 0 : n == 2 ? 1 : 2);
  EXPECT_EQ(around.index_of(me), -1);
  if (n > 2) {
    EXPECT_EQ(around.rank(0), left);
    EXPECT_EQ(around.index_of(right), 1);
  }
  around.sync();
  around.destroy();
}

TEST_F(neighbors_test, ranks_of_random_graphs_keep_in_step_however_they_wait) {
  words w;
  for (int graph = 0; graph < 4; ++graph) {
    atl::neighbors around(neighbourhood(graph));
    for (int step = 1; step <= 60; ++step) {
      for (int i = 0; i < around.size(); ++i) w.write(around.rank(i), step);
      lag(step);
      switch ((step + me) % 5) {
        case 0:
          around.sync();
          break;
        case 1:
          around.signal();
          while (!around.test()) {
          }
          break;
        case 2:
          around.sync_async().wait();
          break;
        case 3:
          for (int i = around.size() - 1; i >= 0; --i) around.signal(i);
          for (int i = 0; i < around.size(); ++i) around.wait(i);
          break;
        default:
          around.signal();
          for (int i = 0; i < around.size(); ++i) {
            multirank::spin_until([&] { return around.arrived(i); });
            EXPECT_TRUE(around.arrived(i));
          }
          EXPECT_TRUE(around.test());
      }
      for (int i = 0; i < around.size(); ++i) w.expect(around.rank(i), step);
    }
    around.destroy();
    upcxx::barrier();
    for (int r = 0; r < n; ++r) w.write(r, 0);
    upcxx::barrier();
  }
}

TEST_F(neighbors_test, signals_of_a_neighbour_that_is_ahead_are_kept_and_objects_do_not_mix) {
  std::vector<intrank_t> const ranks{left, right};
  atl::neighbors down(ranks);
  atl::neighbors up(ranks);
  for (int i = 0; i < 5; ++i) down.signal();
  for (int i = 0; i < 3; ++i) up.signal();
  upcxx::barrier();
  for (int i = 0; i < down.size(); ++i) multirank::spin_until([&] { return down.arrived(i); });
  for (int i = 0; i < 5; ++i) down.wait();
  for (int i = 0; i < 3; ++i) multirank::spin_until([&] { return up.test(); });
  if (n > 1) {
    EXPECT_FALSE(down.test());
    EXPECT_FALSE(up.test());
    EXPECT_FALSE(down.arrived(0));
  }
  upcxx::barrier();
  atl::neighbors moved(std::move(up));
  moved.sync();
  down.destroy();
  moved.destroy();
}

TEST_F(neighbors_test, no_signal_reaches_memory_that_its_object_has_given_back) {
  std::vector<intrank_t> const ranks{left, right};
  for (int round = 0; round < 20; ++round) {
    atl::neighbors around(ranks);
    for (int i = 0; i < 20; ++i) around.signal();
    if (round % 2 == 0) {  // each is waited for, or none
      for (int i = 0; i < 20; ++i) around.wait();
      upcxx::barrier();
      around = atl::neighbors({});
    } else {
      around.destroy();
    }
    constexpr std::size_t bytes = 128;
    multirank::shared_array<char> again(bytes, 64);  // where the flags were
    std::fill_n(again.local(), bytes, 'a');
    for (int i = 0; i < 3; ++i) upcxx::barrier();
    EXPECT_EQ(std::count(again.local(), again.local() + bytes, 'a'), bytes) << "round " << round;
    upcxx::barrier();
  }
}

TEST_F(neighbors_test, waits_that_were_begun_concern_the_signals_in_order) {
  std::vector<intrank_t> const ranks{left, right};
  atl::neighbors around(ranks);
  auto first = around.sync_async();
  auto second = around.sync_async();
  around.sync();  // the third
  upcxx::when_all(first, second).wait();
  upcxx::promise<> both;
  around.sync_async(upcxx::operation_cx::as_promise(both));
  around.sync_async(upcxx::operation_cx::as_promise(both));
  both.finalize().wait();
  upcxx::barrier();
  if (n > 1) {
    EXPECT_FALSE(around.test());
  }
}

TEST_F(neighbors_test, ranks_are_those_of_the_team) {
  upcxx::team half = upcxx::world().split(me % 2, -me);
  std::vector<intrank_t> all;
  for (int r = 0; r < half.rank_n(); ++r) all.push_back(r);
  atl::neighbors around(all, half);
  EXPECT_EQ(around.size(), half.rank_n() - 1);
  for (int i = 0; i < 20; ++i) around.sync();
  for (int i = 0; i < 20; ++i) atl::sync_neighbors(all, half);
  around.destroy();
  half.destroy();
}

TEST_F(neighbors_test, one_call_with_lists_that_change) {
  words w;
  std::vector<int> steps(static_cast<std::size_t>(n));
  for (int step = 1; step <= 100; ++step) {
    std::vector<intrank_t> const ranks = neighbourhood(step % 3);
    for (intrank_t const r : std::set<intrank_t>(ranks.begin(), ranks.end())) {
      w.write(r, ++steps[static_cast<std::size_t>(r)]);
    }
    lag(step);
    atl::sync_neighbors(ranks);
    for (intrank_t const r : ranks) w.expect(r, steps[static_cast<std::size_t>(r)]);
  }
}

TEST_F(neighbors_test, flags_of_the_one_call_end_with_the_heap) {
  struct alignas(64) line {
    std::uint64_t value;
  };
  std::vector<intrank_t> const ranks{left, right};
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) atl::sync_neighbors(ranks);
    upcxx::experimental::destroy_heap();
    upcxx::experimental::restore_heap();
    std::vector<upcxx::global_ptr<line>> lines;  // where the flags were
    for (int i = 0; i < 16; ++i) lines.push_back(upcxx::new_<line>(line{1000}));
    upcxx::barrier();
    for (int i = 0; i < 3; ++i) atl::sync_neighbors(ranks);
    upcxx::barrier();
    for (auto const each : lines) {
      EXPECT_EQ(each.local()->value, 1000U);
      upcxx::delete_(each);
    }
  }
}

TEST_F(neighbors_test, a_flag_raised_by_message_arrives_at_internal_level) {
  multirank::shared_array<atl::engine::flag_line> flags(1, 64);
  auto* const mine = ::new (flags.local()) atl::engine::flag_line;
  upcxx::barrier();
  for (std::uint64_t step = 1; step <= 50; ++step) {
    atl::engine::raise_flag_by_message(atl::detail::place_of(flags.at(right)));
    struct awaited {
      atl::engine::flag_line* flag;
      std::uint64_t value;
    } what{mine, step};
    atl::engine::wait_for(
        [](void* context) {
          auto const& a = *static_cast<awaited*>(context);
          return a.flag->value.load(std::memory_order_acquire) >= a.value;
        },
        &what);
  }
  upcxx::barrier();
}
