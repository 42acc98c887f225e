#include "memory/gpu/no_room.hpp"

#include "base/error.hpp"

namespace atl::memory::gpu {

void no_room(driver const& with, int device, char const* what, segment_error const& why) {
  fatal(
      "device",
      "%s device %d gives this process no %s, as copies and streams need: %s. If it is full, leave some of its memory free: smaller segments, "
      "fewer ranks and other programs there",
      to_string(with.id()), device, what, why.what());
}

stream make_stream(driver& with, int device) {
  try {
    return with.make_stream(device);
  } catch (segment_error const& error) {
    no_room(with, device, "stream", error);
  }
}

event make_event(driver& with, int device) {
  try {
    return with.make_event(device);
  } catch (segment_error const& error) {
    no_room(with, device, "event", error);
  }
}

}  // namespace atl::memory::gpu
