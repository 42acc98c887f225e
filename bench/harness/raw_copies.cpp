#include "raw_copies.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "group.hpp"

namespace atl::bench {

namespace cuda = memory::cuda;

std::string raw_copies::problem(int code, char const* what) const {
  if (code == cuda::success) return "";
  char const* words = nullptr;
  if (cu_.error_string(code, &words) != cuda::success) words = nullptr;
  return std::string(what) + ": " + (words != nullptr ? words : "error " + std::to_string(code));
}

std::string raw_copies::open(int device, std::size_t bytes) {
  char const* const chosen = std::getenv("ATOLL_CUDA_DRIVER");
  char const* const library = chosen != nullptr ? chosen : "libcuda.so.1";
  if (char const* const absent = cu_.load(library)) return absent;
  library_ = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  int devices = 0;
  std::string why = problem(cu_.init(0), "cuInit");
  if (why.empty()) why = problem(cu_.device_count(&devices), "cuDeviceGetCount");
  if (why.empty() && devices == 0) why = "no device";
  if (why.empty()) device_ = device % devices;
  if (why.empty()) why = problem(cu_.primary_retain(&context_, device_), "cuDevicePrimaryCtxRetain");
  if (why.empty()) why = problem(cu_.context_push(context_), "cuCtxPushCurrent");
  signal_ = (bytes + 7) / 8 * 8;
  if (why.empty()) why = problem(cu_.memory_alloc(&own_, signal_ + 8), "cuMemAlloc");
  if (why.empty()) why = problem(cu_.ipc_get(&shared_, own_), "cuIpcGetMemHandle");
  if (why.empty()) why = problem(cu_.stream_create(&stream_, cuda::stream_non_blocking), "cuStreamCreate");
  if (why.empty()) why = problem(cu_.event_create(&event_, cuda::event_disable_timing), "cuEventCreate");
  if (why.empty()) why = problem(cu_.stream_write64(stream_, own_ + signal_, 0, 0), "cuStreamWriteValue64");
  if (why.empty()) wait();
  return why;
}

std::string raw_copies::open_peer(handle const& peers) {
  return problem(cu_.ipc_open(&peer_, peers, cuda::ipc_lazy_peer_access), "cuIpcOpenMemHandle");
}

void raw_copies::close() {
  if (context_ == nullptr) return;
  if (peer_ != 0) cu_.ipc_close(peer_);
  if (own_ != 0) cu_.memory_free(own_);
  if (event_ != nullptr) cu_.event_destroy(event_);
  if (stream_ != nullptr) cu_.stream_destroy(stream_);
  cu_.context_pop(&context_);
  cu_.primary_release(device_);
  context_ = nullptr;
}

raw_copies::pointer raw_copies::of_host(void* memory) const {
  pointer seen = 0;
  return cu_.host_device_pointer(&seen, memory, 0) == cuda::success ? seen
                                                                    : reinterpret_cast<pointer>(memory);
}

namespace {

/// Calls a function of the driver that the library does not use.
template <class... Parameters>
int call(void* library, char const* name, Parameters... parameters) {
  auto* const function = reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name));
  return function == nullptr ? cuda::error_not_supported : function(parameters...);
}

}  // namespace

void raw_copies::begin_capture(void* stream) {
  failed_ |= call(library_, "cuStreamBeginCapture_v2", stream, static_cast<int>(cuda::capture_relaxed));
}

raw_copies::graph raw_copies::end_capture(void* stream) {
  void* made = nullptr;
  void* executable = nullptr;
  failed_ |= call(library_, "cuStreamEndCapture", stream, &made);
  failed_ |= call(library_, "cuGraphInstantiateWithFlags", &executable, made, 0ULL);
  failed_ |= call(library_, "cuGraphDestroy", made);
  return executable;
}

void raw_copies::launch(graph what, void* stream) {
  failed_ |= call(library_, "cuGraphLaunch", what, stream);
}

void raw_copies::drop(graph gone) { failed_ |= call(library_, "cuGraphExecDestroy", gone); }

void raw_copies::wait() {
  failed_ |= cu_.event_record(event_, stream_);
  int code = cuda::error_not_ready;
  while (code == cuda::error_not_ready) code = cu_.event_query(event_);
  failed_ |= code;
  if (failed_ != cuda::success)
    wrong_data("the driver's own copies failed: " + problem(failed_, "last code"));
}

}  // namespace atl::bench
