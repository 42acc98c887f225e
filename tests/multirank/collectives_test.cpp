// Collectives of all kinds and sizes, mixed and in flight together: lines and blocks of shared memory are
// used again and again, by members that run ahead and members that come late.

#include <algorithm>
#include <random>
#include <vector>

#include "common.hpp"

namespace {

using upcxx::op_fast_add;

/// One collective under way, and what it must give here.
struct started {
  std::vector<long> data;
  std::vector<long> expected;
  upcxx::future<> done;
};

long sum_of_members(upcxx::team const& t, long each) {
  long sum = 0;
  for (int r = 0; r < t.rank_n(); ++r) sum += each + t[r];
  return sum;
}

started start(upcxx::team const& t, unsigned kind, int root, std::size_t size, long each) {
  bool const at_root = t.rank_me() == root;
  long const mine = each + upcxx::rank_me();
  started s{std::vector<long>(size, mine), std::vector<long>(size, mine), upcxx::make_future()};
  auto const value = [&](upcxx::future<long> f, bool here, long result) {
    s.data.assign(1, mine);
    s.expected.assign(1, here ? result : mine);
    return here ? f.then([at = s.data.data()](long v) { *at = v; }) : f.then([](long) {});
  };
  auto* const data = s.data.data();
  switch (kind) {
    case 0:
      s.done = upcxx::broadcast(data, size, root, t);
      s.expected.assign(size, each + t[root]);
      break;
    case 1:
      s.done = upcxx::reduce_one(data, at_root ? data : nullptr, size, op_fast_add, root, t);
      if (at_root) s.expected.assign(size, sum_of_members(t, each));
      break;
    case 2:
      s.done = upcxx::reduce_all(data, data, size, op_fast_add, t);
      s.expected.assign(size, sum_of_members(t, each));
      break;
    case 3:
      s.done = value(upcxx::broadcast(mine, root, t), true, each + t[root]);
      break;
    case 4:
      s.done = value(upcxx::reduce_one(mine, op_fast_add, root, t), at_root, sum_of_members(t, each));
      break;
    case 5:
      s.done = value(upcxx::reduce_all(mine, op_fast_add, t), true, sum_of_members(t, each));
      break;
    default:
      s.done = upcxx::barrier_async(t);
      break;
  }
  return s;
}

}  // namespace

using collectives_test = multirank::fixture;

TEST_F(collectives_test, all_kinds_and_sizes_are_in_flight_together) {
  upcxx::team reversed = upcxx::world().split(0, -me);
  upcxx::team halves = upcxx::world().split(me % 2, me);
  // Longs: 6 fit into a line; 400 and 3000 are in one block; the others are several pieces.
  constexpr std::size_t sizes[] = {0, 1, 6, 7, 400, 3000, 20'000, 60'000};
  std::minstd_rand shared(17);                          // the same on all ranks
  std::minstd_rand own(static_cast<unsigned>(me) + 1);  // how far a rank runs ahead
  std::vector<started> open;
  std::size_t wrong = 0;
  for (int i = 0; i < 300; ++i) {
    auto const pick = [&](std::size_t of) { return static_cast<std::size_t>(shared()) / 7 % of; };
    upcxx::team const* const teams[] = {&upcxx::world(), &reversed, &halves, &upcxx::world()};
    upcxx::team const& t = *teams[pick(4)];
    auto const kind = static_cast<unsigned>(pick(7));
    // Halves may differ in size, so the root is taken from what both have.
    int const root = static_cast<int>(pick(static_cast<std::size_t>(std::max(1, n / 2))));
    open.push_back(start(t, kind, root, sizes[pick(8)], 1000L * i));
    if (own() / 7 % 4 == 0) upcxx::progress();
    if (open.size() <= own() / 7 % 40) continue;
    for (started& s : open) {
      s.done.wait();
      wrong += s.data != s.expected ? 1 : 0;
    }
    open.clear();
  }
  for (started& s : open) {
    s.done.wait();
    wrong += s.data != s.expected ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0U);
  reversed.destroy();
  halves.destroy();
}

TEST_F(collectives_test, a_root_that_runs_ahead_waits_for_the_others_in_the_end) {
  upcxx::promise<> done;
  std::vector<std::vector<int>> arrays(30, std::vector<int>(5000, me));
  if (me != 0) upcxx::rpc(0, [] {}).wait();
  long sum = 0;
  for (int i = 0; i < 30; ++i) {
    auto& a = arrays[static_cast<std::size_t>(i)];
    if (me == 0) std::fill(a.begin(), a.end(), i);
    upcxx::broadcast(a.data(), a.size(), 0, upcxx::world(), upcxx::operation_cx::as_promise(done));
    if (me != 0) upcxx::progress();
  }
  for (int i = 0; i < 100; ++i) sum += upcxx::broadcast(me == 0 ? i : -1, 0).wait();
  done.finalize().wait();
  EXPECT_EQ(sum, 99 * 100 / 2);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(arrays[static_cast<std::size_t>(i)], std::vector<int>(5000, i));
  }
}

TEST_F(collectives_test, reduce_one_leaves_sources_alone) {
  std::vector<double> const source(50'000, me + 1.0);
  for (std::size_t const size : {std::size_t{5}, std::size_t{100}, source.size()}) {
    std::vector<double> dest(size, -1);
    upcxx::reduce_one(source.data(), me == n - 1 ? dest.data() : nullptr, size, op_fast_add, n - 1).wait();
    EXPECT_EQ(dest, std::vector<double>(size, me == n - 1 ? n * (n + 1) / 2 : -1.0));
  }
  EXPECT_EQ(source, std::vector<double>(50'000, me + 1.0));
}
