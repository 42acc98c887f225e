// `--backend device-sim`: the device back end without a device, for tests. Its memory is that of the
// library's simulated devices (ATOLL_SIM_DEVICES), which only copies of the library reach, as real device
// memory, and its streams are theirs. What is started runs later, when the host waits, and streams are served in
// random order: a mark that is not waited for gives a wrong field.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/accelerator.hpp"
#include "backends/host_tiles.hpp"

namespace heat3d {
namespace {

class sim_accelerator final : public accelerator {
 public:
  explicit sim_accelerator(backend_setup const& setup)
      : memory_(*setup.device),
        random_(memory_.device() + 1),
        flags_(tiling_of(inner_box(setup.own), tile_width, tile_height, {tiles_at_a_time, 1})) {
    for (auto& stream : streams_) stream = memory_.make_stream();
    auto const* const fault = std::getenv("ATOLL_HEAT3D_FAULT");
    if (fault != nullptr && std::string_view(fault) == "device" && memory_.device() == 1) steps_left_ = 4;
  }

  void sweep_inner(sweep_work const& work) override {
    if (steps_left_ > 0 && --steps_left_ == 0) device_failed("inner cells: it was told to fail");
    start(inner_stream, [this, work] { sweep(work, true); });
  }
  void sweep_surface(face stream, sweep_work const& work) override {
    start(stream, [this, work] { sweep(work, false); });
  }
  void sweep_boundary(face stream, sweep_work const& work, boundary_work const& boundary,
                      plane_words const& /*words*/) override {
    start(stream, [this, work, boundary] { sweep(work, boundary); });
  }
  void pack(face stream, plane_work const& work, double* to) override {
    start(stream, [this, work, to] {
      // A plane as the device sees it: the cells from the first to the last one, of which some are taken.
      auto const span = (work.width - 1) * work.stride_i + (work.height - 1) * work.stride_j + 1;
      auto const cells = fetch(work.origin, span);
      std::vector<double> plane;
      for (std::int64_t j = 0; j < work.height; ++j) {
        for (std::int64_t i = 0; i < work.width; ++i)
          plane.push_back(cells[i * work.stride_i + j * work.stride_j]);
      }
      memory_.put(to, plane.data(), work.width * work.height);
      memory_.finish();
    });
  }
  void copy_in(face stream, double* to, double const* host, std::int64_t n) override {
    start(stream, [this, to, host, n] { load(to, host, n); });
  }
  void copy_out(face stream, double* host, double const* from, std::int64_t n) override {
    start(stream, [this, host, from, n] { store(host, from, n); });
  }

  void sum(double const* field, std::int64_t n) override {
    start(inner_stream, [this, field, n] {
      sums_ = {{}, std::exchange(radiated_, {})};
      for (auto& slot : step_slots_) sums_.radiated.add(std::exchange(slot, {}));
      for (double value : fetch(field, n)) sums_.field.add(value);
    });
    summed_ = streams_[inner_stream]->end();
  }
  sums finish_sum() override {
    while (!summed_->reached()) run_something();
    return sums_;
  }

  void record(mark m, int stream) override { marks_[static_cast<std::size_t>(m)] = streams_[stream]->end(); }
  void wait(int stream, mark m) override {
    if (auto const& at = marks_[static_cast<std::size_t>(m)]) streams_[stream]->wait(at);
  }
  bool reached(mark m) override {
    run_something();
    auto const& at = marks_[static_cast<std::size_t>(m)];
    return at == nullptr || at->reached();
  }
  void synchronize() override {
    for (auto const& stream : streams_) {
      for (auto const end = stream->end(); !end->reached();) run_something();
    }
  }

  void restart() override { flags_.restart(); }
  void time_steps(std::int64_t n) override { flags_.time_steps(n); }
  void stamp(int parity) override {
    start(inner_stream, [this, parity] { flags_.device().clock.stamp(parity); });
  }
  std::vector<double> step_seconds(std::int64_t n) const override { return flags_.step_seconds(n); }
  step_tables tables_for_steps(tiling const& tiles, int blocks) override {
    flags_.retile(tiles);
    step_slots_.resize(static_cast<std::size_t>(blocks));
    return {flags_.device(), step_slots_.data()};
  }
  void* native(int stream) override { return streams_[stream]->native(); }
  void load(double* to, double const* host, std::int64_t n) override {
    memory_.put(to, host, n);
    memory_.finish();
  }
  void store(double* host, double const* from, std::int64_t n) const override {
    memory_.get(host, from, n);
    memory_.finish();
  }

