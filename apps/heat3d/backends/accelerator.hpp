#pragma once

/// A device as the device back end uses it: streams of kernels and events between them. Implemented for CUDA
/// and, for tests without a GPU, by loops on the host that run in an order of their own.

#include <cstdint>
#include <memory>
#include <string>

#include "backends/backend.hpp"
#include "problem/stencil.hpp"

namespace heat3d {

/// Streams: one per face, numbered as the faces are, and one for the inner cells.
inline constexpr int inner_stream = face_n;
inline constexpr int stream_n = face_n + 1;

/// Points in streams. Those of a face are in the stream of that face.
enum class mark : int {
  surface = 0,          ///< cells at this face are computed
  packed = face_n,      ///< plane of this face is packed
  halo = 2 * face_n,    ///< halo of this face has come from the host
  joined = 3 * face_n,  ///< stream of the inner cells: everything of the step before is done
};
inline constexpr int mark_n = 3 * face_n + 1;
inline constexpr mark of_face(mark m, face f) {
  return static_cast<mark>(static_cast<int>(m) + static_cast<int>(f));
}

/// Calls start work at the end of a stream and return, unless they say that they wait.
class accelerator {
 public:
  virtual ~accelerator() = default;
  accelerator(accelerator const&) = delete;
  accelerator& operator=(accelerator const&) = delete;

  /// Computes cells none of which has a neighbour in a halo.
  virtual void sweep_inner(sweep_work const& work) = 0;
  /// Computes any cells.
  virtual void sweep_surface(face stream, sweep_work const& work) = 0;
  virtual void pack(face stream, plane_work const& work, double* to) = 0;
  virtual void copy_in(face stream, double* to, double const* host, std::int64_t n) = 0;
  virtual void copy_out(face stream, double* host, double const* from, std::int64_t n) = 0;

  /// Adds up a field, and takes what sweeps have added to the radiated sum so far. In the stream of the inner
  /// cells; while it runs no sweep may.
  virtual void sum(double const* field, std::int64_t n) = 0;
  struct sums {
    compensated_sum field;
    compensated_sum radiated;
  };
  /// The result of the last sum(). Waits.
  virtual sums finish_sum() = 0;

  /// Puts a mark at the end of a stream; the one put there before is forgotten.
  virtual void record(mark m, int stream) = 0;
  /// What is started in `stream` later waits for the mark as it was recorded last; at once if never.
  virtual void wait(int stream, mark m) = 0;
  /// True when the mark, as recorded last, was reached.
  virtual bool reached(mark m) = 0;
  /// Waits for all streams.
  virtual void synchronize() = 0;

  /// A field was loaded: the next sweep is of step 0. With all streams idle. Waits.
  virtual void restart() = 0;
  /// Copies with all streams idle. Wait.
  virtual void load(double* to, double const* host, std::int64_t n) = 0;
  virtual void store(double* host, double const* from, std::int64_t n) const = 0;
  /// Host memory that copy_in and copy_out will use often. True: it must be unpinned, with all streams idle, before it can be other
  /// memory, or copies to and from what lies there then reach the old memory.
  virtual bool pin(void const*, std::int64_t /*bytes*/) { return false; }
  virtual void unpin(void const*) {}

 protected:
  accelerator() = default;
};

std::unique_ptr<backend> make_device_backend(backend_setup const& setup, std::unique_ptr<accelerator> device);

/// Memory of the CUDA run time on the device with this number, modulo how many there are.
std::unique_ptr<device_memory> make_cuda_memory(int number);

/// The device fails; `what` says at what and why. Ends this rank with status 2, and the launcher ends the
/// others. An exception would not do: the objects that it passes end collectively, and nobody else is there.
[[noreturn]] void device_failed(std::string const& what);

}  // namespace heat3d
