#pragma once

/// What the driver needs from a back end for computation. A back end owns the field of one block and knows
/// nothing of communication: it gets raw pointers to halo buffers.

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cell.hpp"
#include "decomposition.hpp"

namespace heat3d {

/// Sums over a block, taken before the update of a step.
struct block_sums {
  compensated_sum field;     ///< of the cells; only where it was asked for
  compensated_sum radiated;  ///< of exposed faces times fourth power
};

/// Received planes of one step, one per face; null where there is no neighbour. See face_cells() for the
/// order.
using halo_planes = std::array<double const*, face_n>;

/// The field of one block and the kernels over it. Calls of one step come in the order pack_async,
/// launch_inner, packed, complete_inner, surface, update. Back ends that compute on the calling thread do all
/// the work of the inner cells in complete_inner, after the halos were sent.
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
  };
  virtual extremes scan() const = 0;

  /// Starts copying the plane of cells next to face `f` to `plane`.
  virtual void pack_async(face f, double* plane) = 0;
  /// Returns when the plane of face `f` is complete.
  virtual void packed(face f) = 0;

  /// The inner cells (inner_box()), which need no halo.
  virtual void launch_inner(coefficients const& k, bool sum_field) = 0;
  virtual void complete_inner() = 0;
  /// The cells next to neighbours. Needs complete_inner() first.
  virtual void surface(halo_planes const& halos) = 0;
  /// Makes the new field the present one and returns the sums of the step.
  virtual block_sums update() = 0;

 protected:
  backend() = default;
};

/// What a back end must know of the run.
struct backend_setup {
  block own;
  triple domain;  ///< global extents
};

/// Names that make_backend() accepts in this build.
std::string backend_names();
bool backend_exists(std::string_view name);
/// `name` must exist. Throws std::bad_alloc when memory is short.
std::unique_ptr<backend> make_backend(std::string_view name, backend_setup const& setup);

std::unique_ptr<backend> make_plain_backend(backend_setup const& setup, bool fused);
std::unique_ptr<backend> make_kokkos_backend(backend_setup const& setup);  // only where built with Kokkos

}  // namespace heat3d
