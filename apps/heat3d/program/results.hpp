#pragma once

/// Results of a run, in an SQLite file that many jobs may add to at once.

#include <string>
#include <vector>

#include "common/core_watch.hpp"
#include "common/database.hpp"
#include "common/machine.hpp"
#include "problem/checks.hpp"
#include "problem/decomposition.hpp"
#include "problem/problem.hpp"

namespace heat3d {

using apps::file_problem;

/// One row of table `runs`, and what hangs on it.
struct run_record {
  problem physics;
  process_grid grid{};
  int ranks = 1;
  std::string exchange;
  std::string backend;
  int devices = 0;     ///< how many the ranks share, 0: they compute on the host
  std::string device;  ///< what rank 0's is called
  std::int64_t warmup = 0;
  std::int64_t reduce_interval = 0;
  double seconds = 0;   ///< of the whole time loop
  double median_s = 0;  ///< duration of one step on rank 0, over steps
  double p10_s = 0;
  double p90_s = 0;
  double cells_per_s = 0;  ///< cell updates, over the whole loop
  double comm_share = 0;   ///< mean over ranks of the share of time spent communicating or waiting
  double mean = 0;         ///< last reported mean temperature
  apps::placement where;
  double waited = apps::core_watch::unknown;  ///< largest share of time that a rank was kept from a core
  bool checked = false;
  bool passed = false;
  double residual = 0;  ///< of the energy balance
  std::vector<check_result> checks;
  std::vector<double> step_max_s;    ///< duration of each step on the rank that took longest
  std::vector<double> step_rank0_s;  ///< on rank 0
};

/// An open results file. Made before the run, so that hours of work are not lost to a wrong name.
class results_file {
 public:
  /// Creates the file and its tables when they are missing. Throws file_problem.
  explicit results_file(std::string const& path);

  /// Adds one run in one transaction: all of it or nothing. Waits for other writers. Throws file_problem.
  void add(run_record const& record);

 private:
  apps::machine machine_;
  apps::database database_;
};

}  // namespace heat3d
