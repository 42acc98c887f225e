#include "processes.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "options.hpp"

namespace atl::bench {
namespace {

/// Complete before the handler below looks at it. Not all children of this process: libraries have theirs.
std::vector<pid_t>* others = nullptr;

/// The status that the program ends with, if a rank has ended so.
int status_after(siginfo_t const& end) { return end.si_code == CLD_EXITED ? end.si_status : 2; }

/// The ranks that are left would wait for one that failed for ever.
void end_if_another_failed(int) {
  for (pid_t const each : *others) {
    siginfo_t end{};
    if (waitid(P_PID, static_cast<id_t>(each), &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid == 0)
      continue;
    if (int const status = status_after(end); status != 0) _exit(status);
  }
}

/// The rank of this process.
int start_others(int ranks) {
  pid_t const parent = getpid();
  others = new std::vector<pid_t>;  // stays, as a signal may come at any time
  for (int rank = 1; rank < ranks; ++rank) {
    pid_t const child = fork();
    if (child < 0) {
      std::perror("atoll bench: cannot start another process");
      std::exit(2);
    }
    if (child > 0) {
      others->push_back(child);
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) std::_Exit(2);
    return rank;
  }
  std::signal(SIGCHLD, end_if_another_failed);
  end_if_another_failed(SIGCHLD);  // it may have been quicker
  return 0;
}

}  // namespace

process_options process_options_of(int argc, char** argv) {
  process_options o;
  o.config.ranks = 2;
  for (int i = 1; i < argc; ++i) {
    option const given = option_of(argv[i]);
    if (given.name == "device_sizes") {
      o.device_sizes = sizes_of(given.value);
    } else if (given.name == "ranks") {
      o.config.ranks = std::atoi(given.value.c_str());
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
  std::perror("atoll bench: no memory for several processes");
  std::exit(2);
}

void round_table::meet(int ranks) {
  auto const all = static_cast<std::uint64_t>(ranks);
  std::uint64_t const round_end = (arrived_.fetch_add(1, std::memory_order_acq_rel) / all + 1) * all;
  while (arrived_.load(std::memory_order_acquire) < round_end) sched_yield();
}

void round_table::share(int rank, int ranks, std::uint64_t& value) {
  if (rank == 0) value_.store(value, std::memory_order_relaxed);
  meet(ranks);
  value = value_.load(std::memory_order_relaxed);
  meet(ranks);  // before it is written again
}

int run_processes(group_config const& config, common_place& place,
                  std::function<void(group_config)> const& run) {
  group_config own = config;
  int const rank = start_others(config.ranks);
  own.rank = rank;
  own.idle = [] { pause(); };
  if (own.ranks == 2) {
    own.shared = &place.lines;
  } else {
    own.barrier = [&place, n = own.ranks] { place.table.meet(n); };
    own.share = [&place, rank, n = own.ranks](std::uint64_t& value) { place.table.share(rank, n, value); };
  }
  run(own);
  if (rank != 0) return 0;
  // If one fails now, the handler ends this one.
  for (pid_t const each : *others) {
    siginfo_t end{};
    waitid(P_PID, static_cast<id_t>(each), &end, WEXITED | WNOWAIT);
    if (int const status = status_after(end); status != 0) return status;
  }
  return 0;
}

}  // namespace atl::bench
