#include "program/console.hpp"

#include <cstdio>

#include "common/host.hpp"
#include "version.hpp"

namespace heat3d {

void console::configuration(run_record const& r, block const& own) const {
  if (!speaks()) return;
  auto const& p = r.physics;
  auto const e = own.extent();
  std::printf(
      "heat3d %s (%s): %lldx%lldx%lld cells on %d rank%s%s as %dx%dx%d, %lldx%lldx%lld cells on rank 0\n",
      apps::version, apps::commit_id, static_cast<long long>(p.domain[0]),
      static_cast<long long>(p.domain[1]), static_cast<long long>(p.domain[2]), r.ranks,
      r.ranks == 1 ? "" : "s", apps::on_hosts(r.where).c_str(), r.grid[0], r.grid[1], r.grid[2],
      static_cast<long long>(e[0]), static_cast<long long>(e[1]), static_cast<long long>(e[2]));
  bool const staged = backend_on_device(r.backend) && !exchange_on_device(r.exchange);
  std::printf("exchange %s%s, back end %s, steps 0 to %lld of dt %g, q %g, sigma %g, P %g, T0 %g\n",
              r.exchange.c_str(),
              r.exchange == "off" ? " (wrong physics, for timing only)"
              : staged            ? " (planes staged through host memory)"
                                  : "",
              r.backend.c_str(), static_cast<long long>(p.final_step()), p.dt, p.q, p.sigma, p.power, p.t0);
  if (!p.is_stable()) {
    std::printf("warning: dt %g is above 1/(6 q) = %g, so errors will grow; choose a smaller -dt\n", p.dt,
                1 / (6 * p.q));
  }
  std::fflush(stdout);
}

void console::line(report const& r) {
  if (!speaks()) return;
  clear_live();
  auto const& p = options_.physics;
  auto const steps = static_cast<double>(r.interval_steps > 0 ? r.interval_steps : 1);
  double const per_step = r.interval_seconds / steps;
  auto const left =
      static_cast<double>(p.final_step() - r.step) * r.elapsed_seconds / static_cast<double>(r.step + 1);
  std::printf("%lld T=%.6f %.3f s (%.3f s)  %.3f ms/step  %.1f Mcell/s  comm %.1f %%  %s left\n",
              static_cast<long long>(r.step), r.mean * 1e9, r.elapsed_seconds, r.interval_seconds,
              1e3 * per_step, static_cast<double>(p.cell_n()) / per_step * 1e-6, 100 * r.communicating,
              apps::duration(left).c_str());
  std::fflush(stdout);
}

void console::live(std::int64_t step, double elapsed_seconds) {
  if (step == options_.physics.final_step()) return;  // its line stays, and the summary follows
  if (!live_is_due(elapsed_seconds)) return;
  auto const& p = options_.physics;
  auto const done = static_cast<double>(step + 1);
  live_line("step %lld of %lld  %.0f %%  %.3f ms/step  %.1f Mcell/s  %s left", static_cast<long long>(step),
            static_cast<long long>(p.final_step()), 100 * done / static_cast<double>(p.update_n()),
            1e3 * elapsed_seconds / done, static_cast<double>(p.cell_n()) * done / elapsed_seconds * 1e-6,
            apps::duration(elapsed_seconds / done * (static_cast<double>(p.update_n()) - done)).c_str());
}

void console::summary(run_record const& r, phase_seconds const& phases, int bytes_per_cell) const {
  if (!speaks()) return;
  auto const share = [&](double seconds) { return phases.total > 0 ? 100 * seconds / phases.total : 0.0; };
  std::printf("\n");
  auto const steps = static_cast<double>(r.physics.update_n());
  std::printf("time per step    %.3f ms (%lld steps in %.3f s); on rank 0 median %.3f, p10 %.3f, p90 %.3f\n",
              1e3 * r.seconds / steps, static_cast<long long>(r.physics.update_n()), r.seconds,
              1e3 * r.median_s, 1e3 * r.p10_s, 1e3 * r.p90_s);
  std::printf("throughput       %.1f million cell updates/s\n", 1e-6 * r.cells_per_s);
  std::printf("memory traffic   %.1f GB/s at %d bytes per cell\n", 1e-9 * r.cells_per_s * bytes_per_cell,
              bytes_per_cell);
  std::printf("communication    %.1f %% of the time, mean of all ranks%s\n", 100 * r.comm_share,
              exchange_stepping(r.exchange) != stepping::by_host
                  ? " (sums only: hosts do not see planes travel)"
                  : "");
  std::printf(
      "rank 0           inner %.1f %%, surface and update %.1f %%, pack %.1f %%, send %.1f %%, "
      "wait %.1f %%, sums %.1f %%\n",
      share(phases.inner), share(phases.surface), share(phases.pack), share(phases.send), share(phases.wait),
      share(phases.reduce));
}

void console::probe(triple const& c, double value) const {
  if (!prints()) return;
  std::printf("cell %lld,%lld,%lld %.17g\n", static_cast<long long>(c[0]), static_cast<long long>(c[1]),
              static_cast<long long>(c[2]), value);
}

void console::checks(run_record const& r) const {
  if (!prints()) return;
  if (!r.checked) {
    if (!options_.quiet) std::printf("check off\n");
    return;
  }
  for (auto const& c : r.checks) {
    if (options_.quiet && c.passed()) continue;
    std::printf("%-16s %s %.2e (limit %.0e): %s\n", c.name.c_str(), c.passed() ? "ok    " : "FAILED", c.value,
                c.limit, c.detail.c_str());
  }
  std::printf("check %s\n", r.passed ? "passed" : "FAILED");
}

}  // namespace heat3d
