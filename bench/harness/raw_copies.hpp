#pragma once

/// Copies by the CUDA driver alone, between memory of two processes: what the library's copies are held
/// against. A copy and an event after it, on one stream; peers open memory by IPC handle. The driver is
/// opened at run time, so that no toolkit is needed here either.

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/cuda/api.hpp"

namespace atl::bench {

class raw_copies {
 public:
  using pointer = memory::cuda::pointer;
  using handle = memory::cuda::ipc_handle;

  /// Memory on a device of this process, by its number modulo how many there are, whose primary context
  /// becomes current here, as in a program that has chosen its device. Says what the driver refused;
  /// empty if nothing.
  std::string open(int device, std::size_t bytes);
  /// Opens the peer's memory.
  std::string open_peer(handle const& peers);
  void close();

  [[nodiscard]] handle const& share() const { return shared_; }
  [[nodiscard]] pointer own() const { return own_; }
  [[nodiscard]] pointer peer() const { return peer_; }
  /// As the device sees host memory of this process.
  [[nodiscard]] pointer of_host(void* memory) const;

  void copy(pointer to, pointer from, std::size_t bytes) {
    failed_ |= cu_.copy_async(to, from, bytes, stream_);
  }
  /// Writes a growing number to a word that of_host() gave, after all copies before.
  void write(pointer word) { failed_ |= cu_.stream_write64(stream_, word, ++value_, 0); }

  // Signals are the first word behind `bytes` of memory.

  void next_step() { ++step_; }
  /// Copies between the beginnings of both memories, and writes the step's number to the peer's signal.
  void copy_and_signal(std::size_t bytes) {
    copy(peer_, own_, bytes);
    failed_ |= cu_.stream_write64(stream_, peer_ + signal_, step_, 0);
  }
  void wait_for_signal() {
    failed_ |= cu_.stream_wait64(stream_, own_ + signal_, step_, memory::cuda::wait_at_least);
  }

  using graph = void*;
  /// What `f` starts in a stream, ready to be launched there.
  template <class F>
  graph capture(void* stream, F&& f) {
    begin_capture(stream);
    f();
    return end_capture(stream);
  }
  void launch(graph what, void* stream);
  void drop(graph gone);

  /// Until everything before is complete; the job ends if any of it failed.
  void wait();

 private:
  void begin_capture(void* stream);
  graph end_capture(void* stream);
  std::string problem(int code, char const* what) const;

  memory::cuda::api cu_;
  memory::cuda::context context_ = nullptr;
  memory::cuda::stream stream_ = nullptr;
  memory::cuda::event event_ = nullptr;
  int device_ = 0;
  pointer own_ = 0;
  pointer peer_ = 0;
  std::uint64_t value_ = 0;
  std::size_t signal_ = 0;
  std::uint64_t step_ = 0;
  void* library_ = nullptr;
  handle shared_{};
  int failed_ = 0;
};

}  // namespace atl::bench
