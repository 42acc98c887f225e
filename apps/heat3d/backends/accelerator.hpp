#pragma once

/// A device as the device back end uses it: streams of kernels and events between them. Implemented for CUDA
/// and, for tests without a GPU, by loops on the host that run in an order of their own.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/tiles.hpp"
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
  sent = 3 * face_n,    ///< plane of this face is where the neighbour wants it
  joined = 4 * face_n,  ///< stream of the inner cells: everything of the step before is done
  begun,                ///< the same stream: the steps before a stretch are done
  ended,                ///< and those of the stretch
};
inline constexpr int mark_n = 4 * face_n + 3;
inline constexpr mark of_face(mark m, face f) {
  return static_cast<mark>(static_cast<int>(m) + static_cast<int>(f));
}

/// Work in streams that was captured, to be started many times.
class captured_work {
 public:
  virtual ~captured_work() = default;
  captured_work(captured_work const&) = delete;
  captured_work& operator=(captured_work const&) = delete;

  /// At the end of the stream of the inner cells.
  virtual void start() = 0;

 protected:
  captured_work() = default;
};

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
  /// Computes all cells that have a neighbour in a halo. Words are used only where they can be.
  virtual void sweep_boundary(face stream, sweep_work const& work, boundary_work const& boundary,
                              plane_words const& words) = 0;
  /// Whether kernels may await halos, and say that planes are there.
  virtual bool uses_words() const { return false; }
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
  /// Once, before anything is captured: sweeps note when their step began, in up to that many steps after restart().
  virtual void time_steps(std::int64_t n) = 0;
  /// Notes the end of the last step, of this parity, in the stream of the inner cells.
  virtual void stamp(int parity) = 0;
  /// How long the first `n` steps after restart() took. With all streams idle. Waits.
  virtual std::vector<double> step_seconds(std::int64_t n) const = 0;

  /// What a kernel of many steps uses, which somebody else starts: flags of its tiles, and for each of its blocks of threads a slot to
  /// add to what it radiates. Once, after time_steps(). Nothing where no such kernel runs.
  struct step_tables {
    tile_flags flags;
    compensated_sum* slots;
  };
  virtual step_tables tables_for_steps(tiling const& /*tiles*/, int /*blocks*/) { return {}; }

  /// The stream for who else starts something there: a cudaStream_t, or what a simulated device has instead.
  virtual void* native(int stream) = 0;
  /// What is started in the stream of the inner cells, and in those that wait for it, is captured from now on; they have come
  /// together there before the end. False where nothing can be captured: then it must be started anew each time.
  virtual bool begin_capture() { return false; }
  virtual std::unique_ptr<captured_work> end_capture() { return nullptr; }

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
