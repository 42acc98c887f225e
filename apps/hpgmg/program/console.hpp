#pragma once

/// What rank 0 prints.

#include "program/options.hpp"
#include "program/record.hpp"

namespace hpgmg {

/// Progress and results on standard output. Prints nothing on other ranks.
class console {
 public:
  console(options const& o, int rank);

  /// The grids, when they are built.
  void configuration(run_record const& run) const;
  /// On a terminal, a line that is overwritten a few times per second; elsewhere nothing.
  void live(size_record const& size, int done, int count);
  /// A size: its times, and where they went on each level.
  void size(size_record const& size);
  void summary(run_record const& run) const;
  void checks(run_record const& run) const;

  /// False when some of it could not be written, as on a full disk.
  static bool flush();

 private:
  void clear_live();

  options const& options_;
  bool prints_;
  bool is_terminal_;
  double last_live_ = 0;
  double size_began_ = 0;
  bool live_shown_ = false;
};

}  // namespace hpgmg
