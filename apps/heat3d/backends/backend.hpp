#pragma once

/// What the driver needs from a back end for computation. A back end owns the field of one block and knows
/// nothing of communication: it gets raw pointers to halo buffers.

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/device_memory.hpp"
#include "problem/cell.hpp"
#include "problem/decomposition.hpp"

namespace heat3d {

class kernel_exchange;
class stream_planes;
class stretch_runner;

/// Sums over a block, taken before the update of a step.
struct block_sums {
  compensated_sum field;     ///< of the cells; only where it was asked for
  compensated_sum radiated;  ///< of exposed faces times fourth power, in this step
  compensated_sum earlier;   ///< radiated in earlier steps, not reported so far: devices sum up by themselves
};

/// Received planes of one step, one per face; null where there is no neighbour.
/// See face_cells() for the order.
using halo_planes = std::array<double const*, face_n>;

/// The field of one block and the kernels over it. Calls of one step come in the order pack_async,
/// launch_inner, packed, complete_inner, face_arrived, surface, update. Back ends that compute on the calling
/// thread do all the work of the inner cells in complete_inner, after the halos were sent, and that of the
/// others in surface. Those on devices start work in the calls named launch, pack_async and face_arrived, and
/// none of their calls waits for it but packed, update where sums were asked for, scan, load,
/// store and synchronize.
class backend {
 public:
  virtual ~backend() = default;
  backend(backend const&) = delete;
  backend& operator=(backend const&) = delete;

  /// Bytes of memory traffic that one cell update costs at least, write-allocate counted.
  virtual int bytes_per_cell() const = 0;

  /// Replaces the field by `values`, x fastest, as many as the block has cells.
  virtual void load(std::span<double const> values) = 0;
  /// Copies the field out, in the same order.
  virtual void store(std::span<double> values) const = 0;
  /// Sum, smallest and largest of the present field.
  struct extremes {
    compensated_sum sum;
    double min;
    double max;
    compensated_sum radiated;  ///< in earlier steps, not reported so far
  };
  virtual extremes scan() = 0;

  /// Starts copying the plane of cells next to face `f` to `plane`. Returns where it will be: there, or in
  /// the field itself, where it stays unchanged until the halos of the next step but one have arrived.
  virtual double const* pack_async(face f, double* plane) = 0;
  /// Returns when the plane of face `f` is complete.
  virtual void packed(face f) = 0;

  /// The inner cells (inner_box()), which need no halo.
  virtual void launch_inner(coefficients const& k, bool sum_field) = 0;
  virtual void complete_inner() = 0;
  /// The halo of face `f` is there. Cells may be computed whose halos are all there.
  virtual void face_arrived(face, double const*) {}
  /// The cells next to neighbours. Needs complete_inner() first.
  virtual void surface(halo_planes const& halos) = 0;
  /// Makes the new field the present one and returns the sums of the step.
  virtual block_sums update() = 0;
  /// Returns when all that was started is done.
  virtual void synchronize() {}

  /// Runs steps with these planes, or that exchange, by itself, instead of by the calls of a step; nothing where it cannot. Ends before both.
  virtual std::unique_ptr<stretch_runner> make_stretches(stream_planes& planes);
  virtual std::unique_ptr<stretch_runner> make_stretches(kernel_exchange& exchange);

 protected:
  backend() = default;
};

/// What a back end must know of the run.
struct backend_setup {
  block own;
  triple domain;                    ///< global extents
  device_memory* device = nullptr;  ///< for back ends on devices
  bool planes_on_device = false;    ///< halo buffers are in it; else in host memory
  bool flush_denormals = true;      ///< as this thread's processor does
};

/// Names that make_backend() accepts in this build.
std::string backend_names(bool on_devices_only = false);
bool backend_exists(std::string_view name);
/// True for back ends that keep the field in device memory, which they get by backend_setup::device.
bool backend_on_device(std::string_view name);
/// True for those that run with a kernel_exchange.
bool backend_in_kernel(std::string_view name);
/// `name` must exist. Throws std::bad_alloc when memory is short.
std::unique_ptr<backend> make_backend(std::string_view name, backend_setup const& setup);

std::unique_ptr<backend> make_plain_backend(backend_setup const& setup, bool fused);
std::unique_ptr<backend> make_kokkos_backend(backend_setup const& setup);  // only where built with Kokkos
std::unique_ptr<backend> make_cuda_backend(backend_setup const& setup);    // only where built with CUDA
std::unique_ptr<backend> make_device_sim_backend(backend_setup const& setup);

}  // namespace heat3d
