#pragma once

#include <string>
#include <vector>

#include "machine.hpp"
#include "result.hpp"

namespace atl::tools {

/// Throws std::runtime_error unless the file can be written. For a look before the work.
void check_writable(std::string const& file);

/// Write to a file, or to standard output if its name is "-". Throw std::runtime_error if that fails.
void write_json(std::string const& file, configuration const& c, std::vector<result> const& results);
void write_csv(std::string const& file, std::vector<result> const& results);

}  // namespace atl::tools
