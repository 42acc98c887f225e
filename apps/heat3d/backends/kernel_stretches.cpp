// Many steps of a device at once, as one kernel that needs no host: sums before it, and marks on both sides.

#include "backends/kernel_stretches.hpp"

#include "backends/device_block.hpp"

namespace heat3d {
namespace {

class kernel_stretches final : public runner_on_device {
 public:
  kernel_stretches(device_block& block, kernel_exchange& exchange)
      : runner_on_device(block), exchange_(exchange) {}

  void restart() override { exchange_.restart(); }
  void prepare(std::int64_t step_n, std::span<coefficients const> /*constants*/) override {
    device_.time_steps(step_n);
    auto const& shape = exchange_.shape();
    tables_ = device_.tables_for_steps(shape.tiles, shape.blocks);
  }

 private:
  void run_steps(stretch const& next) override {
    exchange_.start(work_of(next), device_.native(inner_stream));
    block_.step += next.step_n;
  }
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

  kernel_exchange& exchange_;
  accelerator::step_tables tables_{};
};

}  // namespace

std::unique_ptr<stretch_runner> make_kernel_stretches(device_block& block, kernel_exchange& exchange) {
  return std::make_unique<kernel_stretches>(block, exchange);
}

}  // namespace heat3d
