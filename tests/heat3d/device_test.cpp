// The device back end with streams that are threads, and ranks that are threads. The field must be the host's
// bit for bit; under ThreadSanitizer, nothing may be touched that no mark, halo or sum orders.

#include <gtest/gtest.h>

#include <memory>

#include "backends/stretches.hpp"
#include "program/driver.hpp"
#include "thread_ranks.hpp"

namespace heat3d {
namespace {

using field = std::vector<double>;

problem small_problem() {
  problem p;
  p.domain = {9, 8, 10};
  p.t0 = 0.3;
  p.q = 0.8;
  p.last_step = 13;
  return p;
}

struct variant {
  bool on_device = true;         ///< else the host's back end
  bool planes_on_device = true;  ///< else they pass through the host
  std::int64_t reduced_every = 1000;
  bool many_steps_at_once = false;  ///< planes travel in streams
  bool captured = false;            ///< so are calls once, and made again
  bool by_kernels = false;          ///< which write planes where they are read, and say so
};

/// The field after the run, and whether its checks passed.
struct outcome {
  field cells;
  bool passed = true;
};

outcome simulate(problem const& p, process_grid const& grid, variant const& how) {
  thread_job job(grid[0] * grid[1] * grid[2]);
  outcome found;
  found.cells.resize(p.cell_n());
  run_ranks(job, [&](thread_rank& ranks) {
    auto const own = make_block(p.domain, grid, ranks.rank());
    thread_memory memory;
    backend_setup const setup{own, p.domain, &memory, how.planes_on_device, false};
    auto const engine = how.on_device ? make_device_backend(setup, std::make_unique<thread_device>(
                                                                       100 * ranks.rank(), own, how.captured))
                                      : make_plain_backend(setup, true);
    auto const halos = ranks.make_exchange(own, nullptr);
    thread_planes planes(job, ranks.rank(), own, how.by_kernels);
    auto const runner = how.many_steps_at_once ? engine->make_stretches(planes) : nullptr;
    driver run = runner ? driver(p, own, ranks, *engine, *runner) : driver(p, own, ranks, *engine, *halos);
    run.is_reduced = [&](std::int64_t step) { return step % how.reduced_every == 0 || step == p.last_step; };
    run.is_printed = [](std::int64_t) { return false; };
    run.warm_up(2);
    run.run();
    // A step of so few cells takes less than a second, and more than nothing.
    for (double seconds : run.step_seconds()) EXPECT_TRUE(seconds > 0 && seconds < 10) << seconds;
    auto const checks = run.verify();
    field mine(own.cells.cell_n());
    engine->store(mine);
    auto const all = ranks.gather(mine);
    ranks.barrier();
    if (ranks.rank() != 0) return;
    for (auto const& check : checks) found.passed = found.passed && check.passed();
    for (int r = 0; r < ranks.size(); ++r) {
      auto const cells = make_block(p.domain, grid, r).cells;
      std::size_t i = 0;
      for (auto z = cells.low[2]; z < cells.high[2]; ++z) {
        for (auto y = cells.low[1]; y < cells.high[1]; ++y) {
          for (auto x = cells.low[0]; x < cells.high[0]; ++x)
            found.cells[position(p.domain, x, y, z)] = all[r][i++];
        }
      }
    }
  });
  return found;
}

class device_threads : public testing::TestWithParam<process_grid> {};

TEST_P(device_threads, planes_from_device_to_device) {
  auto const p = small_problem();
  auto const expected = simulate(p, {1, 1, 1}, {.on_device = false});
  ASSERT_TRUE(expected.passed);
  auto const found = simulate(p, GetParam(), {});
  EXPECT_TRUE(found.passed) << "heat appeared or vanished";
  EXPECT_EQ(found.cells, expected.cells);
}

TEST_P(device_threads, planes_staged_through_the_host_and_sums_in_every_third_step) {
  auto const p = small_problem();
  auto const expected = simulate(p, {1, 1, 1}, {.on_device = false});
  auto const found = simulate(p, GetParam(), {.planes_on_device = false, .reduced_every = 3});
  EXPECT_TRUE(found.passed) << "heat appeared or vanished";
  EXPECT_EQ(found.cells, expected.cells);
}

TEST_P(device_threads, many_steps_at_once_with_planes_that_travel_in_streams_or_kernels) {
  auto p = small_problem();
  p.last_step = 60;  // long pieces and short ones
  auto const expected = simulate(p, {1, 1, 1}, {.on_device = false});
  for (bool const by_kernels : {false, true}) {
    for (bool const captured : {false, true}) {
      for (std::int64_t const reduced_every : {1000, 7}) {
        auto const found = simulate(p, GetParam(),
                                    {.reduced_every = reduced_every,
                                     .many_steps_at_once = true,
                                     .captured = captured,
                                     .by_kernels = by_kernels});
        EXPECT_TRUE(found.passed) << "heat appeared or vanished";
        EXPECT_EQ(found.cells, expected.cells);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(grids, device_threads,
                         testing::Values(process_grid{1, 1, 1}, process_grid{1, 1, 3}, process_grid{3, 1, 1},
                                         process_grid{1, 2, 2}, process_grid{2, 2, 2},
                                         process_grid{1, 1, 10}),
                         [](auto const& grid) {
                           auto const& g = grid.param;
                           return std::to_string(g[0]) + "x" + std::to_string(g[1]) + "x" +
                                  std::to_string(g[2]);
                         });

}  // namespace
}  // namespace heat3d
