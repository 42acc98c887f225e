// Streams: what is started there, and how one learns that it has happened.

#include "memory/hip/hip_driver.hpp"
#include "memory/hip/scopes.hpp"

namespace atl::memory::hip {

gpu::stream hip_driver::make_stream(int device) {
  use const current(*this, device);
  stream made = nullptr;
  check(hip_.stream_create(&made, stream_non_blocking), "make a stream");
  return made;
}

void hip_driver::drop_stream(int device, gpu::stream s) noexcept {
  use const current(*this, device);
  good(hip_.stream_destroy(static_cast<stream>(s)));
}

gpu::event hip_driver::make_event(int device) {
  use const current(*this, device);
  event made = nullptr;
  check(hip_.event_create(&made, event_disable_timing), "make an event");
  return made;
}

void hip_driver::drop_event(int device, gpu::event e) noexcept {
  use const current(*this, device);
  good(hip_.event_destroy(static_cast<event>(e)));
}

void hip_driver::copy(int device, gpu::stream s, gpu::address to, gpu::address from, std::size_t bytes) {
  use const current(*this, device);
  check_copy(hip_.copy_async(place(to), place(from), bytes, copy_any, static_cast<stream>(s)),
             "starting a copy");
}

void hip_driver::copy_across(int device, gpu::stream s, gpu::address to, int to_device, gpu::address from,
                             int from_device, std::size_t bytes) {
  use const current(*this, device);
  check_copy(
      hip_.copy_peer_async(place(to), to_device, place(from), from_device, bytes, static_cast<stream>(s)),
      "starting a copy between devices");
}

bool hip_driver::can_write(int device) const noexcept {
  return attribute(device, attribute_stream_memory_operations) != 0;
}

void hip_driver::write(int device, gpu::stream s, gpu::address word, std::uint64_t value) {
  use const current(*this, device);
  check_copy(hip_.stream_write64(static_cast<stream>(s), place(word), value, 0), "announcing a copy");
}

void hip_driver::record(int device, gpu::event e, gpu::stream s) {
  use const current(*this, device);
  check_copy(hip_.event_record(static_cast<event>(e), static_cast<stream>(s)), "marking a copy");
}

bool hip_driver::happened(gpu::event e) {
  hip_result const code = hip_.event_query(static_cast<event>(e));
  if (code == success) return true;
  good(code);
  if (code != error_not_ready) fail_copy(code, "a copy");
  return false;
}

void hip_driver::check_stream(gpu::stream s) {
  hip_result const code = hip_.stream_query(static_cast<stream>(s));
  if (!good(code) && code != error_not_ready) fail_copy(code, "a copy");
}

}  // namespace atl::memory::hip
