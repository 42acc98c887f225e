// The plain C++ back ends, on the calling thread.
//
// "plain" works as the reference program does: a sweep writes rates to a second array, another adds them to
// the field (48 bytes of memory traffic per cell: rate sweep 8 read + 8 written + 8 write-allocate, update
// sweep 16 read + 8 written). "plain-fused" writes the new field to the second array in one sweep and
// exchanges the two (24 bytes). Both give the same field bit for bit.

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/backend.hpp"
#include "backends/large_array.hpp"
#include "backends/rows.hpp"

namespace heat3d {
namespace {

class plain_backend final : public backend {
 public:
  plain_backend(backend_setup const& setup, bool fused)
      : fused_(fused),
        extent_(setup.own.extent()),
        inner_(inner_box(setup.own)),
        surface_(surface_boxes(setup.own)),
        heated_(setup.own.cells.low[0] == 0),
        field_(setup.own.cells.cell_n()),
        other_(setup.own.cells.cell_n()) {}

  int bytes_per_cell() const override { return fused_ ? 24 : 48; }

  void load(std::span<double const> values) override { std::ranges::copy(values, field_.data()); }
  void store(std::span<double> values) const override {
    std::copy_n(field_.data(), field_.size(), values.data());
  }
  extremes scan() override;

  double const* pack_async(face f, double* plane) override;
  void packed(face) override {}

  void launch_inner(coefficients const& k, bool sum_field) override {
    k_ = k;
    sum_field_ = sum_field;
    sums_ = {};
  }
  void complete_inner() override { sweep(inner_, {}); }
  void surface(halo_planes const& halos) override {
    for (auto const& part : surface_) sweep(part, halos);
  }
  block_sums update() override;

 private:
  void sweep(box const& part, halo_planes const& halos);
  row make_row(std::int64_t y, std::int64_t z, halo_planes const& halos);
  double const* row_at(std::int64_t y, std::int64_t z) const {
    return field_.data() + position(extent_, 0, y, z);
  }

  bool fused_;
  triple extent_;
  box inner_;
  std::vector<box> surface_;
  bool heated_;  ///< the block touches the heated face
  large_array field_;
  large_array other_;  ///< rates, or the field to be
  coefficients k_{};
  bool sum_field_ = false;
  block_sums sums_;
};

row plain_backend::make_row(std::int64_t y, std::int64_t z, halo_planes const& halos) {
  auto const nx = extent_[0];
  auto const ny = extent_[1];
  auto const nz = extent_[2];
  row r{};
  r.center = row_at(y, z);
  // Inside the block, in a halo (whose rows run along x as well), or missing: then the row itself.
  auto const side = [&](bool inside, std::int64_t offset, double const* halo, std::int64_t halo_row) {
    if (inside) return r.center + offset;
    if (halo != nullptr) return halo + nx * halo_row;
    ++r.exposed;
    return r.center;
  };
  r.y_low = side(y > 0, -nx, halos[down], z);
  r.y_high = side(y + 1 < ny, nx, halos[up], z);
  r.z_low = side(z > 0, -nx * ny, halos[front], y);
  r.z_high = side(z + 1 < nz, nx * ny, halos[back], y);
  r.x_low = halos[left] != nullptr ? halos[left] + y + ny * z : nullptr;
  r.x_high = halos[right] != nullptr ? halos[right] + y + ny * z : nullptr;
  r.out = other_.data() + position(extent_, 0, y, z);
  r.length = nx;
  r.heated = heated_;
  return r;
}

void plain_backend::sweep(box const& part, halo_planes const& halos) {
  if (part.is_empty()) return;
  auto const kernel = !fused_ ? rate_row : sum_field_ ? advance_and_sum_row : advance_row;
  // Strips of y, so that the three planes that a strip reads stay in the second-level cache.
  constexpr std::int64_t strip_bytes = 768 * 1024;
  auto const strip = std::max<std::int64_t>(8, strip_bytes / (4 * 8 * extent_[0]));
  for (auto y0 = part.low[1]; y0 < part.high[1]; y0 += strip) {
    auto const y1 = std::min(y0 + strip, part.high[1]);
    for (auto z = part.low[2]; z < part.high[2]; ++z) {
      for (auto y = y0; y < y1; ++y) {
        auto r = make_row(y, z, halos);
        r.begin = part.low[0];
        r.end = part.high[0];
        auto const sums = kernel(r, k_);
        if (fused_ && sum_field_) sums_.field.add(sums.field);
        sums_.radiated.add(sums.radiated);
      }
    }
  }
}

block_sums plain_backend::update() {
  if (fused_) {
    swap(field_, other_);
    return sums_;
  }
  constexpr std::int64_t run = 512;  // cells per uncompensated sum
  for (std::int64_t i = 0; i < field_.size(); i += run) {
    auto const n = std::min(run, field_.size() - i);
    if (sum_field_) {
      sums_.field.add(update_and_sum_run(field_.data() + i, other_.data() + i, n, k_.dt));
    } else {
      update_run(field_.data() + i, other_.data() + i, n, k_.dt);
    }
  }
  return sums_;
}

backend::extremes plain_backend::scan() {
  constexpr std::int64_t run = 512;
  extremes found{{}, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), {}};
  for (std::int64_t i = 0; i < field_.size(); i += run) {
    auto const n = std::min(run, field_.size() - i);
    found.sum.add(sum_run(field_.data() + i, n));
    auto const [low, high] = std::minmax_element(field_.data() + i, field_.data() + i + n);
    found.min = std::min(found.min, *low);
    found.max = std::max(found.max, *high);
  }
  return found;
}

double const* plain_backend::pack_async(face f, double* plane) {
  auto const [nx, ny, nz] = extent_;
  auto const last = is_high(f);
  if (axis_of(f) == 0) {
    for (std::int64_t z = 0; z < nz; ++z) {
      for (std::int64_t y = 0; y < ny; ++y) plane[y + ny * z] = row_at(y, z)[last ? nx - 1 : 0];
    }
  } else if (axis_of(f) == 1) {
    for (std::int64_t z = 0; z < nz; ++z) std::copy_n(row_at(last ? ny - 1 : 0, z), nx, plane + nx * z);
  } else {
    std::copy_n(row_at(0, last ? nz - 1 : 0), nx * ny, plane);
  }
  return plane;
}

}  // namespace

std::unique_ptr<backend> make_plain_backend(backend_setup const& setup, bool fused) {
  return std::make_unique<plain_backend>(setup, fused);
}

}  // namespace heat3d
