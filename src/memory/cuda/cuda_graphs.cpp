// Graphs that the library captures for programs, and launches.

#include "memory/cuda/cuda_driver.hpp"
#include "memory/cuda/scopes.hpp"

namespace atl::memory::cuda {

/// What this thread may not do then, the driver refuses; other threads go on.
bool cuda_driver::begin_capture(int device, gpu::stream s) {
  use const current(*this, device);
  cu_result const code = cu_.stream_begin_capture(static_cast<stream>(s), capture_thread_local);
  if (code != success) fail_stream(code, "the begin of a capture", s, device);
  return true;
}

void* cuda_driver::end_capture(int device, gpu::stream s) {
  use const current(*this, device);
  graph captured = nullptr;
  cu_result const end = cu_.stream_end_capture(static_cast<stream>(s), &captured);
  if (end != success) fail_stream(end, "the end of a capture", s, device);
  graph_executable made = nullptr;
  cu_result const code = cu_.graph_instantiate(&made, captured, 0);
  if (code != success) fail_stream(code, "making an executable graph of what was captured", s, device);
  cu_.graph_destroy(captured);
  return made;
}

/// What the driver has refused meanwhile has left no graph to it, and it does not say any more which context the stream is of.
void cuda_driver::abandon_capture(gpu::stream s) noexcept {
  graph captured = nullptr;
  cu_.stream_end_capture(static_cast<stream>(s), &captured);
  if (captured != nullptr) cu_.graph_destroy(captured);
}

void cuda_driver::launch(int device, void* made, gpu::stream s) {
  use const current(*this, device);
  cu_result const code = cu_.graph_launch(static_cast<graph_executable>(made), static_cast<stream>(s));
  if (code != success) fail_stream(code, "the launch of a graph", s, device);
}

void cuda_driver::drop_graph(int device, void* made) noexcept {
  use const current(*this, device, std::nothrow);
  cu_.graph_executable_destroy(static_cast<graph_executable>(made));
}

}  // namespace atl::memory::cuda
