// Many steps of a device at once, as one kernel that needs no host: sums before it, and marks on both sides.

#include "backends/kernel_stretches.hpp"

#include "backends/device_block.hpp"

namespace heat3d {
namespace {

class kernel_stretches final : public stretch_runner {
 public:
  kernel_stretches(device_block& block, kernel_exchange& exchange)
      : block_(block), device_(*block.device), exchange_(exchange), boundary_(cells_at_faces(block.own)) {}

  void restart() override { exchange_.restart(); }
  void prepare(std::int64_t step_n, std::span<coefficients const> /*constants*/) override {
    device_.time_steps(step_n);
    tables_ = device_.tables_for_steps(exchange_.most_blocks());
  }

  void start(stretch const& next) override {
    if (next.sum_field) device_.sum(block_.field(), block_.cell_n);
    device_.record(mark::begun, inner_stream);
    exchange_.start(work_of(next), device_.native(inner_stream));
    block_.step += next.step_n;
    device_.record(mark::ended, inner_stream);
  }
  bool begun() override { return device_.reached(mark::begun); }
  block_sums sums() override {
    auto const found = device_.finish_sum();
    return {found.field, {}, found.radiated};
  }
  bool done() override { return device_.reached(mark::ended); }

  std::vector<double> step_seconds() override {
    device_.synchronize();
    return device_.step_seconds(block_.step);
  }

 private:
  kernel_work work_of(stretch const& next) const {
    kernel_work work{};
    for (int parity = 0; parity < 2; ++parity) {
      work.sweeps[parity] = block_.work_on(block_.inner, parity, next.k, {});
      work.sweeps[parity].counts = false;  // the kernel does
      work.boundaries[parity] = boundary_;
    }
    auto const& [words, tiles, clock] = tables_.flags;
    work.flags = {
        {words[0], words[1]}, tiles, {static_cast<std::uint32_t>(block_.step), clock.began, clock.began_n}};
    work.step_n = static_cast<std::uint32_t>(next.step_n);
    work.slots = tables_.slots;
    return work;
  }

  device_block& block_;
  accelerator& device_;
  kernel_exchange& exchange_;
  boundary_work boundary_;
  accelerator::step_tables tables_{};
};

}  // namespace

std::unique_ptr<stretch_runner> make_kernel_stretches(device_block& block, kernel_exchange& exchange) {
  return std::make_unique<kernel_stretches>(block, exchange);
}

}  // namespace heat3d
