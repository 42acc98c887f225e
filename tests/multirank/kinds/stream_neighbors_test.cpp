// Streams that synchronise with those of neighbours, over simulated devices, the fake CUDA driver and GPUs.

#include <memory>

#include <atoll/stream_neighbors.hpp>

#include "multirank/kinds/nearly_full_heap.hpp"
#include "multirank/kinds/neighbors_ring.hpp"

using stream_neighbors_test = stream_fixture;
using around_all = atl::stream_neighbors<upcxx::gpu_default_device>;

TEST_F(stream_neighbors_test, each_finds_what_its_neighbours_have_sent) {
  auto const s = atl::make_stream(gpu_);
  auto const own = filled<int>(1, 0);
  neighbors_ring ring(of_all(filled<int>(2, -1)));
  around_all around(gpu_, ring.sides());
  ASSERT_EQ(around.size(), upcxx::rank_n() == 1 ? 0 : upcxx::rank_n() == 2 ? 1 : 2);
  for (int round = 0; round < 20; ++round) {
    ring.give(round);
    if (round % 4 == me % 4) upcxx::progress();
    ring.run(s, own, around);
    atl::wait(s);
    ring.expect(round);
  }
  around.destroy();
}

/// As many as were given: a neighbour may be ahead.
TEST_F(stream_neighbors_test, signals_are_counted_for_each_pair) {
  auto const s = atl::make_stream(gpu_);
  std::vector<upcxx::intrank_t> const to{right, left, right, me};
  around_all around(gpu_, to);
  int const last = around.size() - 1;
  if (upcxx::rank_n() > 1) {
    for (int i = 0; i < 3; ++i) around.signal(s);
    atl::wait(s);
    upcxx::barrier();
    for (int i = 0; i < 2; ++i) around.wait(s);
    around.wait(s, 0);
    if (last != 0) around.wait(s, last);
    atl::wait(s);
    EXPECT_EQ(around.rank(0), right);
    // The next one has not been given yet.
    upcxx::barrier();
    around.wait(s, last);
    auto const reached = atl::when(s);
    multirank::poll(100);
    EXPECT_FALSE(reached.is_ready());
    upcxx::barrier();
    // What waits holds up the stream that it is in.
    auto const other = atl::make_stream(gpu_);
    for (int i = 0; i < around.size(); ++i) around.signal(other, i);
    reached.wait();
    if (last != 0) around.wait(s, 0);
    atl::wait(s);
    atl::wait(other);
  }
  around.destroy();
}

/// Lists of one's own, over a team.
TEST_F(stream_neighbors_test, a_rank_may_have_no_neighbours) {
  auto const s = atl::make_stream(gpu_);
  upcxx::team half = upcxx::world().split(me % 2, -me);
  std::vector<upcxx::intrank_t> all;
  // The first one with all others.
  for (upcxx::intrank_t r = 1; r < half.rank_n() && half.rank_me() == 0; ++r) all.push_back(r);
  if (half.rank_me() != 0) all.push_back(0);
  around_all around(gpu_, all, half);
  around_all nobody(gpu_, {}, half);
  auto const gathered = filled<int>(static_cast<std::size_t>(half.rank_n()), 0);
  auto const first = upcxx::broadcast(gathered, 0, half).wait();
  pinned<int> mine(1, 7 + half.rank_me());
  if (half.rank_me() != 0) upcxx::copy(mine.data(), first + half.rank_me(), 1, atl::on_stream(s));
  around.sync(s);
  nobody.sync(s);
  atl::wait(s);
  for (upcxx::intrank_t r = 1; r < half.rank_n() && half.rank_me() == 0; ++r)
    EXPECT_EQ(content(gathered + r, 1)[0], 7 + r);
  nobody.destroy();
  around.destroy();
  half.destroy();
}

TEST_F(stream_neighbors_test, no_room_in_the_middle_of_a_call_leaves_it_unmade) {
  if (upcxx::local_team().rank_n() == n) GTEST_SKIP() << "devices write all signals";
  auto const s = atl::make_stream(gpu_);
  around_all around(gpu_, std::vector<upcxx::intrank_t>{right, left});
  for (int round = 0; round < 3; ++round) {
    if (me == 0) {
      nearly_full_heap const full;
      EXPECT_THROW(around.sync(s), upcxx::bad_shared_alloc);
      EXPECT_THROW(around.signal(s), upcxx::bad_shared_alloc);
    }
    around.sync(s);
    atl::wait(s);
  }
  upcxx::barrier();
  // Nor has it counted any.
  bool waits = false;
  for (int i = 0; i < around.size(); ++i) {
    if (around.rank(i) != 0) continue;
    around.wait(s, i);
    waits = true;
  }
  auto const reached = atl::when(s);
  multirank::poll(100);
  if (waits) {
    EXPECT_FALSE(reached.is_ready());
  }
  upcxx::barrier();
  if (me == 0) around.signal(s);
  reached.wait();
  atl::wait(s);
  around.destroy();
}
