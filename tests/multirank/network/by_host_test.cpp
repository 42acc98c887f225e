// Small messages to all ranks of another host that leave together, to one rank there that passes them on: which do, what the one that passes on
// keeps, and that nobody waits for it. For two hosts or more. Linked with the library's objects, to look inside.

#include <sched.h>

#include <algorithm>
#include <atoll/engine/am.hpp>
#include <atomic>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../common.hpp"
#include "engine/progress/progress_engine.hpp"

namespace {

using atl::engine::am_begin;
using atl::engine::am_cancel;
using atl::engine::header_bytes;
using atl::engine::lane;
using atl::engine::network_messages;
using atl::engine::network_peer;
using atl::engine::outgoing;
using atl::engine::pressure;
using multirank::intrank_t;

std::vector<long> sums;  ///< by caller
long runs;

class by_host_test : public multirank::fixture {
 protected:
  void SetUp() override {
    multirank::fixture::SetUp();
    for (intrank_t r = 0; r < n; ++r)
      if (!upcxx::local_team_contains(r)) far.push_back(r);
    for (intrank_t const r : far) upcxx::rpc(r, [] {}).wait();  // the connections stand
    upcxx::barrier();
    sums.assign(static_cast<std::size_t>(n), 0);
    runs = 0;
    end_burst();
    upcxx::barrier();
    end_burst();
  }
  /// Internal progress only.
  static void end_burst() { upcxx::progress(upcxx::progress_level::internal); }
  static network_peer& peer(intrank_t r) { return network_messages::here().peer(r); }
  /// To whom messages for that rank may go; null: to itself only, as it is alone on its host.
  static network_peer* via(intrank_t r) { return peer(r).counterpart; }
  /// Ranks of that one's host, if it is not alone there.
  long mates(intrank_t r) const {
    return std::count_if(far.begin(), far.end(), [r](intrank_t other) { return via(other) == via(r); });
  }
  static bool is_bad() {
    char const* const network = std::getenv("ATOLL_SIM_NETWORK");
    return network == nullptr || std::string_view(network).find("bad") != std::string_view::npos;
  }
  /// A bad network has no room now and then, and what it has no room for goes otherwise.
  static void expect_in_bundle(intrank_t to, long messages) {
    if (is_bad() || via(to) == nullptr) return;
    EXPECT_EQ(via(to)->by_host.begun, messages != 0);
    if (messages != 0) {
      EXPECT_EQ(via(to)->by_host.messages, messages);
    }
  }
  void call(intrank_t to, long value) const {
    upcxx::rpc_ff(
        to,
        [](int from, long v) {
          sums[static_cast<std::size_t>(from)] += v;
          ++runs;
        },
        me, value);
  }
  /// So many calls come to this rank. Nothing comes twice.
  void await(long calls) const {
    multirank::spin_until([&] { return runs >= calls; });
    upcxx::barrier();
    EXPECT_EQ(runs, calls);
  }
  long callers() const { return static_cast<long>(far.size()); }

  std::vector<intrank_t> far;
};

TEST_F(by_host_test, the_first_leaves_at_once_and_others_together) {
  // All ranks of a host count as one.
  for (intrank_t const r : far) call(r, 1);
  for (intrank_t const r : far) call(r, 2);
  for (intrank_t const r : far) expect_in_bundle(r, 2 * mates(r) - 1);
  EXPECT_TRUE(upcxx::progress_required() || is_bad());
  end_burst();
  expect_in_bundle(far.front(), 0);
  EXPECT_FALSE(upcxx::progress_required() && !is_bad());
  await(2 * callers());
  for (intrank_t const r : far) EXPECT_EQ(sums[static_cast<std::size_t>(r)], 3);
}

/// Over any network: one that has no room now and then has some at last.
TEST_F(by_host_test, some_do_go_that_way) {
  bool const hosts_have_several =
      upcxx::reduce_all(upcxx::local_team().rank_n(), upcxx::op_fast_max).wait() > 1;
  bool const somebody_passes_on =
      upcxx::reduce_all(std::any_of(far.begin(), far.end(), via) ? 1 : 0, upcxx::op_fast_max).wait() == 1;
  EXPECT_EQ(somebody_passes_on, hosts_have_several) << "ATOLL_BUNDLES_BY_HOST=yes?";
  std::set<intrank_t> directly(far.begin(), far.end());
  constexpr int rounds = 100;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 2; ++i)
      for (intrank_t const r : far) call(r, 1);
    std::erase_if(directly, [](intrank_t r) { return via(r) == nullptr || via(r)->by_host.begun; });
    end_burst();
  }
  EXPECT_TRUE(directly.empty());
  await(2 * rounds * callers());
}

TEST_F(by_host_test, discharge_sends_them) {
  for (int i = 0; i < 5; ++i)
    for (intrank_t const r : far) call(r, i);
  upcxx::discharge();
  expect_in_bundle(far.back(), 0);
  EXPECT_FALSE(upcxx::progress_required());
  await(5 * callers());
}

TEST_F(by_host_test, what_is_given_up_leaves_a_gap) {
  intrank_t const to = far.back();
  std::size_t const before = peer(to).in_use;
  for (intrank_t const r : far) call(r, 1);
  for (int i = 0; i < 2; ++i) {
    outgoing out;
    am_begin(out, to, 60, pressure::always, 64, lane::request);
    for (intrank_t const r : far) call(r, 1);
    am_cancel(out);
  }
  if (via(to) != nullptr) {
    EXPECT_EQ(via(to)->by_host.open, 0U);
  }
  EXPECT_LE(peer(to).in_use, before + 300);
  await(3 * callers());
}

