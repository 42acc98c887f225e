#pragma once

/// The command line.

#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "problem/decomposition.hpp"
#include "problem/problem.hpp"

namespace heat3d {

struct options {
  problem physics;
  std::int64_t print_interval = 100;
  std::int64_t reduce_interval = 0;  ///< steps between sums over all ranks; 0: those that are printed
  std::optional<process_grid> grid;
  std::string exchange = "rma";
  std::string backend = "plain-fused";
  std::int64_t warmup = 3;  ///< steps run and thrown away before the clock starts
  std::string results;      ///< SQLite file
  std::string times;        ///< file of step durations
  std::string slice;        ///< picture of a plane of the final field
  std::string slice_axis = "z";
  std::int64_t slice_index = -1;  ///< -1: the middle
  std::string dump;               ///< file of the final field, raw doubles, x fastest
  std::vector<std::string> probe_words;
  std::vector<triple> probes;  ///< cells to print
  bool check = true;
  bool quiet = false;
  bool keep_denormals = false;

  /// True in steps whose mean is printed, and in those that are summed over all ranks.
  bool is_printed(std::int64_t step) const {
    return step % print_interval == 0 || step == physics.final_step();
  }
  bool is_reduced(std::int64_t step) const {
    return is_printed(step) || (reduce_interval > 0 && step % reduce_interval == 0);
  }
};

using parsed = apps::parsed<options>;

/// Every rank gets the same answer; nothing is printed here.
parsed parse_options(int argc, char const* const* argv);

}  // namespace heat3d
