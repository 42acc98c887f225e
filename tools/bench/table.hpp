#pragma once

/// The rows as people read them.

#include <cstdio>
#include <string>
#include <string_view>

#include "result.hpp"

namespace atl::tools {

std::string time_text(double ns);

/// Columns depend on the suite.
void print_heading(std::FILE* to, std::string_view suite);
void print_row(std::FILE* to, result const& r);

}  // namespace atl::tools
