// Table hpgmg_runs holds the configuration and outcome of each run; hpgmg_sizes the solves of each of the
// three sizes, hpgmg_solves every timed one; hpgmg_phases where the time of a solve went on each level;
// hpgmg_transfers what each operation of communication sends, hpgmg_messages the sizes of a solve's messages;
// hpgmg_checks each comparison.

#include "program/results.hpp"

#include <cmath>
#include <optional>

#include "common/host.hpp"
#include "communication_lines.hpp"
#include "program/options.hpp"
#include "program/triad.hpp"
#include "version.hpp"

namespace hpgmg {
namespace {

constexpr char const* schema = R"sql(
CREATE TABLE IF NOT EXISTS hpgmg_runs (
  run INTEGER PRIMARY KEY,
  date TEXT NOT NULL,               -- UTC
  version TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  host TEXT NOT NULL,
  cores INTEGER NOT NULL,           -- that any rank may use
  ranks INTEGER NOT NULL,
  threads INTEGER NOT NULL,         -- of each
  log2_box INTEGER NOT NULL,
  boxes_per_rank INTEGER NOT NULL,  -- asked for
  cells INTEGER NOT NULL,           -- per dimension
  boxes INTEGER NOT NULL,           -- per dimension
  most_boxes INTEGER NOT NULL,      -- of one rank
  operator TEXT NOT NULL,
  smoother TEXT NOT NULL,
  cycle TEXT NOT NULL,
  box_order TEXT NOT NULL,
  periodic INTEGER NOT NULL,
  helmholtz INTEGER NOT NULL,
  comm TEXT NOT NULL,
  comm_lines INTEGER,               -- of source that only this way of communicating needs; null: not counted
  warmup INTEGER NOT NULL,
  build_s REAL NOT NULL,
  triad_bytes_per_s REAL NOT NULL,  -- all ranks together
  bytes_per_cell INTEGER NOT NULL,  -- of a sweep of the smoother
  sweep_s REAL NOT NULL,            -- over the finest grid, by all cores in use
  error REAL, error_order REAL,     -- Richardson's
  passed INTEGER                    -- 1, 0, or null when the checks were off
);
CREATE TABLE IF NOT EXISTS hpgmg_sizes (
  run INTEGER NOT NULL REFERENCES hpgmg_runs(run),
  level INTEGER NOT NULL,           -- that solves start on: 0, 1, 2 are h, 2h, 4h
  cells INTEGER NOT NULL,
  solves INTEGER NOT NULL,
  mean_s REAL NOT NULL, best_s REAL NOT NULL,
  source_norm REAL, residual_norm REAL, cycles INTEGER NOT NULL,
  bottom_iterations INTEGER NOT NULL,
  PRIMARY KEY (run, level)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hpgmg_solves (
  run INTEGER NOT NULL, level INTEGER NOT NULL, solve INTEGER NOT NULL,
  seconds REAL NOT NULL,            -- on rank 0
  PRIMARY KEY (run, level, solve)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hpgmg_phases (
  run INTEGER NOT NULL,
  start INTEGER NOT NULL,           -- level that solves start on
  level INTEGER NOT NULL, cells INTEGER NOT NULL,
  phase TEXT NOT NULL,
  seconds REAL NOT NULL,            -- of one solve, on rank 0
  least_s REAL NOT NULL, most_s REAL NOT NULL,
  PRIMARY KEY (run, start, level, phase)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hpgmg_transfers (
  run INTEGER NOT NULL, level INTEGER NOT NULL, operation TEXT NOT NULL,
  form TEXT NOT NULL,               -- a message is a row, a region, or all for a rank
  messages REAL NOT NULL, most_messages REAL NOT NULL,  -- of all ranks, and of the one with the most
  doubles REAL NOT NULL, most_doubles REAL NOT NULL, local_regions REAL NOT NULL,
  PRIMARY KEY (run, level, operation, form)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hpgmg_messages (
  run INTEGER NOT NULL, form TEXT NOT NULL,
  least_bytes INTEGER NOT NULL,     -- of a message; less than twice that at most
  messages REAL NOT NULL, bytes REAL NOT NULL,          -- of one solve of the finest grid, of all ranks
  PRIMARY KEY (run, form, least_bytes)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hpgmg_checks (
  run INTEGER NOT NULL REFERENCES hpgmg_runs(run),
  name TEXT NOT NULL, value REAL, expected REAL NOT NULL, tolerance REAL NOT NULL, passed INTEGER NOT NULL
);
)sql";

/// Nothing where they were not counted.
std::optional<std::int64_t> lines_of(std::string const& communication) {
  for (auto const& entry : communication_lines) {
    if (communication == entry.name) return entry.lines;
  }
  return std::nullopt;
}

void add_sizes(apps::database& to, std::int64_t id, run_record const& run) {
  apps::statement row(to, "INSERT INTO hpgmg_sizes VALUES (?,?,?,?,?,?,?,?,?,?)");
  apps::statement solve(to, "INSERT INTO hpgmg_solves VALUES (?,?,?,?)");
  apps::statement part(to, "INSERT INTO hpgmg_phases VALUES (?,?,?,?,?,?,?,?)");
  for (auto const& size : run.sizes) {
    row.bind(id).bind(size.level).bind(size.cells).bind(static_cast<std::int64_t>(size.solve_s.size()));
    row.bind(size.mean_s).bind(size.best_s).bind(size.source_norm);
    row.bind(size.history.empty() ? NAN : size.history.back().norm);
    row.bind(static_cast<std::int64_t>(size.history.size())).bind(size.bottom_iterations).run();
    for (std::size_t n = 0; n < size.solve_s.size(); ++n) {
      solve.bind(id).bind(size.level).bind(static_cast<std::int64_t>(n)).bind(size.solve_s[n]).run();
    }
    for (std::size_t l = 0; l < size.levels.size(); ++l) {
      level_record const& t = size.levels[l];
      for (std::size_t p = 0; p < t.seconds.size(); ++p) {
        if (t.most[p] == 0) continue;
        part.bind(id).bind(size.level).bind(static_cast<std::int64_t>(l)).bind(run.levels[l].cells);
        part.bind(std::string(name_of(static_cast<phase>(p))));
        part.bind(t.seconds[p]).bind(t.least[p]).bind(t.most[p]).run();
      }
    }
  }
}

void add_traffic(apps::database& to, std::int64_t id, run_record const& run) {
  apps::statement transfer(to, "INSERT INTO hpgmg_transfers VALUES (?,?,?,?,?,?,?,?,?)");
  apps::statement size(to, "INSERT INTO hpgmg_messages VALUES (?,?,?,?,?)");
  for (std::size_t form = 0; form < message_form_n; ++form) {
    std::string const name = name_of(message_forms[form]);
    for (auto const& t : run.transfers) {
      transfer.bind(id).bind(t.level).bind(t.operation).bind(name);
      transfer.bind(t.traffic.messages[form]).bind(t.traffic.most_messages[form]);
      transfer.bind(t.traffic.doubles).bind(t.traffic.most_doubles).bind(t.traffic.local_regions).run();
    }
    auto const& histogram = run.messages[form];
    for (std::size_t bin = 0; bin < histogram.messages.size(); ++bin) {
      if (histogram.messages[bin] == 0) continue;
      size.bind(id).bind(name).bind(std::int64_t{1} << bin);
      size.bind(histogram.messages[bin]).bind(histogram.bytes[bin]).run();
    }
  }
}

}  // namespace

results_file::results_file(std::string const& path) : database_(path, schema) {
  apps::machine::prepare(database_);
}

void results_file::add(run_record const& run) {
  apps::transaction writing(database_);
  apps::statement row(database_,
                      "INSERT INTO hpgmg_runs VALUES "
                      "(null,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  row.bind(apps::utc_now()).bind(std::string(apps::version)).bind(std::string(apps::commit_id));
  row.bind(apps::host_name()).bind(run.cores).bind(run.ranks).bind(run.what.threads);
  row.bind(run.what.log2_box).bind(run.what.boxes_per_rank);
  row.bind(run.levels.front().cells).bind(run.levels.front().boxes).bind(run.most_boxes);
  row.bind(std::string(name_of(run.what.op))).bind(std::string(name_of(run.what.smooth)));
  row.bind(std::string(name_of(run.what.start))).bind(std::string(name_of(run.what.order)));
  row.bind(run.what.periodic ? 1 : 0).bind(run.what.helmholtz ? 1 : 0).bind(run.communication);
  row.bind(lines_of(run.communication));
  row.bind(run.warmup)
      .bind(run.build_s)
      .bind(run.triad_rate)
      .bind(bytes_per_cell(run.what))
      .bind(run.sweep_s);
  row.bind(run.error).bind(run.order);
  row.bind(run.checked ? std::optional<std::int64_t>(run.passed()) : std::nullopt).run();

  std::int64_t const id = database_.last_row();
  machine_.add(database_, "hpgmg_runs", id, run.ranks * run.what.threads, run.waited, run.where);
  add_sizes(database_, id, run);
  add_traffic(database_, id, run);
  apps::statement check(database_, "INSERT INTO hpgmg_checks VALUES (?,?,?,?,?,?)");
  for (auto const& c : run.checks) {
    check.bind(id)
        .bind(c.name)
        .bind(c.value)
        .bind(c.expected)
        .bind(c.tolerance)
        .bind(c.passed() ? 1 : 0)
        .run();
  }
  writing.commit();
}

}  // namespace hpgmg
