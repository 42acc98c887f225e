// Two threads of each rank, each with neighbours and a ghost exchange of its own, at the same time.

#include <atoll/array.hpp>
#include <atoll/neighbors.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include "multirank/common.hpp"

namespace {

using atl::domain;
using atl::point;

/// What one thread of each rank has: a ring of cells, and the neighbours in it.
struct lane {
  lane(int rank, int ranks, std::vector<int> const& ring, domain<1> const& whole)
      : cells(atl::make_array<int>(domain<1>{{4 * rank - 1}, {4 * rank + 5}})),
        halo({&cells.view(), 1}, 1, atl::shape::faces, whole, upcxx::world(), {.by_host = true}),
        around(ring),
        left((4 * rank + 4 * ranks - 1) % (4 * ranks)) {}

  void run(int salt) {
    for (int step = 0; step < 200; ++step) {
      for (point<1> const& p : cells.domain().shrink(1))
        cells[p] = salt + 1000 * step + static_cast<int>(p[0]);
      halo.run();
      ASSERT_EQ(cells[cells.domain().lower], salt + 1000 * step + left);
      if (step % 8 == 0) {
        around.sync_async().wait();
      } else {
        around.sync();
      }
    }
  }

  atl::owned_array<int, 1> cells;
  atl::ghost_exchange<int, 1> halo;
  atl::neighbors around;
  int left;
};

}  // namespace

using extensions_threads_test = multirank::fixture;

namespace {

/// Wherever it is.
int step_of(upcxx::global_ptr<int> there) {
  auto const look = [](upcxx::global_ptr<int> p) { return std::atomic_ref<int>(*p.local()).load(); };
  return there.is_local() ? look(there) : upcxx::rpc(there.where(), look, there).wait();
}

}  // namespace

TEST_F(extensions_threads_test, lanes_do_not_disturb_each_other) {
  std::vector<int> const ring{left, right};
  domain<1> const whole{{0}, {4 * n}};
  lane first(me, n, ring, whole);
  lane second(me, n, ring, whole);
  std::thread other([&] { second.run(500'000); });
  first.run(0);
  other.join();
  upcxx::barrier();
}

/// What others say of their flags comes to that thread.
TEST_F(extensions_threads_test, neighbours_meet_beside_the_thread_that_has_the_master_persona) {
  std::vector<upcxx::team> teams;  // in each of which pairs have not met
  for (int i = 0; i < 8; ++i) teams.push_back(upcxx::world().split(0, me));
  std::vector<int> const around{left, right};
  multirank::shared_array<int> const steps(1);
  std::atomic_ref<int> mine(*steps.local());
  mine.store(0);
  upcxx::barrier();
  std::atomic<bool> done = false;
  std::thread meets([&] {
    int step = 0;
    for (upcxx::team const& each : teams) {
      for (int again = 0; again < 3; ++again) {
        mine.store(++step);
        atl::sync_neighbors(around, each);
        for (int r : around) EXPECT_GE(step_of(steps.at(r)), step);
      }
    }
    done = true;
  });
  while (!done) upcxx::progress();
  meets.join();
  upcxx::barrier();
  for (upcxx::team& each : teams) each.destroy();
}
