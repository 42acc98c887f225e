#pragma once

#include <memory>

#include "backends/kernel_exchange.hpp"
#include "backends/stretches.hpp"

namespace heat3d {

struct device_block;

/// Stretches that are a kernel each. Both stay.
std::unique_ptr<stretch_runner> make_kernel_stretches(device_block& block, kernel_exchange& exchange);

}  // namespace heat3d
