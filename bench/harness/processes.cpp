#include "processes.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "options.hpp"

namespace atl::bench {
namespace {

pid_t volatile child = 0;

/// The rank that is left would wait for the other one for ever.
void end_if_child_failed(int) {
  siginfo_t end{};
  if (waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid == 0)
    return;
  if (end.si_code != CLD_EXITED) _exit(2);
  if (end.si_status != 0) _exit(end.si_status);
}

}  // namespace

pair_options pair_options_of(int argc, char** argv) {
  pair_options o;
  for (int i = 1; i < argc; ++i) {
    option const given = option_of(argv[i]);
    if (given.name == "device_sizes") {
      o.device_sizes = sizes_of(given.value);
    } else {
      take_measuring(o.config, given);
    }
  }
  if (o.device_sizes.empty()) o.device_sizes = {8};
  return o;
}

void* map_shared(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) return memory;
  std::perror("atoll bench: no memory for two processes");
  std::exit(2);
}

int run_pair(group_config const& config, shared_lines& lines, std::function<void(group_config)> const& run) {
  pid_t const parent = getpid();
  child = fork();
  if (child < 0) {
    std::perror("atoll bench: cannot start a second process");
    return 2;
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) return 2;
  } else {
    std::signal(SIGCHLD, end_if_child_failed);
    end_if_child_failed(SIGCHLD);  // it may have been quicker
  }
  group_config own = config;
  own.rank = child == 0 ? 1 : 0;
  own.ranks = 2;
  own.shared = &lines;
  own.idle = [] { pause(); };
  run(own);
  if (child == 0) return 0;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

}  // namespace atl::bench
