#pragma once

/// The ranks of the job, over which grids are spread, and their memory.

#include <cstddef>
#include <memory>

#include "grid/plan.hpp"

namespace hpgmg {

/// Some of the ranks; calls are collective among them.
class group {
 public:
  virtual ~group() = default;
  virtual double max(double mine) = 0;
  virtual double sum(double mine) = 0;
  virtual void barrier() = 0;
};

/// All ranks.
class job {
 public:
  virtual ~job() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual group& world() = 0;
  /// The ranks that want to be in it, for those; else null. Collective over the world.
  virtual std::unique_ptr<group> split(bool in) = 0;
  /// Zeroed memory of each rank, which its peers may reach. Collective over the world.
  virtual std::unique_ptr<arena> allocate(std::ptrdiff_t doubles) = 0;

  /// True on all ranks where it is true on one. Collective.
  bool any(bool mine) { return world().max(mine ? 1 : 0) != 0; }
};

}  // namespace hpgmg
