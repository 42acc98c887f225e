// Who has passed a barrier may make no progress for as long as it likes: in MPI, for one. So all that others need to pass the same
// barrier has left it. Here ranks take turns between barriers and a meeting in memory of which the library knows nothing, over
// networks on which nothing moves by itself, and whose connections are made anew again and again.

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

}  // namespace
