// rpc floods: faster than the target serves, from all sides, small and large; nothing is lost or doubled.

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>
#include <thread>

#include "common.hpp"
#include "support/sanitized.hpp"

namespace {

std::vector<std::vector<std::uint8_t>> seen;  ///< by sender and sequence number: how often it arrived
long damaged;
long arrived;

void expect_calls(int senders, std::size_t per_sender) {
  seen.assign(static_cast<std::size_t>(senders), std::vector<std::uint8_t>(per_sender, 0));
  damaged = arrived = 0;
  upcxx::barrier();
}

void note(int from, int sequence) {
  ++seen[static_cast<std::size_t>(from)][static_cast<std::size_t>(sequence)];
  ++arrived;
}

std::uint64_t first_word(int from, int sequence) {
  return static_cast<std::uint64_t>(from) << 40 | static_cast<std::uint64_t>(sequence) << 20;
}

void note_block(int from, int sequence, upcxx::view<std::uint64_t> block) {
  note(from, sequence);
  damaged +=
      multirank::first_wrong_word(block.data(), block.size(), first_word(from, sequence)) != block.size();
}

void fill_block(std::vector<std::uint64_t>& block, int from, int sequence) {
  multirank::fill_words(block.data(), block.size(), first_word(from, sequence));
}

/// Every call arrived exactly once from each of `senders`.
testing::AssertionResult complete(std::vector<int> const& senders) {
  for (int const s : senders) {
    auto const& row = seen[static_cast<std::size_t>(s)];
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] != 1) {
        return testing::AssertionFailure()
               << "call " << i << " from rank " << s << " arrived " << int{row[i]} << " times";
      }
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace

class rpc_flood_test : public multirank::fixture {
 protected:
  std::vector<int> everyone() const {
    std::vector<int> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
};

TEST_F(rpc_flood_test, small_calls_from_all_to_all_without_progress) {
  constexpr int per_pair = 20000;
  expect_calls(n, per_pair);
  for (int i = 0; i < per_pair; ++i) {
    for (int r = 0; r < n; ++r) {
      upcxx::rpc_ff(r, note, me, i);
    }
  }
  multirank::spin_until([this] { return arrived == long{per_pair} * n; });
  multirank::poll();
  EXPECT_EQ(arrived, long{per_pair} * n);
  EXPECT_TRUE(complete(everyone()));
}

TEST_F(rpc_flood_test, all_ranks_flood_rank_0) {
  constexpr int per_rank = 20000;
  expect_calls(n, per_rank);
  for (int i = 0; i < per_rank; ++i) {
    upcxx::rpc_ff(0, note, me, i);
  }
  if (me == 0) {
    multirank::spin_until([this] { return arrived == long{per_rank} * n; });
    EXPECT_TRUE(complete(everyone()));
  }
}

TEST_F(rpc_flood_test, large_calls_from_both_sides_without_progress) {
  // Half a gigabyte each way between two ranks with heaps of 16 MiB, while neither serves the other; under sanitizers a quarter of it.
  constexpr int calls = atoll_test::sanitized ? 500 : 2000;
  constexpr std::size_t words = (256 << 10) / 8;
  expect_calls(n, calls);
  if (me < 2) {
    int const other = n == 1 ? 0 : 1 - me;
    std::vector<std::uint64_t> block(words);
    for (int i = 0; i < calls; ++i) {
      fill_block(block, me, i);
      upcxx::rpc_ff(other, note_block, me, i, upcxx::make_view(block));
    }
    multirank::spin_until([] { return arrived == calls; });
    EXPECT_TRUE(complete({other}));
    EXPECT_EQ(damaged, 0);
  }
}

TEST_F(rpc_flood_test, blocks_of_mixed_sizes_from_all_to_all_without_progress) {
  int const per_pair = 1500 / (n * n) + 40;
  std::size_t const sizes[] = {1, 8, 100, 500, 1000, 1024, 2048, 4000, 8192, 16384, 33000};
  expect_calls(n, static_cast<std::size_t>(per_pair));
  std::vector<std::uint64_t> block;
  for (int i = 0; i < per_pair; ++i) {
    for (int r = 0; r < n; ++r) {
      block.resize(sizes[static_cast<std::size_t>(i + r + me) % std::size(sizes)]);
      fill_block(block, me, i);
      upcxx::rpc_ff(r, note_block, me, i, upcxx::make_view(block));
    }
  }
  multirank::spin_until([&] { return arrived == long{per_pair} * n; });
  EXPECT_TRUE(complete(everyone()));
  EXPECT_EQ(damaged, 0);
}

TEST_F(rpc_flood_test, round_trips_with_large_results_in_flight_from_all_sides) {
  constexpr int calls = 200;
  int wrong = 0;
  upcxx::promise<> all;
  for (int i = 0; i < calls; ++i) {
    all.require_anonymous(1);
    int const target = (me + i) % n;
    upcxx::rpc(
        target, [](int k, upcxx::view<int> v) { return std::vector<int>(20000, k + v.back()); }, i,
        upcxx::make_view(std::vector<int>(5000, me)))
        .then([&wrong, i, this, all](std::vector<int> const& v) {
          wrong += v.size() != 20000 || v.front() != i + me || v.back() != i + me ? 1 : 0;
          all.fulfill_anonymous(1);
        });
  }
  all.finalize().wait();
  EXPECT_EQ(wrong, 0);
}

TEST_F(rpc_flood_test, callbacks_that_flood_back_are_all_served) {
  // Each arriving call sends two more until a depth is reached: 2^k calls in flight.
  static long leaves;
  leaves = 0;
  upcxx::barrier();
  struct tree {
    static void grow(int depth, int seed) {
      if (depth == 0) {
        ++leaves;
        return;
      }
      int const size = upcxx::rank_n();
      upcxx::rpc_ff((upcxx::rank_me() + seed) % size, grow, depth - 1, seed * 3 + 1);
      upcxx::rpc_ff((upcxx::rank_me() + seed + 1) % size, grow, depth - 1, seed * 5 + 2);
    }
  };
  constexpr int depth = 12;
  if (me == 0) {
    upcxx::rpc_ff(0, tree::grow, depth, 1);
  }
  long total = 0;
  // Every rank takes part in the count until all leaves have been seen.
  while (total < (1L << depth)) {
    multirank::poll(5);
    total = upcxx::reduce_all(leaves, upcxx::op_fast_add).wait();
  }
  EXPECT_EQ(total, 1L << depth);
}

TEST_F(rpc_flood_test, puts_with_remote_completion_flood) {
  constexpr int calls = 5000;
  expect_calls(n, calls);
  multirank::shared_array<int> cells(calls);
  for (int i = 0; i < calls; ++i) {
    upcxx::rput(me * calls + i, cells.at(right) + i, upcxx::remote_cx::as_rpc(note, me, i));
  }
  multirank::spin_until([] { return arrived == calls; });
  EXPECT_TRUE(complete({left}));
  int wrong = 0;
  for (int i = 0; i < calls; ++i) {
    wrong += cells.local()[i] != left * calls + i ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(rpc_flood_test, after_discharge_a_rank_may_stop_making_progress) {
  constexpr int calls = 100;
  expect_calls(n, calls);
  multirank::shared_array<int> flags(static_cast<std::size_t>(n));
  std::fill_n(flags.local(), n, 0);
  upcxx::barrier();
  if (me == 0) {
    std::vector<std::uint64_t> block(10000);
    for (int i = 0; i < calls; ++i) {
      fill_block(block, 0, i);
      for (int r = 1; r < n; ++r) {
        upcxx::rpc_ff(r, note_block, 0, i, upcxx::make_view(block));
      }
    }
    upcxx::discharge();
    EXPECT_FALSE(upcxx::progress_required());
    // No call into the library: the others write here directly once they have everything. (Those of other hosts cannot.)
    for (int r = 1; r < n; ++r) {
      while (upcxx::local_team_contains(r) &&
             std::atomic_ref<int>(flags.local()[r]).load(std::memory_order_acquire) == 0) {
        std::this_thread::yield();
      }
    }
  } else {
    multirank::spin_until([] { return arrived == calls; });
    EXPECT_TRUE(complete({0}));
    EXPECT_EQ(damaged, 0);
    if (flags.at(0).is_local()) {
      std::atomic_ref<int>(flags.at(0).local()[me]).store(1, std::memory_order_release);
    }
  }
}
