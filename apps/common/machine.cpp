// A run counts as disturbed if a rank was ready to run but had no core for more than a hundredth of the time, although
// there were cores for all that its job keeps busy: then somebody else had them.

#include "common/machine.hpp"

#include <dlfcn.h>
#include <sqlite3.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "common/core_watch.hpp"
#include "common/host.hpp"

namespace apps {
namespace {

constexpr double tolerated = 0.01;

constexpr char const* schema = R"sql(
CREATE TABLE IF NOT EXISTS machines (
  runs TEXT NOT NULL,            -- name of a table of runs
  run INTEGER NOT NULL,          -- in that table
  processor TEXT NOT NULL,
  processors INTEGER NOT NULL,   -- of the machine; usable ones are in the table of runs
  memory_bytes REAL NOT NULL,    -- available at the end
  system TEXT NOT NULL,
  compiler TEXT NOT NULL,
  mpi TEXT NOT NULL,
  load REAL,                     -- of the minute before the run: processes that want to run
  waited REAL,                   -- share of its time that the rank was kept from a core that was most; null: not known
  disturbed INTEGER,             -- 1: by others; null: not known
  hosts INTEGER,                 -- that the ranks are on; null: not known
  placement TEXT,                -- which ranks are on which
  network TEXT,                  -- settings of what is between them, and between simulated ones
  PRIMARY KEY (runs, run)
) WITHOUT ROWID;
)sql";

/// Files of earlier versions lack these columns.
constexpr char const* later[] = {"ALTER TABLE machines ADD COLUMN hosts INTEGER",
                                 "ALTER TABLE machines ADD COLUMN placement TEXT",
                                 "ALTER TABLE machines ADD COLUMN network TEXT"};

/// Settings without which a run on several hosts, or on simulated ones, would be another. On one host they do nothing.
std::string network_settings(int hosts) {
  auto const value = [](char const* name) {
    char const* const set = std::getenv(name);
    return std::string(set != nullptr ? set : "");
  };
  std::string text;
  if (hosts == 1 && value("ATOLL_SIM_HOSTS").empty()) return text;
  for (char const* const name :
       {"ATOLL_SIM_HOSTS", "ATOLL_SIM_NETWORK", "ATOLL_TRANSPORTS", "ATOLL_NET_DEVICES"}) {
    if (!value(name).empty()) text += (text.empty() ? "" : " ") + std::string(name) + "=" + value(name);
  }
  return text;
}

double load_average() {
  double value = 0;
  return getloadavg(&value, 1) == 1 ? value : NAN;
}

std::string system_name() {
  utsname system{};
  uname(&system);
  return std::string(system.sysname) + " " + system.release + ", " + system.machine;
}

}  // namespace

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    for (char const* const name : {"model name", "Model", "cpu model"}) {
      auto const colon = line.find(": ");
      if (line.starts_with(name) && colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  utsname system{};
  uname(&system);
  return system.machine;
}

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

std::string mpi_library() {
  // Only variants in message passing link it; asking the dynamic linker keeps this file out of their build.
  using function = int (*)(char*, int*);
  void* const found = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
  if (found == nullptr) return "none";
  std::array<char, 8192> text{};  // more than MPI_MAX_LIBRARY_VERSION_STRING of any library
  int length = 0;
  reinterpret_cast<function>(found)(text.data(), &length);
  std::string const all = text.data();
  return all.substr(0, all.find_first_of(",\n"));
}

machine::machine() : load_(load_average()) {}

void machine::prepare(database& in) {
  transaction writing(in);
  in.execute(schema, "create tables");
  for (auto const* const sql : later) sqlite3_exec(in.handle(), sql, nullptr, nullptr, nullptr);
  writing.commit();
}

void machine::add(database& to, char const* runs, std::int64_t run, int busy, double waited,
                  placement const& where) const {
  bool const known = waited != core_watch::unknown;
  std::optional<std::int64_t> disturbed;
  if (known && busy <= where.cores) disturbed = waited > tolerated ? 1 : 0;
  statement row(to, "INSERT INTO machines VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  row.bind(std::string(runs)).bind(run);
  row.bind(processor_model()).bind(known_cores()).bind(available_bytes());
  row.bind(system_name()).bind(compiler()).bind(mpi_library());
  row.bind(load_).bind(known ? waited : NAN).bind(disturbed);  // NAN becomes null
  row.bind(where.hosts).bind(where.text).bind(network_settings(where.hosts)).run();
}

}  // namespace apps
