#pragma once

/// Files of a run: an SQLite file that many jobs may add to at once, and one of JSON.

#include <string>

#include "common/database.hpp"
#include "common/machine.hpp"
#include "program/record.hpp"

namespace hpgmg {

/// An open results file. Made before the run, so that hours of work are not lost to a wrong name.
class results_file {
 public:
  /// Creates the file and its tables when they are missing. Throws apps::file_problem.
  explicit results_file(std::string const& path);

  /// Adds one run in one transaction. Waits for other writers. Throws apps::file_problem.
  void add(run_record const& run);

 private:
  apps::machine machine_;
  apps::database database_;
};

/// The numbers of the same tables, but for the machine's and the lines of source.
void write_json(apps::output_file& file, run_record const& run);

}  // namespace hpgmg
