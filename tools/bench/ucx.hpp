#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "result.hpp"

namespace atl::tools {

/// Runs UCX's own measuring tool on GPU memory of two processes, once for each size, and hands over its rows.
/// False if one of its runs failed; the others are left out then.
bool measure_ucx(std::string const& ucx_perftest, std::vector<std::size_t> const& sizes,
                 std::function<void(result)> const& take);

}  // namespace atl::tools
