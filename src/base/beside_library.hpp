#pragma once

/// Files that are installed with the library and found by it: modules, and programs that it starts.

#include <string>
#include <string_view>
#include <vector>

namespace atl {

/// Where the file with that name (`atoll/libatoll-ucx.so`) may lie, the likeliest first: beside the shared library; or, where the library is
/// part of a program in `bin`, in the library folder beside that.
std::vector<std::string> places_beside_library(std::string_view name);

}  // namespace atl
