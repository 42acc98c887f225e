#pragma once

#include <memory>

#include "backends/stream_planes.hpp"
#include "backends/stretches.hpp"

namespace heat3d {

struct device_block;

/// Stretches on a device whose planes travel in streams. Both stay.
std::unique_ptr<stretch_runner> make_device_stretches(device_block& block, stream_planes& planes);

}  // namespace heat3d
