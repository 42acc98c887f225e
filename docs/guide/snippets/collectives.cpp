// Snippets of the page on teams and collectives.
#include <algorithm>
#include <vector>

#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();

  // [basic]
  upcxx::barrier();  // all are here
  // Rank 0's value; everybody's sum; the largest, on rank 0 only.
  int const from_zero = upcxx::broadcast(me == 0 ? 17 : 0, 0).wait();
  int const sum = upcxx::reduce_all(me, upcxx::op_fast_add).wait();
  int const most = upcxx::reduce_one(me, upcxx::op_fast_max, 0).wait();
  // [/basic]
  UPCXX_ASSERT_ALWAYS(from_zero == 17 && sum == ranks * (ranks - 1) / 2 &&
                      (me != 0 || most == ranks - 1));

  // [array]
  std::vector<double> mine(8, 1.0), total(8);
  upcxx::reduce_all(mine.data(), total.data(), mine.size(), upcxx::op_fast_add)
      .wait();
  // [/array]
  UPCXX_ASSERT_ALWAYS(total[7] == ranks);

  // [lambda]
  struct best {
    double score;
    int rank;
  };
  best const winner =
      upcxx::reduce_all(best{1.0 / (1 + me), me}, [](best a, best b) {
        return a.score >= b.score ? a : b;
      }).wait();
  // [/lambda]
  UPCXX_ASSERT_ALWAYS(winner.rank == 0);

  // [async]
  upcxx::future<> all_here = upcxx::barrier_async();
  // ... compute something meanwhile ...
  all_here.wait();
  // [/async]

  // [team]
  upcxx::team& here = upcxx::local_team();  // the ranks that share my host's memory
  upcxx::barrier(here);
  int const first = here[0];                  // rank in world() of its first member
  int const index = here.from_world(me, -1);  // my rank in it, or -1
  UPCXX_ASSERT_ALWAYS(index == here.rank_me() && first <= me);
  upcxx::rpc(here, 0, [] {}).wait();  // ranks of a call may be a team's
  // [/team]

  // [split]
  // Even ranks come together, and odd ones; in each team the order is turned around.
  upcxx::team half = upcxx::world().split(me % 2, -me);
  int const team_sum = upcxx::reduce_all(1, upcxx::op_fast_add, half).wait();
  UPCXX_ASSERT_ALWAYS(team_sum == half.rank_n());
  upcxx::barrier(half);
  half.destroy();  // collective
  // [/split]
  upcxx::barrier();
  upcxx::finalize();
}
