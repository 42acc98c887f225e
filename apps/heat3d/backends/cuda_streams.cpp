// Compiled by the C++ compiler: no kernels here.

#include "backends/cuda_streams.hpp"

#include <new>
#include <string>
#include <vector>

namespace heat3d {

namespace {

constexpr std::size_t numbers_bytes = 2 * sizeof(std::uint32_t);

class cuda_graph final : public captured_work {
 public:
  cuda_graph(cudaGraph_t captured, cudaStream_t stream) : stream_(stream) {
    // Each kernel with the priority of the stream that it was captured in.
    check_cuda(cudaGraphInstantiateWithFlags(&executable_, captured, cudaGraphInstantiateFlagUseNodePriority),
               "graph");
    cudaGraphDestroy(captured);
    // Or the first launch would do it.
    check_cuda(cudaGraphUpload(executable_, stream), "graph");
  }
  ~cuda_graph() override { cudaGraphExecDestroy(executable_); }

  void start() override { check_cuda(cudaGraphLaunch(executable_, stream_), "graph"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_{};
};

}  // namespace

void check_cuda(cudaError_t status, char const* what) {
  if (status == cudaSuccess) return;
  if (status == cudaErrorMemoryAllocation) throw std::bad_alloc();
  device_failed(std::string(what) + ": " + cudaGetErrorString(status));
}

cuda_streams::cuda_streams(backend_setup const& setup) {
  int const device = setup.device->device();
  check_cuda(cudaSetDevice(device), "device");
  check_cuda(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device), "device");
  int least = 0;
  int greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "device");
  for (int s = 0; s < stream_n; ++s) {
    // Cells at faces go first: neighbours wait for them.
    check_cuda(cudaStreamCreateWithPriority(&streams_[s], cudaStreamNonBlocking,
                                            s == inner_stream ? least : greatest),
               "stream");
  }
  for (auto& m : marks_) check_cuda(cudaEventCreateWithFlags(&m, cudaEventDisableTiming), "event");
  check_cuda(cudaEventCreateWithFlags(&summed_, cudaEventDisableTiming), "event");
  check_cuda(cudaMalloc(&flags_.clock.numbers, numbers_bytes), "memory");
  restart();
}

cuda_streams::~cuda_streams() {
  for (auto* s : streams_) cudaStreamDestroy(s);
  for (auto* m : marks_) cudaEventDestroy(m);
  cudaEventDestroy(summed_);
  cudaFree(flags_.clock.numbers);
  cudaFree(flags_.clock.began);
}

void cuda_streams::copy_in(face stream, double* to, double const* host, std::int64_t n) {
  check_cuda(cudaMemcpyAsync(to, host, n * sizeof(double), cudaMemcpyHostToDevice, streams_[stream]), "copy");
}

void cuda_streams::copy_out(face stream, double* host, double const* from, std::int64_t n) {
  check_cuda(cudaMemcpyAsync(host, from, n * sizeof(double), cudaMemcpyDeviceToHost, streams_[stream]),
             "copy");
}

void cuda_streams::record(mark m, int stream) {
  check_cuda(cudaEventRecord(marks_[static_cast<int>(m)], streams_[stream]), "event");
}

void cuda_streams::wait(int stream, mark m) {
  check_cuda(cudaStreamWaitEvent(streams_[stream], marks_[static_cast<int>(m)], 0), "event");
}

bool cuda_streams::reached(mark m) {
  auto const status = cudaEventQuery(marks_[static_cast<int>(m)]);
  if (status == cudaErrorNotReady) return false;
  check_cuda(status, "kernels");
  return true;
}

void cuda_streams::record_sum(int stream) { check_cuda(cudaEventRecord(summed_, streams_[stream]), "sum"); }

void cuda_streams::wait_for_sum() { check_cuda(cudaEventSynchronize(summed_), "sum"); }

void cuda_streams::synchronize() { check_cuda(cudaDeviceSynchronize(), "kernels"); }

void cuda_streams::restart() {
  check_cuda(cudaMemset(flags_.clock.numbers, 0, numbers_bytes), "steps");
  synchronize();
}

void cuda_streams::time_steps(std::int64_t n) {
  check_cuda(cudaMalloc(&flags_.clock.began, (n + 1) * sizeof(std::uint64_t)), "memory");
  flags_.clock.began_n = static_cast<std::uint32_t>(n + 1);
  // A kernel that is new to the device may have to wait for what runs there.
  stamp(0);
  synchronize();
}

std::vector<double> cuda_streams::step_seconds(std::int64_t n) const {
  std::vector<std::uint64_t> began(n + 1);
  check_cuda(
      cudaMemcpy(began.data(), flags_.clock.began, (n + 1) * sizeof(std::uint64_t), cudaMemcpyDeviceToHost),
      "copy");
  return seconds_between(began);
}

bool cuda_streams::begin_capture() {
  // Relaxed: kernels that are used for the first time may have to be brought to the device.
  check_cuda(cudaStreamBeginCapture(streams_[inner_stream], cudaStreamCaptureModeRelaxed), "capture");
  return true;
}

std::unique_ptr<captured_work> cuda_streams::end_capture() {
  cudaGraph_t captured = nullptr;
  check_cuda(cudaStreamEndCapture(streams_[inner_stream], &captured), "capture");
  return std::make_unique<cuda_graph>(captured, streams_[inner_stream]);
}

void cuda_streams::load(double* to, double const* host, std::int64_t n) {
  check_cuda(cudaMemcpy(to, host, n * sizeof(double), cudaMemcpyHostToDevice), "copy");
}

void cuda_streams::store(double* host, double const* from, std::int64_t n) const {
  check_cuda(cudaMemcpy(host, from, n * sizeof(double), cudaMemcpyDeviceToHost), "copy");
}

bool cuda_streams::pin(void const* memory, std::int64_t bytes) {
  // Memory that somebody else has pinned, or that cannot be, is copied all the same.
  bool const done =
      cudaHostRegister(const_cast<void*>(memory), bytes, cudaHostRegisterPortable) == cudaSuccess;
  (void)cudaGetLastError();
  return done;
}

void cuda_streams::unpin(void const* memory) {
  cudaHostUnregister(const_cast<void*>(memory));
  (void)cudaGetLastError();
}

namespace {

/// Memory for programs that do not use the library: nobody else copies to or from it.
class cuda_memory final : public device_memory {
 public:
  explicit cuda_memory(int number) : device_(number) {
    int n = 0;
    check_cuda(cudaGetDeviceCount(&n), "CUDA devices");
    device_ = number % n;
    check_cuda(cudaSetDevice(device_), "device");
  }
  ~cuda_memory() override {
    for (auto* p : pieces_) cudaFree(p);
  }
  int device() const override { return device_; }
  std::string name() const override { return properties().name; }
  std::string uuid() const override {
    auto const id = properties().uuid;
    return {id.bytes, sizeof id.bytes};
  }
  double* allocate(std::int64_t n) override {
    double* p = nullptr;
    check_cuda(cudaMalloc(&p, n * sizeof(double)), "memory");
    pieces_.push_back(p);
    return p;
  }
  void put(double* device, double const* host, std::int64_t n) override {
    check_cuda(cudaMemcpy(device, host, n * sizeof(double), cudaMemcpyHostToDevice), "copy");
  }
  void get(double* host, double const* device, std::int64_t n) override {
    check_cuda(cudaMemcpy(host, device, n * sizeof(double), cudaMemcpyDeviceToHost), "copy");
  }
  void finish() override {}

 private:
  cudaDeviceProp properties() const {
    cudaDeviceProp found{};
    check_cuda(cudaGetDeviceProperties(&found, device_), "device");
    return found;
  }

  int device_;
  std::vector<double*> pieces_;
};

}  // namespace

std::unique_ptr<device_memory> make_cuda_memory(int number) { return std::make_unique<cuda_memory>(number); }

}  // namespace heat3d
