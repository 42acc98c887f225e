// The Kokkos back end where Kokkos computes on the host (with CUDA: kokkos_accelerator.cpp): the same cell
// function as the plain ones, in Kokkos' kernels. Written to what Kokkos 3.4 offers. This file does not see
// the communication library, and nothing else but its twin sees Kokkos.
//
// It works as the reference program does: rates in a second array, then the update. Halo buffers are in host
// memory, so the default execution space must be one that reaches it (Serial, OpenMP, Threads).

#include "backends/kokkos_common.hpp"
// After Kokkos, so that cell functions are marked for its execution spaces.
#include <algorithm>

#include "backends/backend.hpp"

namespace heat3d {
/// Minimum, maximum and compensated sum in one reduction.
struct kokkos_scan {
  compensated_sum sum;
  double min = 1e300;
  double max = -1e300;

  KOKKOS_INLINE_FUNCTION kokkos_scan& operator+=(kokkos_scan const& other) {
    sum.add(other.sum);
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
    return *this;
  }
  KOKKOS_INLINE_FUNCTION void operator+=(kokkos_scan const volatile& other) volatile {
    auto& self = const_cast<kokkos_scan&>(*this);
    self += const_cast<kokkos_scan const&>(other);
  }
};
}  // namespace heat3d

namespace Kokkos {
template <>
struct reduction_identity<heat3d::kokkos_scan> {
  KOKKOS_FORCEINLINE_FUNCTION static heat3d::kokkos_scan sum() { return {}; }
};
}  // namespace Kokkos

namespace heat3d {
namespace {

using space = Kokkos::DefaultExecutionSpace;
using field_view = Kokkos::View<double***, Kokkos::LayoutLeft, space::memory_space>;  // x fastest
using cells_policy =
    Kokkos::MDRangePolicy<space, Kokkos::Rank<3, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                          Kokkos::IndexType<std::int64_t>>;
using plane_policy =
    Kokkos::MDRangePolicy<space, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                          Kokkos::IndexType<std::int64_t>>;
using line_policy = Kokkos::RangePolicy<space, Kokkos::IndexType<std::int64_t>>;

static_assert(Kokkos::SpaceAccessibility<space, Kokkos::HostSpace>::accessible,
              "the halo buffers are in host memory: use a Kokkos with a host space as its default");

/// Rate of one cell; reads halos where a neighbour is outside the block.
struct rate_kernel {
  field_view field;
  field_view rate;
  halo_planes halos;
  triple n;  ///< extents of the block
  coefficients k;
  bool heated;

  KOKKOS_INLINE_FUNCTION double beyond(int f, std::int64_t at, double self, int& exposed) const {
    if (halos[f] != nullptr) return halos[f][at];
    ++exposed;
    return self;
  }

  /// A cell all of whose neighbours are in the block.
  KOKKOS_INLINE_FUNCTION void inside(std::int64_t x, std::int64_t y, std::int64_t z) const {
    rate(x, y, z) = conduction(field(x, y, z), field(x - 1, y, z), field(x + 1, y, z), field(x, y - 1, z),
                               field(x, y + 1, z), field(x, y, z - 1), field(x, y, z + 1), k.q);
  }

  /// Any cell. Returns what it radiates, in units of sigma.
  KOKKOS_INLINE_FUNCTION double operator()(std::int64_t x, std::int64_t y, std::int64_t z) const {
    double const c = field(x, y, z);
    int exposed = 0;
    double const x_low = x > 0 ? field(x - 1, y, z) : beyond(left, y + n[1] * z, c, exposed);
    double const x_high = x + 1 < n[0] ? field(x + 1, y, z) : beyond(right, y + n[1] * z, c, exposed);
    double const y_low = y > 0 ? field(x, y - 1, z) : beyond(down, x + n[0] * z, c, exposed);
    double const y_high = y + 1 < n[1] ? field(x, y + 1, z) : beyond(up, x + n[0] * z, c, exposed);
    double const z_low = z > 0 ? field(x, y, z - 1) : beyond(front, x + n[0] * y, c, exposed);
    double const z_high = z + 1 < n[2] ? field(x, y, z + 1) : beyond(back, x + n[0] * y, c, exposed);
    double const conducted = conduction(c, x_low, x_high, y_low, y_high, z_low, z_high, k.q);
    double const power = heated && x == 0 ? k.power : 0.0;
    rate(x, y, z) = with_outside(conducted, c, power, k.sigma * exposed);
    return exposed * fourth_power(c);
  }
};

class kokkos_backend final : public backend {
 public:
  explicit kokkos_backend(backend_setup const& setup)
      : extent_(setup.own.extent()),
        core_{{0, 0, 0}, extent_},
        surface_(surface_boxes(setup.own)),
        heated_(setup.own.cells.low[0] == 0),
        field_("field", extent_[0], extent_[1], extent_[2]),
        rate_("rate", extent_[0], extent_[1], extent_[2]) {
    // Of the cells that need no halo, those on the outer surface of the domain go to the general kernel.
    auto inner = inner_box(setup.own);
    std::array<bool, face_n> outer{};
    for (int f = 0; f < face_n; ++f) outer[f] = !setup.own.has_neighbor(face(f));
    outer_ = peel(inner, outer);
    core_ = inner;
  }

