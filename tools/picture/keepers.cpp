#include "picture/keepers.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/os/cgroup.hpp"
#include "bootstrap/keeper/orders.hpp"
#include "run/descendants.hpp"

namespace atl::tools {
namespace {

/// What `atoll run` has called the job of a keeper; empty: it was started by another launcher.
std::string job_of(int process) {
  std::string const begin = std::string(keeping::job_variable) + "=";
  std::string const text = os::read_small_file(format("/proc/%d/environ", process)).value_or("");
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find('\0', at), text.size());
    std::string_view const line = std::string_view(text).substr(at, end - at);
    if (line.starts_with(begin)) return std::string(line.substr(begin.size()));
    at = end + 1;
  }
  return {};
}

}  // namespace

int ask_keepers(std::string const& job) {
  std::set<std::string> jobs;
  int nameless = 0;
  for (int const process : all_processes()) {
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
