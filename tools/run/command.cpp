#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/os/standard_streams.hpp"
#include "command.hpp"
#include "run/command_line.hpp"
#include "run/facts.hpp"
#include "run/hosts/cluster_job.hpp"
#include "run/job.hpp"
#include "run/options.hpp"
#include "run/show.hpp"
#include "run/spawn.hpp"

namespace atl::tools {
namespace {

/// The facts that are embedded in a program; the exit status.
int print_facts(std::string const& program) {
  int status = 0;
  std::string const path = find_program(program, status);
  if (path.empty()) return status;
  std::string const facts = program_facts(path);
  if (facts.empty()) {
    std::fprintf(stderr, "atoll run: %s was not compiled with the library's headers\n", path.c_str());
    return 1;
  }
  std::fputs(facts.c_str(), stdout);
  return 0;
}

/// The same as run(), by a launcher of clusters.
int run_on_hosts(run_options const& options) {
  cluster_plan plan;
  try {
    plan = plan_cluster(options);
  } catch (startup_error const& error) {
    std::fprintf(stderr, "atoll run: %s\n", error.what());
    return exit_status::usage;
  }
  if (options.show) {
    show_words(plan.words, options);
    return 0;
  }
  std::fprintf(stderr, "atoll run: starting by %s\n", plan.by.words.c_str());
  if (options.verbosity > 0) {
    std::fprintf(stderr, "atoll run: job %s, as `atoll picture` knows it\n", plan.id.c_str());
    show_words(plan.words, options, stderr);
  }
  return run_cluster(plan, options);
}

/// Starts the job, or prints what would be started; the exit status.
int run(run_options options) {
  int status = 0;
  options.path = find_program(options.program, status);
  if (options.path.empty()) return status;
  for (auto const& remark : options.remarks) std::fprintf(stderr, "atoll run: %s\n", remark.c_str());
  try {
    if (options.cluster) return run_on_hosts(options);
    if (!options.show) return job(options).run();
    show_command(options);
    return 0;
  } catch (startup_error const& error) {
    std::fprintf(stderr, "atoll run: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int run_command(int argc, char** argv) {
  os::open_standard_streams();
  std::optional<command_line> line;
  run_options options;
  try {
    line = read_command_line(argc, argv);
    if (!line) return 0;
    if (!line->facts) {
      raise_file_limit();
      options = checked_options(*line);
    } else if (line->words.empty()) {
      throw startup_error("no program given");
    }
  } catch (startup_error const& error) {
    std::fprintf(stderr, "atoll run: %s\n", error.what());
    return exit_status::usage;
  }
  return line->facts ? print_facts(line->words.front()) : run(std::move(options));
}

}  // namespace atl::tools