  int bytes_per_cell() const override { return 48; }

  void load(std::span<double const> values) override {
    Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const from(values.data(),
                                                                                       values.size());
    Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const to(field_.data(), field_.size());
    Kokkos::deep_copy(to, from);
  }
  void store(std::span<double> values) const override {
    std::copy_n(field_.data(), field_.size(), values.data());
  }
  extremes scan() override {
    kokkos_scan found;
    auto const* const values = field_.data();
    Kokkos::parallel_reduce(
        "scan", line_policy(0, static_cast<std::int64_t>(field_.size())),
        KOKKOS_LAMBDA(std::int64_t i, kokkos_scan & into) {
          into.sum.add(values[i]);
          into.min = values[i] < into.min ? values[i] : into.min;
          into.max = values[i] > into.max ? values[i] : into.max;
        },
        Kokkos::Sum<kokkos_scan>(found));
    return {found.sum, found.min, found.max, {}};
  }

  double const* pack_async(face f, double* plane) override;
  void packed(face) override { instance_.fence(); }

  void launch_inner(coefficients const& k, bool sum_field) override {
    k_ = k;
    sum_field_ = sum_field;
    sums_ = {};
  }
  void complete_inner() override;
  void surface(halo_planes const& halos) override {
    for (auto const& part : surface_) sweep(part, halos);
  }
  block_sums update() override;

 private:
  void sweep(box const& part, halo_planes const& halos);

  kokkos_runtime runtime_;  // first: views must be gone when it ends
  triple extent_;
  box core_;                  ///< cells whose neighbours are all in the block
  std::vector<box> outer_;    ///< cells that need no halo, on the outer surface of the domain
  std::vector<box> surface_;  ///< cells next to neighbouring ranks
  bool heated_;
  space instance_;
  field_view field_;
  field_view rate_;
  coefficients k_{};
  bool sum_field_ = false;
  block_sums sums_;
};

double const* kokkos_backend::pack_async(face f, double* plane) {
  auto const field = field_;
  auto const n = extent_;
  auto const axis = axis_of(f);
  auto const at = is_high(f) ? n[axis] - 1 : 0;
  auto const width = axis == 0 ? n[1] : n[0];
  auto const height = axis == 2 ? n[1] : n[2];
  Kokkos::parallel_for(
      "pack", plane_policy(instance_, {0, 0}, {width, height}),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        plane[i + width * j] = axis == 0 ? field(at, i, j) : axis == 1 ? field(i, at, j) : field(i, j, at);
      });
  return plane;
}

cells_policy cells_of(space const& instance, box const& part) {
  return {instance, {part.low[0], part.low[1], part.low[2]}, {part.high[0], part.high[1], part.high[2]}};
}

void kokkos_backend::complete_inner() {
  if (!core_.is_empty()) {
    rate_kernel const kernel{field_, rate_, {}, extent_, k_, heated_};
    Kokkos::parallel_for(
        "inner", cells_of(instance_, core_),
        KOKKOS_LAMBDA(std::int64_t x, std::int64_t y, std::int64_t z) { kernel.inside(x, y, z); });
  }
  for (auto const& part : outer_) sweep(part, {});
}

void kokkos_backend::sweep(box const& part, halo_planes const& halos) {
  rate_kernel const kernel{field_, rate_, halos, extent_, k_, heated_};
  kokkos_sum radiated;
  Kokkos::parallel_reduce(
      "surface", cells_of(instance_, part),
      KOKKOS_LAMBDA(std::int64_t x, std::int64_t y, std::int64_t z, kokkos_sum & into) {
        into.sum.add(kernel(x, y, z));
      },
      Kokkos::Sum<kokkos_sum>(radiated));
  sums_.radiated.add(radiated.sum);
}

block_sums kokkos_backend::update() {
  auto* const field = field_.data();
  auto const* const rate = rate_.data();
  auto const dt = k_.dt;
  line_policy const all(instance_, 0, static_cast<std::int64_t>(field_.size()));
  if (!sum_field_) {
    Kokkos::parallel_for(
        "update", all, KOKKOS_LAMBDA(std::int64_t i) { field[i] = advanced(field[i], rate[i], dt); });
    instance_.fence();
    return sums_;
  }
  kokkos_sum found;
  Kokkos::parallel_reduce(
      "update and sum", all,
      KOKKOS_LAMBDA(std::int64_t i, kokkos_sum & into) {
        into.sum.add(field[i]);
        field[i] = advanced(field[i], rate[i], dt);
      },
      Kokkos::Sum<kokkos_sum>(found));
  sums_.field = found.sum;
  return sums_;
}

}  // namespace

std::unique_ptr<backend> make_kokkos_backend(backend_setup const& setup) {
  return std::make_unique<kokkos_backend>(setup);
}

}  // namespace heat3d
