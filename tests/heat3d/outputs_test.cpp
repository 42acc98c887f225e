// What is gathered at the end of a run, and the memory for it.

#include "program/outputs.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "program/memory.hpp"
#include "thread_ranks.hpp"

namespace heat3d {
namespace {

TEST(outputs, the_field_is_gathered_in_windows_of_any_size) {
  triple const domain{7, 5, 9};
  process_grid const grid{2, 2, 3};
  for (std::int64_t const window : {1, 4, 7, 30, 1 << 16}) {
    std::vector<double> whole(7 * 5 * 9, -1);
    thread_job job(12);
    run_ranks(job, [&](thread_rank& ranks) {
      auto const own = make_block(domain, grid, ranks.rank());
      std::vector<double> mine;
      for (auto z = own.cells.low[2]; z < own.cells.high[2]; ++z) {
        for (auto y = own.cells.low[1]; y < own.cells.high[1]; ++y) {
          for (auto x = own.cells.low[0]; x < own.cells.high[0]; ++x)
            mine.push_back(static_cast<double>(position(domain, x, y, z)));
        }
      }
      std::span<double> const room = ranks.rank() == 0 ? std::span(whole) : std::span<double>();
      gather_field(domain, grid, ranks, mine, room, window);
    });
    std::vector<double> expected(whole.size());
    std::iota(expected.begin(), expected.end(), 0.0);
    EXPECT_EQ(whole, expected) << window;
  }
}

TEST(outputs, windows_of_many_ranks_are_small) {
  EXPECT_EQ(gather_window(1), 1 << 16);
  EXPECT_EQ(gather_window(1024), 8192);
  EXPECT_EQ(gather_window(1 << 20), 1024);
}

TEST(outputs, what_is_gathered_counts_as_memory) {
  options o;
  o.physics.domain = {10, 20, 30};
  o.slice_axis = "x";
  EXPECT_EQ(gathered_bytes(o), 0);
  o.slice = "x.png";
  EXPECT_EQ(gathered_bytes(o), 2 * 20 * 30 * 8);
  o.dump = "x";
  EXPECT_EQ(gathered_bytes(o), 10 * 20 * 30 * 8);

  thread_job job(2);
  run_ranks(job, [&](thread_rank& ranks) {
    auto const problem = [&](double gathered) {
      return memory_problem(o.physics.domain, {1, 1, 2}, ranks, false, gathered);
    };
    EXPECT_FALSE(problem(0).has_value());
    auto const found = problem(1e18);
    EXPECT_EQ(found.has_value(), ranks.rank() == 0);
    EXPECT_EQ(found.value_or("").find("--dump") != std::string::npos, ranks.rank() == 0);
  });
}

}  // namespace
}  // namespace heat3d
