#include "picture/keepers.hpp"

#include <csignal>
#include <filesystem>

#include "base/error.hpp"
#include "bootstrap/keeper/orders.hpp"
#include "run/descendants.hpp"

namespace atl::tools {

int ask_keepers(std::string const& job) {
  std::string const mark = std::string(keeping::job_variable) + "=" + job;
  int asked = 0;
  for (int const process : all_processes()) {
    std::error_code error;
    auto const program = std::filesystem::read_symlink(format("/proc/%d/exe", process), error);
    if (error || program.filename() != keeping::program_name) continue;
    if (!job.empty() && !has_in_environment(process, mark)) continue;
    if (::kill(process, SIGQUIT) == 0) ++asked;
  }
  return asked;
}

}  // namespace atl::tools
