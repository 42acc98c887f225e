// Graphs of CUDA that have collectives among their nodes, over the fake driver and GPUs.

#include <algorithm>

#include <atoll/stream_collectives.hpp>
#include <atoll/stream_reduction.cuh>

#include "multirank/kinds/collectives_script.hpp"
#include "multirank/kinds/graph_fixture.hpp"
#include "multirank/kinds/neighbors_ring.hpp"

class graph_collectives_test : public graph_fixture {
 protected:
  /// A graph and all that it needs.
  struct captured {
    captured(graph_collectives_test& test, upcxx::team const& over, std::size_t room)
        : s(atl::make_stream(test.gpu_)),
          destination(test.filled(room + 1, -1)),
          all(test.gpu_, over),
          to(all.bind(destination, room)),
          script(over, test.filled(room, 0), destination, room, some_collectives(over.rank_n(), room)),
          made(test.capture(s, cuda::capture_global, [&] { script.run(s, to); })) {}

    atl::owned_stream s;
    gpu_ptr<int> destination;
    atl::stream_collectives<upcxx::gpu_default_device> all;
    atl::collective_destination<int> to;
    collectives_script script;
    void* made;
  };

  std::size_t ranks_ = static_cast<std::size_t>(upcxx::rank_n());
};

TEST_F(graph_collectives_test, all_calls_are_made_again_with_every_launch) {
  auto const s = atl::make_stream(gpu_);
  std::size_t const room = 1500 * ranks_ + 1;
  auto const destination = filled(room + 1, -1);
  // Long ones in pieces.
  atl::stream_collectives all(gpu_, upcxx::world(), 4096);
  auto const to = all.bind(destination, room);
  collectives_script script(upcxx::world(), filled(room, 0), destination, room,
                            some_collectives(upcxx::rank_n(), room));
  void* const made = capture(s, cuda::capture_global, [&] { script.run(s, to); });
  for (int round = 0; round < 10; ++round) {
    script.fill(round);
    if (round % 4 == me % 4) upcxx::progress();
    // What is captured and what is not take turns.
    if (round % 3 == 2) {
      script.run(s, to);
    } else {
      ASSERT_EQ(cu_.launch(made, s.native()), cuda::success);
    }
    atl::wait(s);
    script.expect(round);
  }
  // Without a host in between.
  script.fill(11);
  for (int round = 0; round < 20; ++round) ASSERT_EQ(cu_.launch(made, s.native()), cuda::success);
  atl::wait(s);
  script.expect(11);
  EXPECT_EQ(cu_.destroy_executable(made), cuda::success);
  all.destroy();
}

/// Which programs have that no compiler of CUDA has compiled.
TEST_F(graph_collectives_test, reductions_are_done_by_kernels_of_the_library) {
  constexpr std::size_t count = 1000;  // in two pieces
  auto const s = atl::make_stream(gpu_);
  atl::stream_reduction all(gpu_, upcxx::world(), 600);
  auto const in = filled<std::int64_t>(count, me + 1);
  auto const out = filled<std::int64_t>(count, 0);
  void* const made = capture(s, cuda::capture_global, [&] {
    all.reduce_all(s, in, out, count, atl::device::plus{});
    all.reduce_all(s, out, in, count, atl::device::greatest{});
  });
  std::int64_t sum = std::int64_t{n} * (n + 1) / 2;
  for (int round = 0; round < 5; ++round, sum *= n) {
    ASSERT_EQ(cu_.launch(made, s.native()), cuda::success);
    atl::wait(s);
    ASSERT_EQ(content(out, count), std::vector<std::int64_t>(count, sum)) << round;
    upcxx::barrier();
  }
  EXPECT_EQ(cu_.destroy_executable(made), cuda::success);
  all.destroy();
}

TEST_F(graph_collectives_test, two_graphs_at_once_have_an_object_each) {
  upcxx::team halves = upcxx::world().split(me % 2, me);
  captured whole(*this, upcxx::world(), 20 * ranks_);
  captured half(*this, halves, 33 * ranks_);
  for (auto* const each : {&whole, &half}) each->script.fill(1);
  for (int round = 0; round < 10; ++round) {
    for (auto* const each : {&whole, &half}) {
      ASSERT_EQ(cu_.launch(each->made, each->s.native()), cuda::success);
    }
  }
  for (auto* const each : {&whole, &half}) {
    atl::wait(each->s);
    each->script.expect(1);
    EXPECT_EQ(cu_.destroy_executable(each->made), cuda::success);
    each->all.destroy();
  }
  halves.destroy();
}

