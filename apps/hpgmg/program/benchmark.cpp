#include "program/benchmark.hpp"

#include <algorithm>
#include <cmath>

#include "common/host.hpp"
#include "program/checks.hpp"
#include "program/triad.hpp"

namespace hpgmg {
namespace {

constexpr int most_solves = 1'000'000;
/// Where others come to use the machine, solving ends before the number is reached that was planned.
constexpr double longest = 2;  ///< times the seconds asked for
constexpr int looks = 20;      ///< at the clock meanwhile

/// Rank 0's number.
double from_rank_0(runtime& ranks, double mine) { return ranks.world().sum(ranks.rank() == 0 ? mine : 0); }

move_times scaled(move_times t, double by) {
  return {t.pack * by, t.local * by, t.unpack * by, t.send * by, t.wait * by};
}

/// Of the timed solves, for one of them. Collective.
std::vector<level_record> breakdown(timing const& times, runtime& ranks) {
  double const share = 1.0 / std::max(1, times.solves);
  std::vector<level_record> levels;
  for (level_times const& t : times.levels) {
    level_record l;
    for (std::size_t p = 0; p < t.seconds.size(); ++p) {
      l.seconds[p] = share * t.seconds[p];
      l.most[p] = ranks.world().max(l.seconds[p]);
      l.least[p] = -ranks.world().max(-l.seconds[p]);
    }
    l.exchange = scaled(t.exchange, share);
    l.restriction = scaled(t.restriction, share);
    l.interpolation = scaled(t.interpolation, share);
    levels.push_back(l);
  }
  return levels;
}

/// Collective.
std::vector<transfer_record> transfers_of(multigrid const& m, runtime& ranks) {
  std::vector<transfer_record> result;
  arena none;  // plans only refer to their memory
  ghost_shape const own_shape = m.what().op == stencil::fv4 ? ghost_shape::no_corners : ghost_shape::star;
  for (int l = 0; l < m.level_n(); ++l) {
    auto const add = [&](char const* operation, plan const& moves) {
      result.push_back({l, operation, traffic_of(moves, ranks.world())});
    };
    add("exchange, operator's ghosts", plan_exchange(m.at(l), own_shape));
    add("exchange, all ghosts", plan_exchange(m.at(l), ghost_shape::box));
    if (l + 1 == m.level_n()) break;
    add("restriction", plan_restriction(m.at(l), m.at(l + 1), -1, none).moves);
    add("interpolation", plan_interpolation(m.at(l + 1), m.at(l), none, none).moves);
  }
  return result;
}

/// Warms up, then solves as often as the time allows.
size_record measure_size(options const& o, multigrid& m, counting_runtime& ranks, int level,
                         observer const& show) {
  size_record size;
  size.level = level;
  size.cells = m.at(level).shape().cells;
  size.source_norm = m.max_norm(level, f);
  double const begin = now();
  for (int n = 0; n < o.warmup; ++n) {
    m.solve(level);
    show.solved(size, n + 1, 0);
  }
  double const average = from_rank_0(ranks, (now() - begin) / o.warmup);
  int const solves = static_cast<int>(
      std::clamp(std::floor(o.seconds / average), double(o.least_solves), double(most_solves)));
  m.reset_times();
  ranks.reset();
  int const interval = std::max(1, solves / looks);
  double const started = now();
  for (int n = 0; n < solves; ++n) {
    bool const looked = n >= o.least_solves && n % interval == 0;
    if (looked && from_rank_0(ranks, now() - started) > longest * o.seconds) break;
    double const before = m.times().solve;
    size.history = m.solve(level);
    size.solve_s.push_back(m.times().solve - before);
    show.solved(size, n + 1, solves);
  }
  auto const done = static_cast<int>(size.solve_s.size());
  size.mean_s = m.times().solve / done;
  size.best_s = std::ranges::min(size.solve_s);
  size.bottom_iterations = m.bottom_iterations / done;
  size.levels = breakdown(m.times(), ranks);
  return size;
}

/// Seconds of a sweep of the smoother over the finest grid, if all ranks, or as many as there are cores, make
/// theirs at once. Collective.
double sweep_seconds(run_record const& run, timing const& times, runtime& ranks) {
  auto const& size = run.sizes.front();
  int const each = run.what.op == stencil::point7 ? 4 : 6;
  double const sweeps = 2.0 * each * static_cast<double>(size.history.size() * size.solve_s.size());
  double const all = ranks.world().sum(times.levels.front().seconds[static_cast<std::size_t>(phase::smooth)]);
  return all / std::clamp(run.cores / run.what.threads, 1, run.ranks) / sweeps;
}

}  // namespace

run_record run_benchmark(options const& o, runtime& plain_ranks, observer const& show) {
  counting_runtime ranks(plain_ranks);
  apps::core_watch const cores;
  run_record record;
  record.what = o.what;
  record.communication = o.communication;
  record.ranks = ranks.size();
  record.where = apps::find_placement(
      apps::seat::of_this_process(ranks.rank()), [&](double mine) { return ranks.world().max(mine); },
      [&](double mine) { return ranks.world().sum(mine); });
  record.cores = record.where.cores;
  record.warmup = o.warmup;

  ranks.world().barrier();
  double const begin = now();
  multigrid m(o.what, ranks);
  record.build_s = now() - begin;
  for (int l = 0; l < m.level_n(); ++l) {
    record.levels.push_back(m.at(l).shape());
    record.largest_eigenvalue.push_back(m.at(l).largest_eigenvalue);
  }
  auto const own_boxes = static_cast<double>(m.at(0).boxes().size());
  record.most_boxes = static_cast<int>(ranks.world().max(own_boxes));
  record.triad_rate = triad_rate(ranks, triad_bytes(o.what, own_boxes), o.what.threads);
  record.transfers = transfers_of(m, ranks);
  show.built(record);

  int const sizes = std::min(size_n, m.level_n());
  for (int level = 0; level < sizes; ++level) {
    if (level > 0) m.restrict_source(level);
    record.sizes.push_back(measure_size(o, m, ranks, level, show));
    auto const& size = record.sizes.back();
    if (level == 0) {
      record.messages = ranks.histograms();
      for (auto& form : record.messages) {
        for (auto* const numbers : {&form.messages, &form.bytes}) {
          for (double& number : *numbers) number /= static_cast<double>(size.solve_s.size());
        }
      }
      record.sweep_s = sweep_seconds(record, m.times(), ranks);
    }
    show.size_done(size);
  }
  for (int level = 0; level < sizes; ++level) m.solve(level);
  if (sizes == size_n) {
    record.error = m.richardson(1);
    record.order = std::log2(m.richardson(2) / record.error);
  }
  record.waited = ranks.world().max(cores.waited());
  record.checked = o.check;
  if (o.check) record.checks = compare(record);
  return record;
}

}  // namespace hpgmg
