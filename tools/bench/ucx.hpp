#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace atl::tools {

/// Runs UCX's own measuring tool on GPU memory of two processes. `take` gets the key of the library's row
/// that a figure stands beside, the size, and nanoseconds an operation. False if it gave no figure at all.
bool measure_ucx(std::string const& ucx_perftest, std::vector<std::size_t> const& sizes, bool quick,
                 std::function<void(std::string const& key, std::size_t bytes, double ns)> const& take);

}  // namespace atl::tools
