#pragma once

/// What rank 0 prints.

#include "common/console.hpp"
#include "program/driver.hpp"
#include "program/options.hpp"
#include "program/results.hpp"

namespace heat3d {

/// Progress and summary on standard output. Prints nothing on other ranks.
class console : public apps::console {
 public:
  console(options const& o, int rank) : apps::console(rank, o.quiet), options_(o) {}

  void configuration(run_record const& record, block const& own) const;
  /// The line of each report: step, mean temperature times 1e9, elapsed time and time since the line before
  /// (the numbers of the reference program, in its order), then time per step, throughput,
  /// communication, time left.
  void line(report const& r);
  /// On a terminal, a line that is overwritten a few times per second; elsewhere nothing.
  void live(std::int64_t step, double elapsed_seconds);
  void summary(run_record const& record, phase_seconds const& phases, int bytes_per_cell) const;
  void probe(triple const& cell, double value) const;
  void checks(run_record const& record) const;

 private:
  options const& options_;
};

}  // namespace heat3d
