// Collectives over several hosts: what crosses between hosts, and teams of every shape.

#include <algorithm>
#include <bit>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <upcxx/experimental/collectives.hpp>

#include "engine/collectives/tree.hpp"
#include "engine/collectives/under_way.hpp"
#include "engine/progress/guard.hpp"
#include "several_hosts.hpp"

using several_hosts::place;
using several_hosts::pretended;

class hosts_test : public several_hosts::fixture {
 protected:
  /// Have members of this host channels?
  static bool flat_inside(upcxx::team const& t = upcxx::world()) {
    auto const* const view = atl::engine::find_team(std::bit_cast<std::uint64_t>(t.id()));
    return static_cast<atl::engine::team_data const*>(view)->inside.up != nullptr;
  }
};

TEST_F(hosts_test, barriers_and_small_reductions_cross_in_rounds_of_leaders) {
  EXPECT_EQ(crossing([] { upcxx::barrier_async().wait(); }), leads() ? rounds() : 0);
  long sum = 0;
  EXPECT_EQ(crossing([&] { sum = upcxx::reduce_all(me + 1L, upcxx::op_fast_add).wait(); }),
            leads() ? rounds() : 0);
  EXPECT_EQ(sum, n * (n + 1L) / 2);
}

namespace {

/// Wants to be looked at when it is woken only.
class sleeper final : public atl::engine::collective {
 public:
  sleeper(int* looks, bool const* ready) : looks_(looks), ready_(ready) {}
  void begin() override { asleep = true; }
  bool advance() override {
    ++*looks_;
    asleep = !*ready_;
    return *ready_;
  }

 private:
  int* looks_;
  bool const* ready_;
};

}  // namespace

TEST_F(hosts_test, polls_leave_out_what_sleeps) {
  using namespace atl::engine;
  int looks = 0;
  bool ready = false;
  bool done = false;
  collective* const c =
      make<sleeper>(world_team(), atl::sign(atl::collective_kind::barrier), sets(done), &looks, &ready);
  auto const wake = [c] {
    guard const held;
    collectives_under_way::here().wake(*c);
  };
  launch(c);
  // Others come and go around it.
  EXPECT_EQ(upcxx::reduce_all(1, upcxx::op_fast_add).wait(), n);
  multirank::poll();
  EXPECT_EQ(looks, 0);
  for (int i = 1; i <= 3; ++i) {
    wake();
    wake();
    multirank::poll();
    EXPECT_EQ(looks, i);
  }
  ready = true;
  multirank::poll();
  EXPECT_FALSE(done);
  wake();
  multirank::poll();
  EXPECT_TRUE(done);
  EXPECT_EQ(looks, 4);
}

// More numbers are open than steps that come early, on two teams, and they end in another order.
TEST_F(hosts_test, many_are_open) {
  upcxx::team all = upcxx::world().split(0, -me);
  int const count = 2000;
  int right_ones = 0;
  upcxx::future<> done = upcxx::make_future();
  if (me == n - 1) multirank::poll(1000);
  for (int i = 0; i < count; ++i) {
    upcxx::team const& t = i % 3 == 0 ? all : upcxx::world();
    upcxx::future<long> const sum = i % 2 == 0 ? upcxx::reduce_all(1L * i, upcxx::op_fast_add, t)
                                               : upcxx::broadcast(1L * n * i, i % n, t);
    done = upcxx::when_all(
        done, sum.then([&right_ones, i, this](long s) { right_ones += s == 1L * n * i ? 1 : 0; }));
    if (i % 5 == 0) done = upcxx::when_all(done, upcxx::barrier_async(t));
  }
  done.wait();
  EXPECT_EQ(right_ones, count);
  all.destroy();
}

TEST_F(hosts_test, a_value_crosses_once_to_each_other_host) {
  for (int root = 0; root < n; ++root) {
    // Twice, since every 16th waits for its receivers.
    int least = 1000;
    for (int i = 0; i < 2; ++i) {
      int value = 0;
      least = std::min(least, crossing([&] { value = upcxx::broadcast(me + 5, root).wait(); }));
      EXPECT_EQ(value, root + 5);
    }
    int const sum = upcxx::reduce_all(least, upcxx::op_fast_add).wait();
    EXPECT_EQ(sum, used_ - 1) << "from " << root;
    for (int i = 0; i < 2; ++i) {
      long result = 0;
      int const crossed =
          crossing([&] { result = upcxx::reduce_one(me + 1L, upcxx::op_fast_add, root).wait(); });
      least = i == 0 ? crossed : std::min(least, crossed);
      if (me == root) {
        EXPECT_EQ(result, n * (n + 1L) / 2);
      }
    }
    EXPECT_EQ(upcxx::reduce_all(least, upcxx::op_fast_add).wait(), used_ - 1) << "to " << root;
  }
}

