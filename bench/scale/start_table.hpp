#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "scale/start.hpp"

namespace atl::scale {

/// Of starts, on standard output and, unless it has no name, in a file of comma-separated values.
class start_table {
 public:
  /// Throws std::runtime_error if the file cannot be written.
  start_table(std::vector<std::string> networks, std::string const& file);
  void line(job_shape const& shape, start_tally const& t, double took);

 private:
  std::vector<std::string> networks_;  ///< whose times are shown
  std::ofstream file_;
};

}  // namespace atl::scale
