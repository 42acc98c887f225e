#pragma once

/// What rank 0 prints.

#include "common/console.hpp"
#include "program/options.hpp"
#include "program/record.hpp"

namespace hpgmg {

/// Progress and results on standard output. Prints nothing on other ranks.
class console : public apps::console {
 public:
  console(options const& o, int rank) : apps::console(rank, o.quiet), options_(o) {}

  /// The grids, when they are built.
  void configuration(run_record const& run) const;
  /// On a terminal, a line that is overwritten a few times per second; elsewhere nothing.
  void live(size_record const& size, int done, int count);
  /// A size: its times, and where they went on each level.
  void size(size_record const& size);
  void summary(run_record const& run) const;
  void checks(run_record const& run) const;

 private:
  options const& options_;
  double size_began_ = 0;
};

}  // namespace hpgmg
