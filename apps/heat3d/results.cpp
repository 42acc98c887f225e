// Table runs holds the configuration and summary of each run, steps the duration of every time step, checks
// each comparison that was made. A run is one transaction that takes the write lock at its start (BEGIN
// IMMEDIATE), so two writers never deadlock half-way, and a writer that finds the lock taken waits instead of
// giving up.

#include "results.hpp"

#include <sched.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <thread>
#include <utility>

#include "version.hpp"

namespace heat3d {
namespace {

constexpr int wait_ms = 120'000;

constexpr char const* schema = R"sql(
CREATE TABLE IF NOT EXISTS runs (
  run INTEGER PRIMARY KEY,
  date TEXT NOT NULL,            -- UTC
  program TEXT NOT NULL,
  version TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  host TEXT NOT NULL,
  cores INTEGER NOT NULL,        -- usable by rank 0
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

std::string utc_now() {
  std::time_t const t = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&t, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

[[noreturn]] void fail(std::string const& path, sqlite3* database, char const* doing) {
  std::string why = database != nullptr ? sqlite3_errmsg(database) : "out of memory";
  auto const code = database != nullptr ? sqlite3_errcode(database) & 0xff : SQLITE_NOMEM;
  auto const* const advice = code == SQLITE_FULL       ? "; free some space or give another file"
                             : code == SQLITE_NOTADB   ? "; give another file"
                             : code == SQLITE_BUSY     ? "; other jobs held the file for two minutes"
                             : code == SQLITE_CANTOPEN ? "; does the folder exist, and may you write there?"
                                                       : "";
  throw file_problem{"--results " + path + ": cannot " + doing + ": " + why + advice};
}

/// A prepared statement whose parameters are bound in order.
class statement {
 public:
  statement(std::string const& path, sqlite3* database, char const* sql) : path_(path), database_(database) {
    if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK)
      fail(path, database, "write");
  }
  ~statement() { sqlite3_finalize(statement_); }
  statement(statement const&) = delete;
  statement& operator=(statement const&) = delete;

  statement& bind(std::int64_t value) { return bound(sqlite3_bind_int64(statement_, ++bound_, value)); }
  statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
  statement& bind(double value) { return bound(sqlite3_bind_double(statement_, ++bound_, value)); }
  statement& bind(std::string const& value) {
    return bound(sqlite3_bind_text(statement_, ++bound_, value.c_str(), -1, SQLITE_TRANSIENT));
  }
  statement& bind_null() { return bound(sqlite3_bind_null(statement_, ++bound_)); }

  void run() {
    if (sqlite3_step(statement_) != SQLITE_DONE) fail(path_, database_, "write");
    sqlite3_reset(statement_);
    bound_ = 0;
  }

 private:
  statement& bound(int status) {
    if (status != SQLITE_OK) fail(path_, database_, "write");
    return *this;
  }

  std::string const& path_;
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

void execute(std::string const& path, sqlite3* database, char const* sql, char const* doing) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(path, database, doing);
}

/// Ends a transaction one way or the other.
class transaction {
 public:
  transaction(std::string const& path, sqlite3* database) : path_(path), database_(database) {
    execute(path, database, "BEGIN IMMEDIATE", "write");
  }
  ~transaction() {
    if (!committed_) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  transaction(transaction const&) = delete;
  transaction& operator=(transaction const&) = delete;
  void commit() {
    execute(path_, database_, "COMMIT", "write");
    committed_ = true;
  }

 private:
  std::string const& path_;
  sqlite3* database_;
  bool committed_ = false;
};

std::string grid_text(process_grid const& g) {
  return std::to_string(g[0]) + "x" + std::to_string(g[1]) + "x" + std::to_string(g[2]);
}

}  // namespace

results_file::results_file(std::string const& path) : path_(path) {
  if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) {
    auto* const database = std::exchange(database_, nullptr);
    auto const close = std::unique_ptr<sqlite3, int (*)(sqlite3*)>(database, sqlite3_close);
    fail(path, database, "open");
  }
  try {
    prepare_tables();
  } catch (...) {
    sqlite3_close(std::exchange(database_, nullptr));
    throw;
  }
}

void results_file::prepare_tables() {
  sqlite3_busy_timeout(database_, wait_ms);
  // Readers and a writer then do not wait for each other. Switching needs the file alone for a moment, and
  // SQLite does not wait for that by itself. Where the file system cannot do it the old mode stays, which is
  // safe too.
  for (int attempt = 0; attempt < 100; ++attempt) {
    auto const status = sqlite3_exec(database_, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
    if (status != SQLITE_BUSY && status != SQLITE_LOCKED) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  transaction writing(path_, database_);
  execute(path_, database_, schema, "create tables");
  // Files of earlier versions lack columns; those that are there already are refused.
  for (auto const* const column : {"devices INTEGER NOT NULL DEFAULT 0", "device TEXT NOT NULL DEFAULT ''"}) {
    auto const sql = std::string("ALTER TABLE runs ADD COLUMN ") + column;
    sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  }
  writing.commit();
}

results_file::~results_file() { sqlite3_close(database_); }

void results_file::add(run_record const& r) {
  auto const& p = r.physics;
  transaction writing(path_, database_);
  statement run(
      path_, database_,
      "INSERT INTO runs (date, program, version, commit_id, host, cores, ranks, grid, x, y, z, exchange, "
      "backend, steps, warmup, reduce_interval, t0, dt, q, sigma, power, initial, seconds, median_s, p10_s, "
      "p90_s, cells_per_s, comm_share, mean, passed, residual, devices, device) VALUES "
      "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  run.bind(utc_now()).bind(std::string("heat3d")).bind(std::string(version)).bind(std::string(commit_id));
  run.bind(host_name()).bind(usable_cores()).bind(r.ranks).bind(grid_text(r.grid));
  run.bind(p.domain[0]).bind(p.domain[1]).bind(p.domain[2]).bind(r.exchange).bind(r.backend);
  run.bind(p.update_n()).bind(r.warmup).bind(r.reduce_interval);
  run.bind(p.t0).bind(p.dt).bind(p.q).bind(p.sigma).bind(p.power);
  run.bind(std::string(p.start == initial::uniform ? "uniform" : "eigenmode"));
  run.bind(r.seconds).bind(r.median_s).bind(r.p10_s).bind(r.p90_s).bind(r.cells_per_s).bind(r.comm_share);
  run.bind(r.mean);
  if (r.checked) {
    run.bind(r.passed ? 1 : 0);
  } else {
    run.bind_null();
  }
  run.bind(r.residual).bind(r.devices).bind(r.device).run();

  std::int64_t const id = sqlite3_last_insert_rowid(database_);
  statement step(path_, database_, "INSERT INTO steps (run, step, max_s, rank0_s) VALUES (?,?,?,?)");
  for (std::size_t t = 0; t < r.step_max_s.size(); ++t) {
    step.bind(id).bind(static_cast<std::int64_t>(t)).bind(r.step_max_s[t]).bind(r.step_rank0_s[t]).run();
  }
  statement check(path_, database_,
                  "INSERT INTO checks (run, name, value, bound, passed, detail) VALUES (?,?,?,?,?,?)");
  for (auto const& c : r.checks) {
    check.bind(id).bind(c.name).bind(c.value).bind(c.limit).bind(c.passed() ? 1 : 0).bind(c.detail).run();
  }
  writing.commit();
}

}  // namespace heat3d
