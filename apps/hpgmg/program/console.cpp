#include "program/console.hpp"

#include <cstdio>

#include "common/host.hpp"
#include "program/triad.hpp"
#include "version.hpp"

namespace hpgmg {
namespace {

char const* plural(double n) { return n == 1 ? "" : "s"; }

/// A row of a table: milliseconds of each level, and their sum.
template <class Seconds>
void table_row(char const* name, size_record const& size, Seconds&& seconds_of) {
  double sum = 0;
  for (auto const& level : size.levels) sum += seconds_of(level);
  if (sum == 0) return;
  std::printf("  %-20s", name);
  for (auto l = static_cast<std::size_t>(size.level); l < size.levels.size(); ++l) {
    std::printf(" %9.3f", 1e3 * seconds_of(size.levels[l]));
  }
  std::printf(" %9.3f\n", 1e3 * sum);
}

void moves_rows(size_record const& size, move_times level_record::*moves) {
  static constexpr std::pair<char const*, double move_times::*> parts[] = {{"  pack", &move_times::pack},
                                                                           {"  send", &move_times::send},
                                                                           {"  local", &move_times::local},
                                                                           {"  wait", &move_times::wait},
                                                                           {"  unpack", &move_times::unpack}};
  for (auto const& [name, part] : parts) {
    table_row(name, size, [&, part = part](level_record const& l) { return l.*moves.*part; });
  }
}

/// Milliseconds of a solve by level, on rank 0.
void breakdown(size_record const& size) {
  int cells = size.cells;
  std::printf("  %-20s", "ms of a solve");
  for (auto l = static_cast<std::size_t>(size.level); l < size.levels.size(); ++l, cells /= 2) {
    std::printf(" %7d^3", cells);
  }
  std::printf("     total\n");
  for (int p = 0; p < phase_n; ++p) {
    auto const which = static_cast<phase>(p);
    table_row(name_of(which), size,
              [p](level_record const& l) { return l.seconds[static_cast<std::size_t>(p)]; });
    if (which == phase::smooth) {
      table_row("  most of a rank", size, [](level_record const& l) { return l.most[0]; });
      table_row("  least of a rank", size, [](level_record const& l) { return l.least[0]; });
    }
    if (which == phase::exchange) moves_rows(size, &level_record::exchange);
    if (which == phase::restriction_moves) moves_rows(size, &level_record::restriction);
    if (which == phase::interpolation_moves) moves_rows(size, &level_record::interpolation);
  }
  table_row("total", size, [](level_record const& l) { return l.total(); });
}

}  // namespace

void console::configuration(run_record const& r) const {
  if (!speaks()) return;
  auto const& finest = r.levels.front();
  int const boxes = finest.boxes * finest.boxes * finest.boxes;
  std::string const threads = r.what.threads > 1 ? " of " + std::to_string(r.what.threads) + " threads" : "";
  std::printf("hpgmg %s (%s): %d^3 cells in %d box%s of %d^3, at most %d on one of %d rank%s%s%s\n",
              apps::version, apps::commit_id, finest.cells, boxes, boxes == 1 ? "" : "es", finest.box,
              r.most_boxes, r.ranks, plural(r.ranks), threads.c_str(), apps::on_hosts(r.where).c_str());
  std::printf("operator %s, smoother %s, cycle %s, %s, %s, order %s, communication %s\n", name_of(r.what.op),
              name_of(r.what.smooth), name_of(r.what.start),
              r.what.periodic ? "periodic" : "u = 0 on the boundary",
              r.what.helmholtz ? "Helmholtz" : "Poisson", name_of(r.what.order), r.communication.c_str());
  std::printf("%5s %8s %14s %6s  %s\n", "level", "cells", "boxes", "ranks", "eigenvalue bound");
  for (std::size_t l = 0; l < r.levels.size(); ++l) {
    auto const& s = r.levels[l];
    std::printf("%5zu %6d^3 %5d^3 of %3d^3 %6d  %.12f\n", l, s.cells, s.boxes, s.box, s.ranks,
                r.largest_eigenvalue[l]);
  }
  std::printf("built in %.3f s; a triad moves %.1f GB/s, all ranks together\n", r.build_s,
              1e-9 * r.triad_rate);
  std::fflush(stdout);
}

void console::live(size_record const& size, int done, int count) {
  double const t = now();
  if (done == 1) size_began_ = t;
  if (!live_is_due(t)) return;
  if (count == 0) {
    live_line("%d^3: warm-up, solve %d of %d", size.cells, done, options_.warmup);
  } else if (done > 1) {
    double const each = (t - size_began_) / (done - 1);
    live_line("%d^3: solve %d of %d  %.0f %%  %.3f ms  %.3g DOF/s  %s left", size.cells, done, count,
              100.0 * done / count, 1e3 * each, size.unknowns() / each,
              apps::duration(each * (count - done)).c_str());
  }
}

void console::size(size_record const& s) {
  if (!speaks()) return;
  clear_live();
  std::printf("\n%s = 1/%d: %d solves timed, mean %.3f ms, best %.3f ms: %.4g DOF/s, best %.4g DOF/s\n",
              size_names[static_cast<std::size_t>(s.level)], s.cells, static_cast<int>(s.solve_s.size()),
              1e3 * s.mean_s, 1e3 * s.best_s, s.unknowns() / s.mean_s, s.unknowns() / s.best_s);
  for (std::size_t n = 0; n < s.history.size(); ++n) {
    std::printf("%s-cycle%s residual %.9e, of f %.9e\n",
                n == 0 && options_.what.start != cycle::v ? "F" : "V",
                s.history.size() > 1 ? (' ' + std::to_string(n + 1)).c_str() : "", s.history[n].norm,
                s.history[n].relative);
  }
  std::printf("%d iterations of the bottom solver in a solve\n", s.bottom_iterations);
  breakdown(s);
  std::fflush(stdout);
}

void console::summary(run_record const& r) const {
  if (!speaks()) return;
  double const bound = r.bound_ns_per_cell();
  std::printf(
      "\nsmoother         %.3f ns per cell and sweep on h, all cores together; "
      "%d bytes per cell at the triad's rate take %.3f ns\n",
      r.sweep_ns_per_cell(), bytes_per_cell(r.what), bound);
  auto const form = form_of(r.communication);
  std::printf("communication    on each level, all ranks together (and on the one with the most):\n");
  for (auto const& t : r.transfers) {
    auto const f = static_cast<std::size_t>(form);
    auto const& x = t.traffic;
    if (x.messages[f] == 0 && x.local_regions == 0) continue;
    std::printf("  %5d^3 %-28s %7.0f (%.0f) messages, %8.0f (%.0f) doubles, %.0f local copies\n",
                r.levels[static_cast<std::size_t>(t.level)].cells, t.operation.c_str(), x.messages[f],
                x.most_messages[f], x.doubles, x.most_doubles, x.local_regions);
  }
  std::printf("                 a message is a %s%s\n",
              form == message_form::rank ? "packed buffer for a " : "", name_of(form));
  std::printf("Richardson error %.12e, order %.3f\n", r.error, r.order);
}

void console::checks(run_record const& r) const {
  if (!prints()) return;
  if (!r.checked) {
    if (!options_.quiet) std::printf("check off\n");
    return;
  }
  bool const known = r.checks.size() > r.sizes.size();
  for (auto const& c : r.checks) {
    if (c.passed()) continue;
    std::printf("WRONG: %s is %.12e instead of %.12e (tolerance %.1e)\n", c.name.c_str(), c.value, c.expected,
                c.tolerance);
  }
  if (!options_.quiet && !known) std::printf("no results of the public reference for this problem\n");
  std::printf("check %s", r.passed() ? "passed" : "FAILED");
  if (!options_.quiet) std::printf(": %d numbers compared", static_cast<int>(r.checks.size()));
  std::printf("\n");
}

}  // namespace hpgmg
