#pragma once

/// What back ends on CUDA devices have in common: streams, events and plain copies of the CUDA run time. The
/// kernels are added by those that derive from it.

#include <cuda_runtime.h>

#include <array>
#include <cstdint>

#include "backends/accelerator.hpp"
#include "backends/tiles.hpp"

namespace heat3d {

/// Ends this rank (device_failed), or throws std::bad_alloc.
void check_cuda(cudaError_t status, char const* what);

/// Makes the device of `setup` the current one of this thread.
class cuda_streams : public accelerator {
 public:
  void copy_in(face stream, double* to, double const* host, std::int64_t n) override;
  void copy_out(face stream, double* host, double const* from, std::int64_t n) override;
  void record(mark m, int stream) override;
  void wait(int stream, mark m) override;
  bool reached(mark m) override;
  void synchronize() override;
  void restart() override;
  void time_steps(std::int64_t n) override;
  std::vector<double> step_seconds(std::int64_t n) const override;
  void* native(int stream) override { return streams_[stream]; }
  bool begin_capture() override;
  std::unique_ptr<captured_work> end_capture() override;
  void load(double* to, double const* host, std::int64_t n) override;
  void store(double* host, double const* from, std::int64_t n) const override;
  bool pin(void const* memory, std::int64_t bytes) override;
  void unpin(void const* memory) override;

 protected:
  explicit cuda_streams(backend_setup const& setup);
  ~cuda_streams() override;

  /// Puts the mark that a sum is complete at the end of a stream.
  void record_sum(int stream);
  void wait_for_sum();

  /// What sweeps are told beside their work; those who have the kernels add the tiles.
  tile_flags flags_{};

  cudaStream_t stream(int number) const { return streams_[number]; }
  int processors() const { return processors_; }

 private:
  std::array<cudaStream_t, stream_n> streams_{};
  std::array<cudaEvent_t, mark_n> marks_{};
  cudaEvent_t summed_{};
  int processors_ = 0;
};

}  // namespace heat3d
