// The whole benchmark on one rank.

#include "program/benchmark.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>

#include "../local_ranks.hpp"
#include "movers/forwarding_runtime.hpp"
#include "program/sizing.hpp"
#include "program/triad.hpp"

namespace hpgmg {
namespace {

/// Whose moves leave something that is not a number in the first ghost they write, and nowhere else.
class nan_rank final : public forwarding_runtime {
 public:
  using forwarding_runtime::forwarding_runtime;
  std::unique_ptr<mover> make_mover(plan const& moves, group* members) override {
    return std::make_unique<spoiling>(inner().make_mover(moves, members), moves);
  }
  std::unique_ptr<mover> make_exchange(level const& l, ghost_shape shape, group* members) override {
    return runtime::make_exchange(l, shape, members);
  }

 private:
  class spoiling final : public mover {
   public:
    spoiling(std::unique_ptr<mover> inner, plan const& moves) : inner_(std::move(inner)), moves_(moves) {}
    void run(std::ptrdiff_t source_offset, std::ptrdiff_t destination_offset, bool disturbed,
             move_times& times) override {
      inner_->run(source_offset, destination_offset, disturbed, times);
      if (moves_.locals.empty()) return;
      moves_.destination->local[destination_offset + moves_.locals.front().destination] =
          std::numeric_limits<double>::quiet_NaN();
    }

   private:
    std::unique_ptr<mover> inner_;
    plan moves_;
  };
};

/// 32^3 cells in eight boxes; no results of the reference are known.
options brief_run() {
  options o;
  o.what.op = stencil::point7;
  o.what.helmholtz = true;
  o.what.boxes_per_rank = 8;
  o.warmup = 1;
  o.seconds = 0;
  o.least_solves = 1;
  return o;
}

TEST(benchmark, what_is_not_a_number_does_not_pass) {
  local_rank healthy;
  EXPECT_TRUE(run_benchmark(brief_run(), healthy, {}).passed());
  for (auto const start : {cycle::f, cycle::v}) {
    options o = brief_run();
    o.what.start = start;
    nan_rank spoilt(healthy);
    run_record const run = run_benchmark(o, spoilt, {});
    EXPECT_FALSE(run.passed());
    EXPECT_TRUE(std::isinf(run.sizes.front().history.back().norm));
    EXPECT_TRUE(std::isinf(run.error));
    // The solver of the bottom gives up at once.
    EXPECT_LE(run.sizes.front().bottom_iterations, 20);
  }
}

TEST(triad, has_the_threads_that_it_is_told) {
  if (!has_threads()) GTEST_SKIP() << "no OpenMP";
  constexpr int threads = 5;
  local_rank rank;
  EXPECT_GT(triad_rate(rank, 1e6, threads), 0);
  // OpenMP keeps its threads for what comes next.
  auto const tasks = std::filesystem::directory_iterator("/proc/self/task");
  EXPECT_GE(std::distance(begin(tasks), end(tasks)), threads);
}

TEST(triad, its_arrays_leave_the_caches_and_are_counted) {
  problem small;
  small.boxes_per_rank = 8;
  EXPECT_EQ(triad_bytes(small, 8), 64.0 * 32 * 32 * 32);
  problem large = small;
  large.log2_box = 9;
  EXPECT_EQ(triad_bytes(large, 100), 1 << 30);
  EXPECT_EQ(triad_bytes(small, 0), 0);
  // All that the term with alpha adds to the memory that is asked for, over two ranks.
  problem more = small;
  more.helmholtz = true;
  EXPECT_DOUBLE_EQ(bytes_of_all(more, 2) - bytes_of_all(small, 2), 8.0 * 32 * 32 * 32);
}

}  // namespace
}  // namespace hpgmg
