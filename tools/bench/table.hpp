#pragma once

/// The rows as people read them.

#include <cstdio>
#include <string>

#include "result.hpp"

namespace atl::tools {

std::string time_text(double ns);

void print_heading(std::FILE* to);
void print_row(std::FILE* to, result const& r);

}  // namespace atl::tools
