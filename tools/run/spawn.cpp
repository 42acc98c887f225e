#include "run/spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/os/descriptor_limit.hpp"
#include "base/os/search_path.hpp"
#include "run/signals.hpp"

extern char** environ;

namespace atl::tools {
namespace {

std::optional<rlimit> file_limit_before;  ///< none: this process has not raised it

/// Variables by which PMIx servers and MPI launchers recognise their own processes. A rank of ours is none of
/// those, even when `atoll run` itself was started by one.
bool belongs_to_other_launcher(std::string_view line, bool under_pmix) {
  for (std::string_view const prefix :
       {"PMIX_", "PMI_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_",
        "ATOLL_JOB=", "ATOLL_RANK=", "ATOLL_TERMINAL=", "ATOLL_JOB_ENDS=", "ATOLL_CLUSTER_JOB="}) {
    if (line.starts_with(prefix)) return true;
  }
  if (!under_pmix) return false;
  for (std::string_view const prefix : {"OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix", "PRTE_"}) {
    if (line.starts_with(prefix)) return true;
  }
  return false;
}

void set(std::vector<std::string>& environment, std::string const& line) {
  std::string const name = line.substr(0, line.find('=') + 1);
  std::erase_if(environment, [&](std::string const& have) { return have.starts_with(name); });
  environment.push_back(line);
}

/// In the new process, between fork and exec. Everything that allocates has been done before.
[[noreturn]] void become_rank(run_options const& options, rank_start const& how, int board_descriptor,
                              int launcher, char* const* arguments, char* const* environment) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(exit_status::signal_base + SIGKILL);
  ::dup2(how.input, STDIN_FILENO);
  ::dup2(how.output, STDOUT_FILENO);
  ::dup2(how.errors, STDERR_FILENO);
  ::fcntl(board_descriptor, F_SETFD, 0);
  cpu_set_t mine;
  CPU_ZERO(&mine);
  for (int const core : how.cores) {
    if (core < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(core), &mine);
  }
  if (CPU_COUNT(&mine) != 0) ::sched_setaffinity(0, sizeof mine, &mine);
  restore_file_limit();
  forget_signals();
  ::execve(options.path.c_str(), arguments, environment);
  if (errno == ENOEXEC) {
    // A script without "#!" line: what a shell would do.
    char shell[] = "/bin/sh";
    char* const first = arguments[0];
    const_cast<char**>(arguments)[0] = const_cast<char*>(options.path.c_str());
    std::vector<char*> longer{shell};
    for (char* const* at = arguments; *at != nullptr; ++at) longer.push_back(*at);
    longer.push_back(nullptr);
    ::execve(shell, longer.data(), environment);
    const_cast<char**>(arguments)[0] = first;
  }
  exec_failure const failure{how.rank, errno};
  [[maybe_unused]] ssize_t const sent = ::write(how.failure_pipe, &failure, sizeof failure);
  ::_exit(exit_status::not_found);
}

}  // namespace

std::string why_no_process(int error) {
  return format("%s; the limit on processes (ulimit -u, or the control group's pids.max) may be too low",
                std::strerror(error));
}

std::vector<char*> pointers_to(std::vector<std::string> const& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto const& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> rank_environment(run_options const& options) {
  bool const under_pmix = std::getenv("PMIX_NAMESPACE") != nullptr;
  std::vector<std::string> environment;
  for (char** at = environ; *at != nullptr; ++at) {
    if (!belongs_to_other_launcher(*at, under_pmix)) environment.emplace_back(*at);
  }
  // Programs look at it for the number of ranks; what the console has may be another number.
  set(environment, format("GASNET_PSHM_NODES=%d", options.ranks));
  for (auto const& line : options.environment) set(environment, line);
  return environment;
}

int spawn(run_options const& options, bootstrap::board const& board,
          std::vector<std::string> const& environment, rank_start const& how) {
  std::vector<std::string> own = environment;
  own.push_back(format("%s=%d:%d:%s", bootstrap::job_variable, board.descriptor(),
                       static_cast<int>(::getpid()), board.header().job_id));
  own.push_back(format("%s=%d", bootstrap::rank_variable, how.rank));
  struct stat output {};
  if (how.on_screen && ::fstat(how.output, &output) == 0) {
    own.push_back(format("%s=%llu:%llu", terminal_variable, static_cast<unsigned long long>(output.st_dev),
                         static_cast<unsigned long long>(output.st_ino)));
  }
  std::vector<std::string> words{options.program};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  auto const argument_pointers = pointers_to(words);
  auto const environment_pointers = pointers_to(own);
  int const launcher = ::getpid();
  int const pid = ::fork();
  if (pid < 0) {
    throw startup_error(
        format("cannot start rank %d of %d: %s", how.rank, options.ranks, why_no_process(errno).c_str()));
  }
  if (pid == 0) {
    become_rank(options, how, board.descriptor(), launcher, argument_pointers.data(),
                environment_pointers.data());
  }
  ::setpgid(pid, pid);  // both sides do it: whoever comes first
  return pid;
}

std::string find_program(std::string const& name, int& status) {
  if (name.empty()) {
    std::fprintf(stderr, "atoll run: the program's name is empty: is it a variable that is not set?\n");
    status = exit_status::not_found;
    return {};
  }
  std::vector<std::string> candidates;
  if (name.find('/') != std::string::npos) {
    candidates.push_back(name);
  } else {
    candidates = os::places_on_path(name);
    candidates.push_back("./" + name);
    // Programs installed with this one, where its folder is not in PATH.
    std::error_code error;
    auto const self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) candidates.push_back((self.parent_path() / name).string());
  }
  std::string refused;
  for (auto const& path : candidates) {
    if (os::is_program(path)) return path;
    if (refused.empty() && ::access(path.c_str(), F_OK) == 0) refused = path;
  }
  if (!refused.empty()) {
    struct stat info {};
    bool const folder = ::stat(refused.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    std::fprintf(stderr, "atoll run: cannot run %s: %s\n", refused.c_str(),
                 folder ? "it is a directory" : "no permission to execute it");
    status = exit_status::not_executable;
  } else {
    std::fprintf(stderr, "atoll run: cannot find %s%s\n", name.c_str(),
                 name.find('/') == std::string::npos ? " in PATH or in the current directory" : "");
    status = exit_status::not_found;
  }
  return {};
}

void raise_file_limit() {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) == 0) file_limit_before = before;
  os::want_descriptors(RLIM_INFINITY);
}

void restore_file_limit() {
  if (file_limit_before) ::setrlimit(RLIMIT_NOFILE, &*file_limit_before);
}

int most_ranks() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t own = 64;       // our own files
  constexpr rlim_t each_rank = 4;  // output, errors, input, and one to spare
  rlim_t const files = std::min<rlim_t>(limit.rlim_max, 1 << 20);
  return static_cast<int>(files > own ? (files - own) / each_rank : 1);
}

}  // namespace atl::tools
