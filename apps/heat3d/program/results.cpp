// Table runs holds the configuration and summary of each run, steps the duration of every time step, checks
// each comparison that was made.

#include "program/results.hpp"

#include <optional>

#include "common/host.hpp"
#include "version.hpp"

namespace heat3d {
namespace {

constexpr char const* schema = R"sql(
CREATE TABLE IF NOT EXISTS runs (
  run INTEGER PRIMARY KEY,
  date TEXT NOT NULL,            -- UTC
  program TEXT NOT NULL,
  version TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  host TEXT NOT NULL,
  cores INTEGER NOT NULL,        -- that any rank may use
  ranks INTEGER NOT NULL,
  grid TEXT NOT NULL,            -- ranks per direction
  x INTEGER NOT NULL, y INTEGER NOT NULL, z INTEGER NOT NULL,
  exchange TEXT NOT NULL,
  backend TEXT NOT NULL,
  steps INTEGER NOT NULL,        -- timed updates, N + 1
  warmup INTEGER NOT NULL,
  reduce_interval INTEGER NOT NULL,
  t0 REAL, dt REAL, q REAL, sigma REAL, power REAL,
  initial TEXT NOT NULL,
  seconds REAL NOT NULL,         -- whole time loop
  median_s REAL NOT NULL,        -- one step, on rank 0
  p10_s REAL NOT NULL,
  p90_s REAL NOT NULL,
  cells_per_s REAL NOT NULL,     -- over the whole loop
  comm_share REAL NOT NULL,      -- 0 to 1, mean over ranks
  mean REAL,
  passed INTEGER,                -- 1, 0, or null when the checks were off
  residual REAL,                 -- of the energy balance
  devices INTEGER NOT NULL DEFAULT 0,  -- different ones that the ranks compute on; 0: on the host
  device TEXT NOT NULL DEFAULT ''      -- what rank 0's is called
);
CREATE TABLE IF NOT EXISTS steps (
  run INTEGER NOT NULL REFERENCES runs(run),
  step INTEGER NOT NULL,
  max_s REAL NOT NULL,           -- on the rank that took longest
  rank0_s REAL NOT NULL,
  PRIMARY KEY (run, step)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checks (
  run INTEGER NOT NULL REFERENCES runs(run),
  name TEXT NOT NULL,
  value REAL,                    -- null: not a number
  bound REAL NOT NULL,
  passed INTEGER NOT NULL,
  detail TEXT NOT NULL
);
)sql";

/// Files of earlier versions lack these columns.
constexpr char const* later[] = {"ALTER TABLE runs ADD COLUMN devices INTEGER NOT NULL DEFAULT 0",
                                 "ALTER TABLE runs ADD COLUMN device TEXT NOT NULL DEFAULT ''"};

}  // namespace

results_file::results_file(std::string const& path) : database_(path, schema, later) {
  apps::machine::prepare(database_);
}

void results_file::add(run_record const& r) {
  auto const& p = r.physics;
  apps::transaction writing(database_);
  apps::statement run(
      database_,
      "INSERT INTO runs (date, program, version, commit_id, host, cores, ranks, grid, x, y, z, exchange, "
      "backend, steps, warmup, reduce_interval, t0, dt, q, sigma, power, initial, seconds, median_s, p10_s, "
      "p90_s, cells_per_s, comm_share, mean, passed, residual, devices, device) VALUES "
      "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  run.bind(apps::utc_now())
      .bind(std::string("heat3d"))
      .bind(std::string(apps::version))
      .bind(std::string(apps::commit_id));
  run.bind(apps::host_name()).bind(r.where.cores).bind(r.ranks).bind(text(r.grid));
  run.bind(p.domain[0]).bind(p.domain[1]).bind(p.domain[2]).bind(r.exchange).bind(r.backend);
  run.bind(p.update_n()).bind(r.warmup).bind(r.reduce_interval);
  run.bind(p.t0).bind(p.dt).bind(p.q).bind(p.sigma).bind(p.power);
  run.bind(std::string(p.start == initial::uniform ? "uniform" : "eigenmode"));
  run.bind(r.seconds).bind(r.median_s).bind(r.p10_s).bind(r.p90_s).bind(r.cells_per_s).bind(r.comm_share);
  run.bind(r.mean);
  run.bind(r.checked ? std::optional<std::int64_t>(r.passed) : std::nullopt);
  run.bind(r.residual).bind(r.devices).bind(r.device).run();

  std::int64_t const id = database_.last_row();
  machine_.add(database_, "runs", id, r.ranks, r.waited, r.where);
  apps::statement step(database_, "INSERT INTO steps (run, step, max_s, rank0_s) VALUES (?,?,?,?)");
  for (std::size_t t = 0; t < r.step_max_s.size(); ++t) {
    step.bind(id).bind(static_cast<std::int64_t>(t)).bind(r.step_max_s[t]).bind(r.step_rank0_s[t]).run();
  }
  apps::statement check(database_,
                        "INSERT INTO checks (run, name, value, bound, passed, detail) VALUES (?,?,?,?,?,?)");
  for (auto const& c : r.checks) {
    check.bind(id).bind(c.name).bind(c.value).bind(c.limit).bind(c.passed() ? 1 : 0).bind(c.detail).run();
  }
  writing.commit();
}

}  // namespace heat3d
