// Graphs that the library captures, over simulated devices, the fake CUDA driver and GPUs.

#include <stdexcept>
#include <utility>

#include <atoll/graph.hpp>
#include <atoll/stream_barrier.hpp>

#include "multirank/kinds/stream_fixture.hpp"

using captured_test = stream_fixture;

TEST_F(captured_test, what_is_captured_happens_with_each_launch) {
  auto const s = atl::make_stream(gpu_);
  auto const a = filled(100, me);
  auto const b = filled(100, -1);
  auto const flag = filled<std::uint64_t>(1, 0);
  atl::graph const graph = atl::capture(s, [&] {
    EXPECT_TRUE(s.is_captured());
    upcxx::copy(a, b, 100, atl::on_stream(s));
    atl::signal(s, flag, 7);
  });
  EXPECT_FALSE(s.is_captured());
  ASSERT_TRUE(graph);
  atl::wait(s);
  EXPECT_EQ(content(b, 100), std::vector<int>(100, -1));
  EXPECT_EQ(content(flag, 1), std::vector<std::uint64_t>{0});
  for (int round = 0; round < 5; ++round) {
    std::vector<int> const values(100, 10 * me + round);
    upcxx::copy(values.data(), a, 100).wait();
    graph.launch(s);
    atl::wait(s, flag, 7);
    atl::signal(s, flag, 0);
    atl::wait(s);
    EXPECT_EQ(content(b, 100), values);
  }
  // In another stream, and more than once before anybody waits.
  auto const other = atl::make_stream(gpu_);
  for (int i = 0; i < 3; ++i) graph.launch(other);
  atl::wait(other);
  EXPECT_EQ(content(flag, 1), std::vector<std::uint64_t>{7});
}

TEST_F(captured_test, ranks_exchange_with_each_launch) {
  auto const s = atl::make_stream(gpu_);
  if (upcxx::local_team().rank_n() != n) GTEST_SKIP() << "graphs reach what their device reaches";
  // News, and leave to send the next ones.
  auto const own = gpu_.allocate<std::uint64_t>(2);
  std::uint64_t const first[2] = {0, 1};
  upcxx::copy(first, own, 2).wait();
  upcxx::dist_object<gpu_ptr<std::uint64_t>> words(own);
  auto const landing = filled(64, -1);
  upcxx::dist_object<gpu_ptr<int>> landings(landing);
  auto const their_news = words.fetch(right).wait();
  auto const their_leave = words.fetch(left).wait() + 1;
  auto const their_landing = landings.fetch(right).wait();
  auto const source = filled(64, me);
  upcxx::barrier();
  atl::graph const exchange = atl::capture(s, [&] {
    atl::wait_and_reset(s, own + 1, 1, atl::signal_cmp::equal);
    upcxx::copy(source, their_landing, 64, atl::on_stream(s) | atl::remote_cx::as_signal(their_news, 1));
    atl::wait_and_reset(s, own, 1, atl::signal_cmp::equal);
    atl::signal(s, their_leave, 1);
  });
  for (int round = 0; round < 20; ++round) exchange.launch(s);
  atl::wait(s);
  EXPECT_EQ(content(landing, 64), std::vector<int>(64, left));
  upcxx::barrier();
}

/// Nodes use words up, and two executions at a time would take each other's.
TEST_F(captured_test, executions_in_which_ranks_exchange_follow_each_other_in_all_streams) {
  if (upcxx::local_team().rank_n() != n) GTEST_SKIP() << "graphs reach what their device reaches";
  atl::stream_barrier all(gpu_);
  auto const first = atl::make_stream(gpu_);
  auto const second = atl::make_stream(gpu_);
  atl::graph const meeting = atl::capture(first, [&] { all.enter(first); });
  for (int round = 0; round < 20; ++round) {
    meeting.launch(first);
    meeting.launch(second);
  }
  atl::wait(first);
  atl::wait(second);
  all.destroy();
}

TEST_F(captured_test, a_graph_may_go_while_it_is_executed_and_a_capture_by_an_exception) {
  auto const s = atl::make_stream(gpu_);
  auto const flag = filled<std::uint64_t>(1, 0);
  EXPECT_THROW((void)atl::capture(s,
                                  [&] {
                                    atl::signal(s, flag, 3);
                                    throw std::runtime_error("no graph");
                                  }),
               std::runtime_error);
  EXPECT_FALSE(s.is_captured());
  atl::wait(s);
  EXPECT_EQ(content(flag, 1), std::vector<std::uint64_t>{0});
  {
    atl::graph graph = atl::capture(s, [&] { atl::signal(s, flag, 4); });
    atl::graph moved = std::move(graph);
    EXPECT_FALSE(graph);  // NOLINT: moved from
    moved.launch(s);
    moved = atl::graph();
  }
  atl::wait(s);
  EXPECT_EQ(content(flag, 1), std::vector<std::uint64_t>{4});
}
