#pragma once

/// What a job of many ranks costs as a whole: its start and end beside message passing's, by the same launcher where that is
/// there, and the memory that a rank holds more than in a small job.

#include <string>
#include <vector>

#include "harness/record.hpp"
#include "options.hpp"
#include "programs.hpp"

namespace atl::tools {

class net_jobs {
 public:
  /// `prefix` of keys, as in "net.ucx.".
  net_jobs(programs const& p, bench_options const& o, std::string transport, std::string prefix);

  /// One of each. Returns the status of ours that failed, or 0.
  int run_once();

  /// What the rounds have brought.
  [[nodiscard]] std::vector<bench::record> rows() const;
  /// Of message passing; 0: not measured.
  [[nodiscard]] double mpi_start_ns() const;
  [[nodiscard]] int ranks() const { return options_.quick ? 4 : 64; }

 private:
  [[nodiscard]] bool by_mpirun() const;
  [[nodiscard]] command_line job(int ranks) const;
  /// Returns its status; adds what it says.
  int listen_to(int ranks, std::vector<double>& held) const;
  void measure_mpi();

  programs const& programs_;
  bench_options const& options_;
  std::string transport_;
  std::string prefix_;
  std::vector<double> start_ns_;
  std::vector<double> mpi_ns_;
  std::vector<double> held_;        ///< bytes a rank
  std::vector<double> small_held_;  ///< in a job of few ranks
};

}  // namespace atl::tools
