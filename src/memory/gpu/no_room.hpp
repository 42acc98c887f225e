#pragma once

/// What calls need of a device that throw nothing, or run where nobody could catch it: where the driver refuses, the job ends, in words.

#include <atoll/base/config.hpp>

#include "memory/gpu/driver.hpp"

namespace atl::memory::gpu {

/// `what`: "an event".
[[noreturn]] ATOLL_COLD void no_room(driver const& with, int device, char const* what,
                                     segment_error const& why);

stream make_stream(driver& with, int device);
event make_event(driver& with, int device);

}  // namespace atl::memory::gpu