 private:
  void start(int stream, std::function<void()> run) { streams_[stream]->start(std::move(run)); }
  void run_something() { streams_[random_() % stream_n]->poll(); }
  std::vector<double> fetch(double const* from, std::int64_t n) const {
    std::vector<double> host(n);
    store(host.data(), from, n);
    return host;
  }
  void sweep(sweep_work const& work, bool inner);
  void sweep(sweep_work const& work, boundary_work boundary);
  template <class Compute>
  void with_memory(sweep_work const& work, std::span<box const> parts, Compute&& compute);

  // Small, so that fields of tests have many.
  static constexpr int tile_width = 5;
  static constexpr int tile_height = 3;
  static constexpr int tiles_at_a_time = 100;

  device_memory& memory_;
  std::minstd_rand random_;
  host_tile_flags flags_;
  std::array<std::unique_ptr<device_stream>, stream_n> streams_;
  std::array<std::shared_ptr<stream_point const>, mark_n> marks_;
  std::shared_ptr<stream_point const> summed_;
  compensated_sum radiated_;
  std::vector<compensated_sum> step_slots_;  ///< what threads that play blocks of a kernel have added to it
  sums sums_;
  int steps_left_ = -1;  ///< until it fails; negative: it does not
};

/// Calls `compute` with the same work and addresses that the host can follow; the cells of `parts` are new then.
template <class Compute>
void sim_accelerator::with_memory(sweep_work const& work, std::span<box const> parts, Compute&& compute) {
  auto seen = work;
  auto const field = fetch(work.from, work.extent[0] * work.extent[1] * work.extent[2]);
  seen.from = field.data();
  std::array<std::vector<double>, face_n> halos;
  for (int f = 0; f < face_n; ++f) {
    if (work.halos[f] == nullptr) continue;
    halos[f] = fetch(work.halos[f], face_cells(work.extent, face(f)));
    seen.halos[f] = halos[f].data();
  }
  std::vector<double> to(field.size());
  seen.to = to.data();
  compute(std::as_const(seen));
  for (auto const& [low, high] : parts) {
    for (auto z = low[2]; z < high[2]; ++z) {
      for (auto y = low[1]; y < high[1]; ++y) {
        auto const row = position(work.extent, low[0], y, z);
        memory_.put(work.to + row, to.data() + row, high[0] - low[0]);
      }
    }
  }
  memory_.finish();
}

// As the threads of a device do it.

void sim_accelerator::sweep(sweep_work const& work, bool inner) {
  with_memory(work, {&work.part, 1}, [&](sweep_work const& seen) {
    if (inner) {
      flags_.sweep(seen, [this](swept const& found) { radiated_.add(found.radiated); });
    } else {
      for (std::uint32_t i = 0; i < work.part.cell_n(); ++i)
        radiated_.add(sweep_cell(seen, flags_.device(), i));
    }
  });
}

void sim_accelerator::sweep(sweep_work const& work, boundary_work boundary) {
  auto const there = boundary;
  std::array<std::vector<double>, face_n> planes;
  for (int f = 0; f < face_n; ++f) {
    if (boundary.planes[f] == nullptr) continue;
    planes[f].resize(face_cells(work.extent, face(f)));
    boundary.planes[f] = planes[f].data();
  }
  with_memory(work, boundary.parts, [&](sweep_work const& seen) {
    for (std::uint32_t i = 0; i < boundary.cell_n(); ++i)
      radiated_.add(sweep_boundary_cell(seen, boundary, flags_.device(), i));
  });
  for (int f = 0; f < face_n; ++f) {
    if (there.planes[f] != nullptr) memory_.put(there.planes[f], planes[f].data(), std::ssize(planes[f]));
  }
  memory_.finish();
}

}  // namespace

std::unique_ptr<backend> make_device_sim_backend(backend_setup const& setup) {
  return make_device_backend(setup, std::make_unique<sim_accelerator>(setup));
}

}  // namespace heat3d
