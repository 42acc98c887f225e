// Streams: what is started there, and how one learns that it has happened.

#include <atoll/base/check.hpp>

#include "base/error.hpp"
#include "memory/hip/hip_driver.hpp"
#include "memory/hip/scopes.hpp"

namespace atl::memory::hip {

void hip_driver::fail_stream(hip_result code, char const* what, gpu::stream s, int device) const {
  fatal(
      s.programs ? "stream" : "copy",
      "HIP: %s in %sstream %p of device %d failed: %s. An error that the runtime reports here may come from "
      "an earlier kernel of the program",
      what, s.programs ? "" : "the library's ", s.handle, device, words(code).c_str());
}

gpu::stream hip_driver::make_stream(int device) {
  note_used(device);
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
  check_stream(hip_.copy_async(place(to), place(from), bytes, copy_any, static_cast<stream>(s)),
               "starting a copy", s, device);
}

void hip_driver::copy_across(int device, gpu::stream s, gpu::address to, int to_device, gpu::address from,
                             int from_device, std::size_t bytes) {
  use const current(*this, device);
  check_stream(
      hip_.copy_peer_async(place(to), to_device, place(from), from_device, bytes, static_cast<stream>(s)),
      "starting a copy between devices", s, device);
}

bool hip_driver::can_write(int device) const noexcept {
  return attribute(device, attribute_stream_memory_operations) != 0;
}

void hip_driver::write(int device, gpu::stream s, gpu::address word, std::uint64_t value) {
  use const current(*this, device);
  hip_result const code = hip_.stream_write64(static_cast<stream>(s), place(word), value, 0);
  if (code != success) [[unlikely]]
    fail_stream(code, "a write of a word", s, device);
}

// Streams of programs

void hip_driver::need_streams() const {
  if (hip_.lacks_for_streams == nullptr) [[likely]]
    return;
  check_failed("stream: streams of HIP devices cannot be used: this runtime (%s) lacks %s, which HIP 6 has",
               version().c_str(), hip_.lacks_for_streams);
}

int hip_driver::device_of(gpu::stream s) {
  need_streams();
  int device = -1;
  hip_result const code = hip_.stream_device(static_cast<stream>(s), &device);
  if (!good(code)) {
    check_failed(
        "stream: %p is no stream of a HIP device: %s. The null stream is that of the thread's current device",
        s.handle, words(code).c_str());
  }
  if (is_captured(s)) {
    check_failed(
        "stream: stream %p of HIP device %d is captured into a graph, which works with CUDA alone: communicate "
        "before the capture or after its end",
        s.handle, device);
  }
  note_used(device);
  return device;
}

bool hip_driver::is_captured(gpu::stream s) {
  need_streams();
  int status = 0;
  // A common stream beside one that is captured may not be asked.
  return !good(hip_.stream_is_capturing(static_cast<stream>(s), &status)) || status != capture_is_none;
}

bool hip_driver::is_pinned(void const* memory) {
  unsigned type = 0;
  return good(hip_.pointer_attribute(&type, pointer_memory_type, const_cast<void*>(memory))) &&
         (version_major(version_) < 6 || type != memory_type_none);
}

gpu::address hip_driver::make_gate(int device) {
  constexpr char const* cannot = "HIP device %d cannot let streams wait for signals or for the host: %s";
  if (attribute(device, attribute_stream_memory_operations) == 0)
    fatal("stream", cannot, device, "it lacks hipDeviceAttributeCanUseStreamWaitValue");
  use const current(*this, device);
  pointer made = nullptr;
  hip_result const code = hip_.memory_alloc_as(&made, sizeof(std::uint64_t), allocation_of_signal);
  if (!good(code)) {
    fatal("stream", cannot, device,
          format("it has no memory of signals (hipExtMallocWithFlags, hipMallocSignalMemory): %s",
                 words(code).c_str())
              .c_str());
  }
  return number(made);
}

void hip_driver::drop_gate(int device, gpu::address gate) noexcept {
  use const current(*this, device);
  good(hip_.memory_free(place(gate)));
}

void hip_driver::wait(int device, gpu::stream s, gpu::address gate, std::uint64_t value, comparison /*c*/) {
  use const current(*this, device);
  hip_result const code =
      hip_.stream_wait64(static_cast<stream>(s), place(gate), value, wait_at_least, ~std::uint64_t{0});
  if (code != success) [[unlikely]]
    fail_stream(code, "a wait", s, device);
}

void hip_driver::record(int device, gpu::event e, gpu::stream s) {
  use const current(*this, device);
  check_stream(hip_.event_record(static_cast<event>(e), static_cast<stream>(s)),
               s.programs ? "a mark" : "marking a copy", s, device);
}

bool hip_driver::happened(gpu::event e, int device, gpu::stream s) {
  hip_result const code = hip_.event_query(static_cast<event>(e));
  if (good(code)) return true;
  if (code != error_not_ready) fail_stream(code, s.programs ? "what was started" : "a copy", s, device);
  return false;
}

void hip_driver::check_stream(gpu::stream s, int device) {
  hip_result const code = hip_.stream_query(static_cast<stream>(s));
  if (!good(code) && code != error_not_ready) fail_stream(code, "a copy", s, device);
}

}  // namespace atl::memory::hip