TEST_F(hosts_test, inside_a_host_nothing_goes_by_messages_where_there_are_channels) {
  bool const flat = flat_inside();
  EXPECT_EQ(flat, !pretended() && std::count_if(all_.begin(), all_.end(),
                                                [&](int r) { return place(r) == place(me); }) > 1);
  if (!upcxx::reduce_all(static_cast<int>(flat), upcxx::op_fast_max).wait()) {
    GTEST_SKIP() << "no two ranks of a host have a channel";
  }
  for (std::size_t const size : {std::size_t{1}, std::size_t{30}, std::size_t{2000}, std::size_t{25'000}}) {
    std::vector<long> values(size, me);
    EXPECT_EQ(crossing([&] { upcxx::broadcast(values.data(), size, n - 1).wait(); }), in_all());
    EXPECT_EQ(crossing([&] {
                upcxx::reduce_one(values.data(), values.data(), size, upcxx::op_fast_add, n - 1).wait();
              }),
              in_all());
    EXPECT_EQ(
        crossing([&] { upcxx::reduce_all(values.data(), values.data(), size, upcxx::op_fast_add).wait(); }),
        in_all());
  }
  EXPECT_EQ(crossing([] { upcxx::barrier(); }), in_all());
  EXPECT_EQ(in_all(), leads() ? rounds() : 0);
}

TEST_F(hosts_test, many_of_all_kinds_are_open_at_once) {
  constexpr int count = 40;
  constexpr std::size_t size = 20'000;
  std::vector<std::vector<long>> arrays;
  std::vector<upcxx::future<>> open;
  std::vector<upcxx::future<long>> sums;
  for (int i = 0; i < count; ++i) {
    int const root = i % n;
    arrays.emplace_back(size, me == root ? i : -1);
    open.push_back(upcxx::broadcast(arrays.back().data(), size, root));
    sums.push_back(upcxx::reduce_all(me + i + 0L, upcxx::op_fast_add));
    open.push_back(upcxx::barrier_async());
    arrays.emplace_back(size, me + i);
    open.push_back(upcxx::reduce_all(arrays.back().data(), arrays.back().data(), size, upcxx::op_fast_add));
    sums.push_back(upcxx::reduce_one(me + 2L * i, upcxx::op_fast_add, root));
    arrays.emplace_back(size, me + 3L * i);
    open.push_back(
        upcxx::reduce_one(arrays.back().data(), arrays.back().data(), size, upcxx::op_fast_add, root));
  }
  for (auto f = open.rbegin(); f != open.rend(); ++f) f->wait();
  long const ranks = n * (n - 1L) / 2;
  for (int i = 0; i < count; ++i) {
    auto const k = static_cast<std::size_t>(i);
    EXPECT_EQ(arrays[3 * k], std::vector<long>(size, i));
    EXPECT_EQ(sums[2 * k].wait(), ranks + n * i);
    EXPECT_EQ(arrays[3 * k + 1], std::vector<long>(size, ranks + n * i));
    if (me != i % n) continue;
    EXPECT_EQ(sums[2 * k + 1].wait(), ranks + 2L * n * i);
    EXPECT_EQ(arrays[3 * k + 2], std::vector<long>(size, ranks + 3L * n * i));
  }
}

TEST_F(hosts_test, barriers_hold_until_the_last_one_of_any_host_comes) {
  static int entered;
  entered = 0;
  upcxx::barrier();
  for (int i = 1; i <= 40; ++i) {
    if (i % (2 * n) == me) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    entered = i;
    if (i % 2 == 0) {
      upcxx::barrier();
    } else {
      upcxx::barrier_async().wait();
    }
    for (int const r : all_) EXPECT_GE(upcxx::rpc(r, [] { return entered; }).wait(), i) << "rank " << r;
  }
  upcxx::barrier();
}

TEST_F(hosts_test, channels_run_out_and_come_back) {
  auto const all_work = [&](std::vector<std::unique_ptr<upcxx::team>> const& teams) {
    for (auto const& t : teams) {
      upcxx::barrier(*t);
      EXPECT_EQ(upcxx::reduce_all(1, upcxx::op_fast_add, *t).wait(), n);
      std::vector<int> values(5000, t->rank_me());
      upcxx::broadcast(values.data(), values.size(), n - 1, *t).wait();
      EXPECT_EQ(values, std::vector<int>(5000, n - 1));
    }
  };
  bool const some = flat_inside();
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<upcxx::team>> teams;
    int flat = 0;
    for (int i = 0; i < 20; ++i) {
      teams.push_back(std::make_unique<upcxx::team>(upcxx::world().split(0, i % 2 == 0 ? me : -me)));
      if (flat_inside(*teams.back())) ++flat;
    }
    // World has two of 16, the local team one, each of these two.
    EXPECT_EQ(flat, some ? 6 : 0);
    all_work(teams);
    std::vector<upcxx::team_id> ids;
    for (auto const& t : teams) ids.push_back(t->id());
    for (auto const& t : teams)
      t->destroy(round == 0 ? upcxx::entry_barrier::none : upcxx::entry_barrier::user);
    // Teams that are destroyed in the background give their channels back when all have come.
    upcxx::barrier();
    multirank::spin_until([&] {
      return std::none_of(ids.begin(), ids.end(), [](upcxx::team_id const& id) {
        return atl::engine::find_team(std::bit_cast<std::uint64_t>(id));
      });
    });
    upcxx::barrier();
  }
}

TEST_F(hosts_test, trees_hold_every_member_once) {
  using atl::engine::between_hosts;
  using atl::engine::team_data;
  auto& world = static_cast<team_data&>(atl::engine::world_team());
  for (int i = 0; i < 2 * n; ++i) {
    int const root = i / 2;
    auto const how = i % 2 == 0 ? between_hosts::binomial : between_hosts::chain;
    atl::engine::tree const mine(world, root, how);
    EXPECT_EQ(mine.is_root(), me == root);
    // Every child of mine has me for its parent, and together they are all but the root.
    int children = 0;
    int elsewhere = 0;
    for (std::size_t k = 0; k < mine.children(); ++k) {
      int const child = mine.begin()[k];
      ++children;
      elsewhere += place(child) != place(me) ? 1 : 0;
      int const parent =
          upcxx::rpc(
              child,
              [](int from, between_hosts how_there) {
                return atl::engine::tree(static_cast<team_data&>(atl::engine::world_team()), from, how_there)
                    .parent();
              },
              root, how)
              .wait();
      EXPECT_EQ(parent, me);
    }
    if (how == between_hosts::chain) {
      EXPECT_LE(elsewhere, 1);
    }
    EXPECT_EQ(upcxx::reduce_all(children, upcxx::op_fast_add).wait(), n - 1);
  }
}

TEST_F(hosts_test, teams_of_every_shape) {
  upcxx::team reversed = upcxx::world().split(0, -me);
  upcxx::team odd = upcxx::world().split(me % 2, me);
  upcxx::team mixed = upcxx::world().split(me % 3 == 0 ? 0 : 1, me * 7 % 5);
  for (upcxx::team* const t : {&reversed, &odd, &mixed}) {
    int const tn = t->rank_n();
    long world_ranks = 0;
    for (int r = 0; r < tn; ++r) world_ranks += (*t)[r];
    for (std::size_t const size :
         {std::size_t{1}, std::size_t{200}, std::size_t{3000}, std::size_t{70'000}}) {
      std::vector<long> values(size, me);
      upcxx::reduce_all(values.data(), values.data(), size, upcxx::op_fast_add, *t).wait();
      EXPECT_EQ(values, std::vector<long>(size, world_ranks));
      for (int root = 0; root < tn; ++root) {
        std::vector<long> array(size, t->rank_me() == root ? 100 + root : -1);
        upcxx::broadcast(array.data(), size, root, *t).wait();
        EXPECT_EQ(array, std::vector<long>(size, 100 + root));
        std::vector<long> const mine(size, me);
        std::vector<long> sum(size, -1);
        upcxx::reduce_one(mine.data(), sum.data(), size, upcxx::op_fast_add, root, *t).wait();
        if (t->rank_me() == root) {
          EXPECT_EQ(sum, std::vector<long>(size, world_ranks));
        }
      }
    }
  }
  reversed.destroy();
  odd.destroy();
  mixed.destroy();
}

TEST_F(hosts_test, serialised_objects_reach_everyone) {
  auto const append = [](std::string const& x, std::string const& y) { return x + y; };
  for (std::size_t const size : {std::size_t{3}, std::size_t{1500}, std::size_t{200'000}}) {
    int const root = static_cast<int>(size % static_cast<std::size_t>(n));
    auto const text = [&](int rank) { return std::string(size, static_cast<char>('a' + rank)); };
    EXPECT_TRUE(upcxx::experimental::broadcast_nontrivial(me == root ? text(root) : "", root).wait() ==
                text(root));
    std::string together;
    for (int r = 0; r < n; ++r) together += text(r);
    std::string all = upcxx::experimental::reduce_all_nontrivial(text(me), append).wait();
    EXPECT_TRUE(all == upcxx::experimental::broadcast_nontrivial(all, 0).wait());
    std::sort(all.begin(), all.end());
    EXPECT_TRUE(all == together);
    std::string one = upcxx::experimental::reduce_one_nontrivial(text(me), append, root).wait();
    std::sort(one.begin(), one.end());
    if (me == root) {
      EXPECT_TRUE(one == together);
    }
  }
}
