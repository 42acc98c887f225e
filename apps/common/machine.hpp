#pragma once

/// What a run was made on, and whether others disturbed it: kept beside its results.

#include <cstdint>
#include <string>

#include "common/database.hpp"
#include "common/placement.hpp"

namespace apps {

/// Facts of rank 0's machine.
class machine {
 public:
  /// Looks at the load: make it before the run, whose own load would be seen otherwise.
  machine();

  /// Adds a row about a run of a table of runs, inside the caller's transaction. `busy`: threads that the job keeps busy, to
  /// tell a job that shares cores with others from one that has too few for itself. `waited`: the
  /// largest share that a rank's core_watch saw.
  void add(database& to, char const* runs, std::int64_t run, int busy, double waited,
           placement const& where) const;

  /// Creates the table where it is missing.
  static void prepare(database& in);

 private:
  double load_;
};

std::string processor_model();
std::string compiler();
/// The MPI that is linked to the program, or "none".
std::string mpi_library();

}  // namespace apps
