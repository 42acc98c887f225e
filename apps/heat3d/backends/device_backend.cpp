// The back end on devices: in which order kernels run, whatever the device.
//
// The field exists twice, and a sweep writes the new one from the old one. Inner cells are computed in one
// stream, cells at the face of a neighbour in a stream per face, as soon as the halo of that face is there.
// Nothing waits on the host but what must: a plane is sent by the host, so it must see that the plane is
// complete. It follows for the streams of step t:
//
// - the inner cells wait for the cells at faces of t-1 ("joined"), whose new values they read and whose old
// ones
//   they overwrite;
// - the cells at faces wait for "joined" too, so for the inner cells of t-1, but not for those of t;
// - packing waits for the cells at all faces of t-1, since planes share edges, but not for inner cells.
//
// So what is sent depends on the cells at faces only: it is under way while the inner cells of the step
// before are still being computed. The planes in z are contiguous in the field and sent from there.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "backends/device_block.hpp"
#include "backends/device_stretches.hpp"
#include "backends/kernel_stretches.hpp"

namespace heat3d {

std::uint64_t device_bytes(block const& own) {
  constexpr std::uint64_t page = 1 << 16;
  auto const rounded = [](std::int64_t n) {
    return (static_cast<std::uint64_t>(n) * 8 + page - 1) / page * page;
  };
  auto bytes = 2 * rounded(own.cells.cell_n()) + page;
  for (int f = 0; f < face_n; ++f) {
    if (own.has_neighbor(face(f))) bytes += 4 * rounded(face_cells(own.extent(), face(f)));
  }
  return bytes;
}

namespace {

/// Cells that pass through the host at a time.
constexpr std::int64_t piece_cells = 1 << 22;

class device_backend final : public backend {
 public:
  device_backend(backend_setup const& setup, std::unique_ptr<accelerator> device)
      : block_(setup, std::move(device)), planes_on_device_(setup.planes_on_device) {
    if (planes_on_device_) return;
    for (face f : block_.faces) {
      staged_out_[f] = setup.device->allocate(face_cells(block_.extent, f));
      staged_in_[f] = setup.device->allocate(face_cells(block_.extent, f));
    }
  }
  ~device_backend() override {
    device_->synchronize();
    for (auto const& each : pinned_) {
      if (each.must_end) device_->unpin(each.memory);
    }
  }

  int bytes_per_cell() const override { return 16; }

  void load(std::span<double const> values) override;
  void store(std::span<double> values) const override {
    device_->synchronize();
    device_->store(values.data(), block_.field(), block_.cell_n);
  }
  extremes scan() override;

  double const* pack_async(face f, double* plane) override;
  void packed(face f) override;
  void launch_inner(coefficients const& k, bool sum_field) override;
  void complete_inner() override {}
  void face_arrived(face f, double const* halo) override;
  void surface(halo_planes const&) override {}
  block_sums update() override;
  void synchronize() override { device_->synchronize(); }
  std::unique_ptr<stretch_runner> make_stretches(stream_planes& planes) override {
    return make_device_stretches(block_, planes);
  }
  std::unique_ptr<stretch_runner> make_stretches(kernel_exchange& exchange) override {
    return make_kernel_stretches(block_, exchange);
  }

 private:
  bool sent_from_field(face f) const { return planes_on_device_ && axis_of(f) == 2; }
  void wait_on_host(mark m);
  box ready_cells(face f) const;
  sweep_work work_on(box const& part) const {
    return block_.work_on(part, static_cast<int>(block_.step % 2), k_, halos_);
  }
  void pin(void const* memory, std::int64_t bytes);

  device_block block_;
  accelerator* const device_ = block_.device.get();
  std::vector<face> const& faces_ = block_.faces;
  bool planes_on_device_;
  std::array<double*, face_n> staged_out_{};
  std::array<double*, face_n> staged_in_{};
  struct pinned_memory {
    void const* memory;
    bool must_end;
  };
  std::vector<pinned_memory> pinned_;

