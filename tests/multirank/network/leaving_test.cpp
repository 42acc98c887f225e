// Who has passed a barrier may make no progress for as long as it likes: in MPI, for one. So all that others need to pass the same
// barrier has left it. Here ranks take turns between barriers and a meeting in memory of which the library knows nothing, over
// networks on which nothing moves by itself, and whose connections are made anew again and again.

#include <atoll/array.hpp>

#include "../common.hpp"
#include "elsewhere.hpp"

namespace {

class leaving_test : public multirank::fixture {};

TEST_F(leaving_test, nobody_in_a_barrier_needs_who_has_passed_it) {
  elsewhere other;
  for (int round = 0; round < 60; ++round) {
    // Other connections than those of the barrier.
    upcxx::rpc((me + 1 + round % (n - 1)) % n, [] {}).wait();
    upcxx::barrier();
    other.meet();
  }
}

TEST_F(leaving_test, the_same_of_barriers_of_parts_and_of_those_that_are_waited_for) {
  elsewhere other;
  upcxx::team halves = upcxx::world().split(me % 2, me);
  upcxx::barrier();  // who has a team has not told all others yet
  for (int round = 0; round < 30; ++round) {
    upcxx::barrier(halves);
    other.meet();
    upcxx::barrier_async().wait();
    other.meet();
  }
  halves.destroy();
}

/// Arrays that went ahead of their receivers: these tell the sender that they have come, as late as at the team's end.
TEST_F(leaving_test, nobody_at_the_end_of_a_team_needs_who_has_left_it) {
  elsewhere other;
  std::vector<long> row(20'000);
  for (int round = 0; round < 20; ++round) {
    upcxx::team all = upcxx::world().split(0, me);
    upcxx::barrier();
    int const root = round % n;
    std::fill(row.begin(), row.end(), me == root ? round : -1);
    upcxx::broadcast(row.data(), row.size(), root, all).wait();
    EXPECT_EQ(row.back(), round);
    all.destroy();
    other.meet();
  }
}

/// What is under way to a rank that has passed is no reason to stay.
TEST_F(leaving_test, nobody_waits_for_answers_of_who_has_passed) {
  elsewhere other;
  multirank::shared_array<long> cells(100'000);
  std::vector<long> row(100'000, me);
  for (int round = 0; round < 10; ++round) {
    upcxx::future<> const put = upcxx::rput(row.data(), cells.at(right), row.size());
    std::vector<long> got(row.size());
    upcxx::future<> const get = upcxx::rget(cells.at(left), got.data(), got.size());
    upcxx::barrier();
    other.meet();
    upcxx::when_all(put, get).wait();
    upcxx::barrier();
  }
}

/// Of a network that takes messages of a unit as they are, and has targets fetch longer ones: who has started a transfer may compute
/// for as long as it likes.
class leaving_data_test : public multirank::fixture {};

TEST_F(leaving_data_test, nobody_needs_who_has_started_a_transfer) {
  elsewhere other;
  constexpr auto unit = static_cast<std::ptrdiff_t>(atl::engine::flagged_put::unit / sizeof(int));
  for (std::ptrdiff_t const columns : {unit / 2, unit, unit + 1, 3 * unit, 4 * unit}) {
    // Each rank has a row, and wants that of the next one.
    auto const row = upcxx::new_array<int>(columns);
    auto const wanted = upcxx::new_array<int>(columns);
    std::ptrdiff_t const next = (me + 1) % n;
    std::vector<atl::array<int, 2>> const sources{{row, atl::domain<2>{{me, 0}, {me + 1, columns}}}};
    std::vector<atl::array<int, 2>> const places{{wanted, atl::domain<2>{{next, 0}, {next + 1, columns}}}};
    atl::transfer<int, 2> ring(sources, places);
    for (int step = 1; step <= 6; ++step) {
      for (std::ptrdiff_t i = 0; i < columns; ++i) row.local()[i] = static_cast<int>(me * columns + i) * step;
      ring.start();
      // Connections are there from the second run on.
      bool const computes = step > 2 && (me + step) % 2 == 0;
      if (computes) other.meet();
      ring.finish();
      for (std::ptrdiff_t i = 0; i < columns; ++i) {
        ASSERT_EQ(wanted.local()[i], static_cast<int>(next * columns + i) * step) << columns << ", " << step;
      }
      if (step > 2 && !computes) other.meet();
      upcxx::barrier();
    }
    upcxx::delete_array(wanted);
    upcxx::delete_array(row);
  }
}

}  // namespace