TEST_F(by_host_test, what_is_longer_goes_directly) {
  for (intrank_t const r : far) call(r, 0);
  for (intrank_t const r : far) call(r, 0);
  std::string const text(1000, 'x');
  for (intrank_t const r : far) {
    upcxx::rpc_ff(
        r,
        [](int from, upcxx::view<char> v) {
          sums[static_cast<std::size_t>(from)] += static_cast<long>(v.size());
          ++runs;
        },
        me, upcxx::make_view(text));
  }
  for (intrank_t const r : far) expect_in_bundle(r, 2 * mates(r) - 1);
  await(3 * callers());
  for (intrank_t const r : far) EXPECT_EQ(sums[static_cast<std::size_t>(r)], 1000);
}

TEST_F(by_host_test, a_counterpart_that_has_too_much_is_left_alone) {
  constexpr std::size_t much = std::size_t{1} << 30;
  std::set<network_peer*> all;
  for (intrank_t const r : far) all.insert(via(r));
  all.erase(nullptr);
  for (network_peer* const each : all) each->passing += much;
  for (int i = 0; i < 100; ++i)
    for (intrank_t const r : far) call(r, 1);
  for (intrank_t const r : far) expect_in_bundle(r, 0);
  for (network_peer* const each : all) each->passing -= much;
  await(100 * callers());
}

/// Everybody to everybody, with bursts of all lengths.
TEST_F(by_host_test, floods) {
  constexpr int calls = 5000;
  for (int i = 0; i < calls; ++i) {
    for (intrank_t const r : far) call(r, i);
    if (i % (1 + i / 16 % 32) == 0) end_burst();
  }
  await(calls * callers());
  for (intrank_t const r : far) EXPECT_EQ(sums[static_cast<std::size_t>(r)], long{calls} * (calls - 1) / 2);
}

/// The last rank computes. Rank 0 and the one that passes on its messages go on, as do others that it calls.
TEST_F(by_host_test, a_target_that_makes_no_progress_holds_up_nobody_else) {
  constexpr int calls = 10'000;
  constexpr std::size_t credit = std::size_t{256} << 10;
  intrank_t const last = n - 1;
  multirank::shared_array<long> served(1);
  std::atomic_ref<long>(*served.local()).store(0);
  upcxx::barrier();
  if (me == 0) {
    for (int i = 0; i < calls; ++i) {
      for (intrank_t const r : far) call(r, i);
      if (i % 64 == 0) end_burst();
      if (via(last) != nullptr) {
        EXPECT_LE(via(last)->passing, credit);
      }
    }
    upcxx::discharge();
  } else if (me == last) {
    for (intrank_t r = 1; r < last; ++r) {
      if (!upcxx::local_team_contains(r)) continue;
      while (std::atomic_ref<long>(*served.at(r).local()).load() == 0) sched_yield();
    }
  } else if (upcxx::local_team_contains(last)) {
    // The ring to the last one is full from here on. What comes to be passed on need not fill it: where this rank is slow, rank 0 sends directly.
    while (!upcxx::progress_required()) upcxx::rpc_ff(last, [] {});
    bool keeps = false;
    multirank::spin_until([&] {
      keeps |= upcxx::progress_required();
      return runs >= calls;
    });
    EXPECT_TRUE(keeps || is_bad());
    std::atomic_ref<long>(*served.local()).store(1);
  }
  bool const called = !upcxx::local_team_contains(0);
  await(called ? calls : 0);
  EXPECT_EQ(sums[0], called ? long{calls} * (calls - 1) / 2 : 0);
}

TEST_F(by_host_test, puts_gets_and_atomics) {
  constexpr int count = 1000;
  multirank::shared_array<long> cells(static_cast<std::size_t>(n) * count);
  multirank::shared_array<long> counter(1);
  *counter.local() = 0;
  upcxx::atomic_domain<long> add({upcxx::atomic_op::fetch_add});
  upcxx::barrier();
  upcxx::promise<> all;
  std::vector<long> before(far.size() * count);
  for (int i = 0; i < count; ++i) {
    for (std::size_t f = 0; f < far.size(); ++f) {
      upcxx::rput(me + 7L * i, cells.at(far[f]) + me * count + i, upcxx::operation_cx::as_promise(all));
      add.fetch_add(counter.at(far[f]), 1, &before[f * count + static_cast<std::size_t>(i)],
                    std::memory_order_relaxed, upcxx::operation_cx::as_promise(all));
    }
  }
  all.finalize().wait();
  upcxx::barrier();
  EXPECT_EQ(*counter.local(), count * callers());
  std::vector<upcxx::future<long>> got;
  for (int i = 0; i < count; ++i)
    for (intrank_t const r : far) got.push_back(upcxx::rget(cells.at(r) + me * count + i));
  for (int i = 0; i < count; ++i) {
    for (std::size_t f = 0; f < far.size(); ++f) {
      EXPECT_EQ(got[static_cast<std::size_t>(i) * far.size() + f].wait(), me + 7L * i);
      EXPECT_EQ(cells.local()[far[f] * count + i], far[f] + 7L * i);
    }
  }
  upcxx::barrier();
  add.destroy();
}

}  // namespace