  // Of the present step.
  coefficients k_{};
  bool sum_field_ = false;
  std::array<double const*, face_n> halos_{};
  std::array<bool, mark_n> seen_{};  ///< marks that are known to be reached
};

void device_backend::load(std::span<double const> values) {
  // Denormal numbers count as zero where they are flushed; the host's processor sees them so by itself.
  device_->synchronize();
  block_.step = 0;
  if (block_.flush_denormals) {
    std::vector<double> piece(std::min<std::int64_t>(block_.cell_n, piece_cells));
    for (std::int64_t i = 0; i < block_.cell_n; i += piece_cells) {
      auto const n = std::min(piece_cells, block_.cell_n - i);
      std::transform(values.begin() + i, values.begin() + i + n, piece.begin(),
                     [](double v) { return flushing::of(v).value; });
      device_->load(block_.field() + i, piece.data(), n);
    }
  } else {
    device_->load(block_.field(), values.data(), block_.cell_n);
  }
  device_->restart();
  device_->sum(block_.field(), block_.cell_n);  // forgets what was radiated in a warm-up
  device_->finish_sum();
}

backend::extremes device_backend::scan() {
  device_->synchronize();
  extremes found{{}, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), {}};
  device_->sum(block_.field(), block_.cell_n);
  auto const sums = device_->finish_sum();
  found.sum = sums.field;
  found.radiated = sums.radiated;
  std::vector<double> piece(std::min<std::int64_t>(block_.cell_n, piece_cells));
  for (std::int64_t i = 0; i < block_.cell_n; i += piece_cells) {
    auto const n = std::min(piece_cells, block_.cell_n - i);
    device_->store(piece.data(), block_.field() + i, n);
    auto const [low, high] = std::minmax_element(piece.begin(), piece.begin() + n);
    found.min = std::min(found.min, *low);
    found.max = std::max(found.max, *high);
  }
  return found;
}

double const* device_backend::pack_async(face f, double* plane) {
  auto const from = plane_of(block_.field(), block_.extent, f);
  if (sent_from_field(f)) return from.origin;
  for (face other : faces_) {
    if (other != f) device_->wait(f, of_face(mark::surface, other));
  }
  if (planes_on_device_) {
    device_->pack(f, from, plane);
  } else {
    auto const n = face_cells(block_.extent, f);
    pin(plane, n * 8);
    if (axis_of(f) != 2) device_->pack(f, from, staged_out_[f]);
    device_->copy_out(f, plane, axis_of(f) == 2 ? from.origin : staged_out_[f], n);
  }
  device_->record(of_face(mark::packed, f), f);
  return plane;
}

void device_backend::wait_on_host(mark m) {
  auto& seen = seen_[static_cast<std::size_t>(m)];
  while (!seen) seen = device_->reached(m);
}

void device_backend::packed(face f) {
  if (!sent_from_field(f)) {
    wait_on_host(of_face(mark::packed, f));
    return;
  }
  for (face other : faces_) wait_on_host(of_face(mark::surface, other));
}

void device_backend::launch_inner(coefficients const& k, bool sum_field) {
  k_ = k;
  sum_field_ = sum_field;
  for (face f : faces_) device_->wait(inner_stream, of_face(mark::surface, f));
  if (sum_field) device_->sum(block_.field(), block_.cell_n);
  if (!faces_.empty()) device_->record(mark::joined, inner_stream);
  if (!block_.inner.is_empty()) device_->sweep_inner(work_on(block_.inner));
}

/// Cells at face `f` that wait for no other halo.
/// Each cell is in this box at the face that came last of its own.
box device_backend::ready_cells(face f) const {
  box part{{0, 0, 0}, block_.extent};
  auto const d = axis_of(f);
  if (is_high(f)) {
    part.low[d] = part.high[d] - 1;
  } else {
    part.high[d] = 1;
  }
  for (face other : faces_) {
    if (halos_[other] != nullptr) continue;
    auto const e = axis_of(other);
    if (is_high(other)) {
      part.high[e] = std::min(part.high[e], block_.extent[e] - 1);
    } else {
      part.low[e] = std::max<std::int64_t>(part.low[e], 1);
    }
  }
  return part;
}

void device_backend::face_arrived(face f, double const* halo) {
  device_->wait(f, mark::joined);
  if (planes_on_device_) {
    halos_[f] = halo;
  } else {
    halos_[f] = staged_in_[f];
    pin(halo, face_cells(block_.extent, f) * 8);
    device_->copy_in(f, staged_in_[f], halo, face_cells(block_.extent, f));
    device_->record(of_face(mark::halo, f), f);
    for (face other : faces_) {
      if (other != f && halos_[other] != nullptr) device_->wait(f, of_face(mark::halo, other));
    }
  }
  auto const part = ready_cells(f);
  if (!part.is_empty()) device_->sweep_surface(f, work_on(part));
  device_->record(of_face(mark::surface, f), f);
}

block_sums device_backend::update() {
  ++block_.step;
  halos_ = {};
  seen_ = {};
  if (!sum_field_) return {};
  auto const found = device_->finish_sum();
  return {found.field, {}, found.radiated};
}

void device_backend::pin(void const* memory, std::int64_t bytes) {
  if (std::ranges::find(pinned_, memory, &pinned_memory::memory) != pinned_.end()) return;
  pinned_.push_back({memory, device_->pin(memory, bytes)});
}

}  // namespace

void device_failed(std::string const& what) {
  std::fprintf(stderr, "atoll-heat3d: device: %s\n", what.c_str());
  std::fflush(nullptr);
  std::_Exit(2);
}

std::unique_ptr<backend> make_device_backend(backend_setup const& setup,
                                             std::unique_ptr<accelerator> device) {
  return std::make_unique<device_backend>(setup, std::move(device));
}

}  // namespace heat3d
