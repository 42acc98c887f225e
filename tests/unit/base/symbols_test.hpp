#pragma once

/// Functions that are inlined from a header, for symbols_test.cpp.

#include <vector>

#include "base/call_site.hpp"

namespace symbols_test {

inline constexpr int line_in_header = __LINE__ + 1;
[[gnu::always_inline]] inline std::vector<void*> from_header() { return atl::return_addresses(); }

}  // namespace symbols_test