/// Kernels that wait for each other would take turns with those of the other team.
TEST_F(graph_collectives_test, devices_that_teams_share_are_left_to_copies) {
  if (cu_.fake == nullptr) GTEST_SKIP() << "nobody counts kernels";
  upcxx::team pairs = upcxx::world().split(me / 2, me);
  auto const devices = of_all(gpu_.device_id());
  bool const alone = std::count(devices.begin(), devices.end(), gpu_.device_id()) == 1;
  bool const all_alone = upcxx::reduce_all(alone ? 1 : 0, upcxx::op_fast_min, pairs).wait() == 1;
  auto const s = atl::make_stream(gpu_);
  atl::stream_collectives all(gpu_, pairs);
  auto const to = all.bind(filled(10, -1), 10);
  auto const source = filled(10, me);
  std::uint64_t const before = cu_.fake->kernels;
  to.broadcast(s, 0, source, 10);
  atl::wait(s);
  EXPECT_EQ(cu_.fake->kernels - before, all_alone && pairs.rank_n() > 1 ? 1U : 0U);
  all.destroy();
  pairs.destroy();
}

TEST_F(graph_collectives_test, ranks_part_their_calls_among_graphs_as_they_like) {
  auto const s = atl::make_stream(gpu_);
  std::size_t const room = 10 * ranks_;
  auto const source = filled(room, me);
  atl::stream_collectives all(gpu_);
  auto const to = all.bind(filled(room, -1), room);
  auto const step = [&] {
    to.broadcast(s, 0, source, room);
    to.gather_all(s, source, 10);
  };
  auto const captured_steps = [&](int steps) {
    return capture(s, cuda::capture_global, [&] {
      for (int i = 0; i < steps; ++i) step();
    });
  };
  // Two steps in a graph, or one that is launched twice; or each step's calls in graphs of their own.
  void* const whole = me % 3 == 0 ? captured_steps(2) : me % 3 == 1 ? captured_steps(1) : nullptr;
  void* parts[2] = {};
  if (whole == nullptr) {
    parts[0] = capture(s, cuda::capture_global, [&] { to.broadcast(s, 0, source, room); });
    parts[1] = capture(s, cuda::capture_global, [&] { to.gather_all(s, source, 10); });
  }
  for (int round = 0; round < 5; ++round) {
    if (whole != nullptr) {
      for (int i = 0; i < (me % 3 == 0 ? 1 : 2); ++i) ASSERT_EQ(cu_.launch(whole, s.native()), cuda::success);
    } else {
      for (int i = 0; i < 4; ++i) ASSERT_EQ(cu_.launch(parts[i % 2], s.native()), cuda::success);
    }
    atl::wait(s);
  }
  for (void* const each : {whole, parts[0], parts[1]}) {
    if (each == nullptr) continue;
    EXPECT_EQ(cu_.destroy_executable(each), cuda::success);
  }
  all.destroy();
}

TEST_F(graph_collectives_test, neighbours_of_collectives_meet_again_with_every_launch) {
  auto const s = atl::make_stream(gpu_);
  auto const own = filled<int>(1, 0);
  neighbors_ring ring(of_all(filled<int>(2, -1)));
  atl::stream_neighbors around(gpu_, ring.sides());
  void* const made = capture(s, cuda::capture_global, [&] { ring.run(s, own, around); });
  for (int round = 0; round < 20; ++round) {
    ring.give(round);
    if (round % 4 == me % 4) upcxx::progress();
    if (round % 3 == 2) {
      ring.run(s, own, around);
    } else {
      ASSERT_EQ(cu_.launch(made, s.native()), cuda::success);
    }
    atl::wait(s);
    ring.expect(round);
  }
  ring.give(21);
  for (int round = 0; round < 20; ++round) ASSERT_EQ(cu_.launch(made, s.native()), cuda::success);
  atl::wait(s);
  ring.expect(21);
  EXPECT_EQ(cu_.destroy_executable(made), cuda::success);
  around.destroy();
}
