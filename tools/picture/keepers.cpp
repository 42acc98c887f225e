#include "picture/keepers.hpp"

#include <csignal>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/os/processes.hpp"
#include "bootstrap/keeper/orders.hpp"

namespace atl::tools {
namespace {

/// What `atoll run` has called the job of a keeper; empty: it was started by another launcher.
std::string job_of(int process) {
  std::string const environment = os::read_environment(process).value_or("");
  return std::string(os::value_in(environment, keeping::job_variable).value_or(""));
}

}  // namespace

int ask_keepers(std::string const& job) {
  std::set<std::string> jobs;
  int nameless = 0;
  for (int const process : os::process_numbers()) {
    std::error_code error;
    auto const program = std::filesystem::read_symlink(format("/proc/%d/exe", process), error);
    if (error || program.filename() != keeping::program_name) continue;
    std::string const name = job_of(process);
    if (!job.empty() && name != job) continue;
    if (::kill(process, SIGQUIT) != 0) continue;
    if (name.empty()) {
      ++nameless;
    } else {
      jobs.insert(name);
    }
  }
  return static_cast<int>(jobs.size()) + nameless;
}

}  // namespace atl::tools
