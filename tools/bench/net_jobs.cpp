#include "net_jobs.hpp"

#include <chrono>
#include <cstdio>
#include <utility>

#include "child.hpp"
#include "statistics.hpp"

namespace atl::tools {
namespace {

using bench::record;

constexpr int few = 4;  ///< ranks of the small job
constexpr char const* layers = "self,vader,tcp";

/// Nanoseconds from the start of a job to its end, as its user waits.
template <class Job>
double time_of(Job const& job) {
  using clock = std::chrono::steady_clock;
  auto const begin = clock::now();
  job();
  return std::chrono::duration<double, std::nano>(clock::now() - begin).count();
}

}  // namespace

net_jobs::net_jobs(programs const& p, bench_options const& o, std::string transport, std::string prefix)
    : programs_(p), options_(o), transport_(std::move(transport)), prefix_(std::move(prefix)) {}

/// So that both are started in the same way.
bool net_jobs::by_mpirun() const {
  return programs_.open_mpi && options_.mpi && (options_.launcher.empty() || options_.launcher == "mpirun");
}

/// Of ours. Hosts take equal shares.
command_line net_jobs::job(int ranks) const {
  if (by_mpirun()) {
    command_line command = mpi_command_between(programs_, options_, ranks, layers);
    command.words.back() = programs_.net;
    return command;
  }
  command_line command = run_command(programs_, ranks, options_.hosts, options_.launcher);
  command.words.push_back(programs_.net);
  return command;
}

int net_jobs::listen_to(int ranks, std::vector<double>& held) const {
  command_line command = job(ranks);
  command.words.insert(command.words.end(), {"rows=job", "prefix=" + prefix_});
  if (options_.hosts.empty())
    command.environment.emplace_back("ATOLL_SIM_HOSTS", "2x" + std::to_string(ranks / 2));
  command.environment.emplace_back("ATOLL_TRANSPORTS", transport_);
  return listen(command, [&](std::string const& line) {
    auto const r = bench::decode(line);
    if (!r) {
      std::fprintf(stderr, "%s\n", line.c_str());
    } else if (r->kind == "value") {
      held.push_back(r->number("value"));
    }
  });
}

void net_jobs::measure_mpi() {
  if (!by_mpirun()) return;
  command_line command = mpi_command_between(programs_, options_, ranks(), layers);
  command.words.emplace_back("job=1");
  int status = 0;
  double const ns = time_of([&] { status = listen(command, [](std::string const&) {}); });
  if (status == 0) mpi_ns_.push_back(ns);
}

int net_jobs::run_once() {
  int status = listen_to(few, small_held_);
  if (status != 0) return status;
  start_ns_.push_back(time_of([&] { status = listen_to(ranks(), held_); }));
  if (status == 0) measure_mpi();
  return status;
}

double net_jobs::mpi_start_ns() const { return mpi_ns_.empty() ? 0 : median(mpi_ns_); }

std::vector<record> net_jobs::rows() const {
  std::vector<record> all;
  std::string const count = std::to_string(ranks());
  if (!start_ns_.empty()) {
    all.push_back({"row",
                   {{"suite", "net"},
                    {"key", prefix_ + "job.start"},
                    {"name", "start and end of a job"},
                    {"bytes", "0"},
                    {"ranks", count},
                    {"iterations", "1"},
                    {"show", "time"},
                    {"limit", "none"},
                    {"ns", joined(start_ns_)}}});
  }
  if (!held_.empty() && !small_held_.empty()) {
    char more[40];
    std::snprintf(more, sizeof more, "%.3f", (median(held_) - median(small_held_)) / (1 << 20));
    all.push_back({"value",
                   {{"suite", "net"},
                    {"key", prefix_ + "job.memory"},
                    {"name", "memory of a rank, more than in a job of " + std::to_string(few)},
                    {"ranks", count},
                    {"value", more},
                    {"unit", "MiB"}}});
  }
  return all;
}

}  // namespace atl::tools
