#pragma once

/// What the program needs from a communication library: ranks, sums, and the exchange of halos. Implemented
/// by upcxx_*.cpp, mpi_runtime.cpp and solo_runtime.cpp,
/// so that one driver times all of them on the same work.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/device_memory.hpp"
#include "backends/kernel_exchange.hpp"
#include "backends/stream_planes.hpp"
#include "common/failure.hpp"
#include "problem/decomposition.hpp"

namespace heat3d {

using apps::failure;

/// Moves the planes next to neighbours, once per step. Every rank makes the same calls in the same order:
/// outgoing / start for each face with a neighbour, arrived until it was true for each, wait,
/// then incoming, then next_step.
class halo_exchange {
 public:
  virtual ~halo_exchange() = default;
  halo_exchange(halo_exchange const&) = delete;
  halo_exchange& operator=(halo_exchange const&) = delete;

  /// Buffer that the plane of face `f` is packed into for this step; face_cells() long.
  virtual double* outgoing(face f) = 0;
  /// The plane is complete: send it. `plane` is the outgoing buffer, or other memory of the device that the
  /// buffers are on. Does not wait.
  virtual void start(face f, double const* plane) = 0;
  /// True when the plane of this neighbour has arrived; may wait for it.
  virtual bool arrived(face) {
    wait();
    return true;
  }
  /// Returns when the planes of all neighbours for this step have arrived.
  virtual void wait() = 0;
  /// The plane that arrived, unchanged until next_step(); null where there is no neighbour.
  virtual double const* incoming(face f) = 0;
  /// The arrived planes have been used.
  virtual void next_step() = 0;
  /// False where nothing is sent, so that nobody need wait for planes to be complete.
  virtual bool sends() const { return true; }

 protected:
  halo_exchange() = default;
};

/// The ranks of the job. All calls are collective, in the same order everywhere.
class communicator {
 public:
  virtual ~communicator() = default;
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Starts adding up `values` over all ranks, in place, without waiting. They must stay where they are, and
  /// no other sum may be started, until finish_sum().
  virtual void start_sum(std::span<double> values) = 0;
  /// True when the sums are there; makes progress.
  virtual bool sum_done() = 0;
  virtual void finish_sum() = 0;

  /// Replaces each value by the largest of all ranks. Waits.
  virtual void max(std::span<double> values) = 0;
  virtual void barrier() = 0;
  /// Does what others wait for, where that needs this rank's host.
  virtual void progress() {}

  /// Rank 0 gets what each rank gave, indexed by rank; the others get nothing. Waits.
  virtual std::vector<std::vector<double>> gather(std::span<double const> mine) = 0;

  /// Memory of this rank's device for that many bytes; null where the library offers none.
  /// Collective. Throws failure.
  virtual std::unique_ptr<device_memory> open_device(std::uint64_t /*bytes*/) { return nullptr; }
  /// With a device, buffers are allocated there.
  virtual std::unique_ptr<halo_exchange> make_exchange(block const& own, device_memory* device) = 0;
  /// For back ends that run many steps at once on that device. Collective. Throws failure.
  virtual std::unique_ptr<stream_planes> make_stream_planes(block const& own, device_memory& device);
  virtual std::unique_ptr<kernel_exchange> make_kernel_exchange(block const& own, device_memory& device);

  /// True on all ranks where it is true on one.
  bool any(bool mine) {
    double most = mine ? 1 : 0;
    max({&most, 1});
    return most != 0;
  }
  /// Adds up and waits.
  void sum(std::span<double> values) {
    start_sum(values);
    finish_sum();
  }

 protected:
  communicator() = default;
};

/// Values of --exchange that this build knows.
std::string exchange_names();
bool exchange_exists(std::string_view name);
/// True when this exchange copies from device to device; others need planes in host memory.
bool exchange_on_device(std::string_view name);

/// Who does a step of this exchange: the host by calls, or the device without it, where planes travel in its streams, or a
/// kernel of many steps stores them.
enum class stepping { by_host, in_streams, in_kernel };
stepping exchange_stepping(std::string_view name);

/// Starts the communication library that the exchange needs; ended by the destructor. Throws failure.
std::unique_ptr<communicator> make_communicator(std::string_view exchange, int* argc, char*** argv);

/// How planes travel one-sidedly; `nothing` leaves them where they are.
enum class one_sided { copy, signalling_put, nothing };
enum class two_sided { natural, tuned };
std::unique_ptr<communicator> make_upcxx_communicator(one_sided how);
std::unique_ptr<stream_planes> make_upcxx_planes(block const& own, device_memory& memory);
std::unique_ptr<kernel_exchange> make_upcxx_kernel_exchange(block const& own, device_memory& memory);
std::unique_ptr<communicator> make_mpi_communicator(int* argc, char*** argv, two_sided how);
std::unique_ptr<communicator> make_solo_communicator();

/// The exchange with a fault built in (see docs/design/heat3d.md), for tests of the checks: "late" delivers
/// the planes of the step before, "zero" zeros, "mirror" reversed planes. Other names deliver what arrived.
std::unique_ptr<halo_exchange> with_fault(std::unique_ptr<halo_exchange> inner, std::string_view fault,
                                          block const& own);

}  // namespace heat3d
