#pragma once

/// What the parts of the back end on devices have in common: the block, its two fields, and the device.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backends/accelerator.hpp"
#include "backends/stretches.hpp"

namespace heat3d {

/// All cells at faces with a neighbour. Planes are not chosen.
inline boundary_work cells_at_faces(block const& own) {
  boundary_work boundary{};
  std::uint32_t cells = 0;
  int part = 0;
  for (auto const& cut : surface_boxes(own)) {
    boundary.parts[part] = cut;
    cells += static_cast<std::uint32_t>(cut.cell_n());
    boundary.ends[part++] = cells;
  }
  while (part < face_n) boundary.ends[part++] = cells;
  return boundary;
}

struct device_block {
  device_block(backend_setup const& setup, std::unique_ptr<accelerator> computes)
      : own(setup.own),
        extent(setup.own.extent()),
        inner(inner_box(setup.own)),
        cell_n(setup.own.cells.cell_n()),
        flush_denormals(setup.flush_denormals),
        device(std::move(computes)) {
    for (auto& field : fields) field = setup.device->allocate(cell_n);
    for (face f : send_order) {
      if (own.has_neighbor(f)) faces.push_back(f);
    }
  }

  double* field() const { return fields[step % 2]; }

  /// A sweep over some cells in a step, by its parity.
  sweep_work work_on(box const& part, int parity, coefficients const& k,
                     std::array<double const*, face_n> const& halos) const {
    sweep_work w{fields[parity],
                 fields[1 - parity],
                 {},
                 extent,
                 part,
                 k,
                 own.cells.low[0] == 0,
                 tiny_limit(k, flush_denormals),
                 parity,
                 part == inner};
    std::ranges::copy(halos, w.halos);
    return w;
  }

  block own;
  triple extent;
  box inner;
  std::int64_t cell_n;
  bool flush_denormals;
  std::unique_ptr<accelerator> device;
  std::vector<face> faces;          ///< those with a neighbour
  std::array<double*, 2> fields{};  ///< the present one by the parity of the step
  std::int64_t step = 0;            ///< since a field was loaded
};

/// What is the same of all stretches on a device, whatever runs the steps: it begins and ends at marks in the stream of the inner
/// cells, with sums before, and the device has its times.
class runner_on_device : public stretch_runner {
 public:
  void start(stretch const& next) final {
    if (next.sum_field) device_.sum(block_.field(), block_.cell_n);
    device_.record(mark::begun, inner_stream);
    run_steps(next);
    device_.record(mark::ended, inner_stream);
  }
  bool begun() final { return device_.reached(mark::begun); }
  block_sums sums() final {
    auto const found = device_.finish_sum();
    return {found.field, {}, found.radiated};
  }
  bool done() final { return device_.reached(mark::ended); }
  std::vector<double> step_seconds() final {
    device_.synchronize();
    return device_.step_seconds(block_.step);
  }

 protected:
  explicit runner_on_device(device_block& block)
      : block_(block), device_(*block.device), boundary_(cells_at_faces(block.own)) {}

  /// Starts the steps, and counts them.
  virtual void run_steps(stretch const& next) = 0;

  device_block& block_;
  accelerator& device_;
  boundary_work const boundary_;  ///< all cells at faces, but for the planes
};

}  // namespace heat3d
