#pragma once

/// Many steps at once: where a back end and an exchange need no host in between, the host asks for all steps until it
/// wants to know something again.

#include <cstdint>
#include <span>
#include <vector>

#include "backends/backend.hpp"

namespace heat3d {

/// Steps that follow each other, with the same constants.
struct stretch {
  std::int64_t step_n;
  coefficients k;
  bool sum_field;  ///< before the first one
};

/// Runs the steps of one block, and its part of the exchange. All ranks make the same calls in the same order. None waits
/// but restart(), prepare() and step_seconds(), since others may need what this rank's host does for them: ask again, and
/// make progress.
class stretch_runner {
 public:
  virtual ~stretch_runner() = default;
  stretch_runner(stretch_runner const&) = delete;
  stretch_runner& operator=(stretch_runner const&) = delete;

  /// A field was loaded, and its first step is next. Collective; all ranks are done.
  virtual void restart() = 0;
  /// What takes long: once, before the first start(). At most `step_n` steps follow a restart(), with one of these constants
  /// each.
  virtual void prepare(std::int64_t step_n, std::span<coefficients const> constants) = 0;

  /// The stretch begins when the one before it is done. One may be under way, so that a device never waits for the host.
  virtual void start(stretch const& next) = 0;
  /// True when the stretch that was started last has begun, and its sums are there.
  virtual bool begun() = 0;
  /// What that one asked for: the sum of the field, and in `earlier` what was radiated in all steps before.
  virtual block_sums sums() = 0;
  /// True when all that was started is done.
  virtual bool done() = 0;

  /// How long each step since restart() took, by the clock of who ran it. When all are done.
  virtual std::vector<double> step_seconds() = 0;

 protected:
  stretch_runner() = default;
};

}  // namespace heat3d
