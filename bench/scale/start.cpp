#include "scale/start.hpp"

#include <linux/capability.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <atoll/engine/job.hpp>

#include "base/bell_events.hpp"
#include "engine/world.hpp"
#include "scale/model.hpp"

namespace atl::scale {
namespace {

/// Private memory that something takes and keeps. In a thread of its own, with the memory of this one: what the C library keeps ready for a
/// thread counts as used, and goes back when that ends.
template <class Something>
std::size_t heap_taken_by(Something const& something) {
  ::mallopt(M_ARENA_MAX, 1);
  std::size_t const before = model::heap_in_use();
  std::thread(something).join();
  return model::heap_in_use() - before;
}

/// Gives up what lets a process of the administrator have more than the limit.
void limit_open_files(std::uint64_t most) {
  rlimit const both{most, most};
  __user_cap_header_struct of_this{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  if (::setrlimit(RLIMIT_NOFILE, &both) != 0 || ::syscall(SYS_capset, &of_this, none) != 0)
    throw std::runtime_error("cannot lower the limit of open files");
}

[[noreturn]] void be_rank(virtual_launcher& launcher, std::int32_t rank, ::pid_t parent,
                          std::uint64_t open_files) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(EXIT_FAILURE);
  launcher.become(rank);
  int status = EXIT_SUCCESS;
  launcher.mine().heap = heap_taken_by([&] {
    try {
      if (open_files != 0) limit_open_files(open_files);
      engine::start(false);
      launcher.mine().is_rung = bell_event(static_cast<std::uint32_t>(engine::job.local_rank)) >= 0;
    } catch (std::exception const& failure) {
      std::fprintf(stderr, "start of rank %d: %s\n", static_cast<int>(rank), failure.what());
      launcher.end();
      status = EXIT_FAILURE;
    }
  });
  ::_exit(status);
}

/// Of one child of the group; false when there is none left.
bool await_one(::pid_t group, int& status) {
  for (;;) {
    ::pid_t const ended = ::waitpid(-group, &status, 0);
    if (ended > 0) return true;
    if (errno != EINTR) return false;
  }
}

}  // namespace

start_tally play_start(job_shape const& shape, std::uint64_t open_files) {
  auto const remove = [](virtual_launcher* l) { l->remove(); };
  std::unique_ptr<virtual_launcher, decltype(remove)> const launcher(virtual_launcher::make(shape), remove);
  std::vector<std::int32_t> const ranks = launcher->played();
  ::pid_t const parent = ::getpid();
  ::pid_t group = 0;
  std::string problem;
  std::fflush(nullptr);
  for (std::int32_t const rank : ranks) {
    ::pid_t const child = ::fork();
    if (child == 0) be_rank(*launcher, rank, parent, open_files);
    if (child < 0) {
      problem = "cannot make a process for each of " + std::to_string(ranks.size()) + " ranks";
      launcher->end();
      break;
    }
    if (group == 0) group = child;
    ::setpgid(child, group);  // to wait for these and no others
  }
  int status = 0;
  while (group != 0 && await_one(group, status)) {
    if (status == 0) continue;
    if (problem.empty()) problem = "a rank has failed at start";
    launcher->end();
  }
  if (!problem.empty()) throw std::runtime_error(problem);

  start_tally t;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    rank_at_start const& seen = launcher->of_played(i);
    t.played.push_back(seen);
    t.sent += seen.sent;
    for (std::size_t n = 0; n < t.time.size(); ++n) t.time[n] = std::max(t.time[n], seen.clock[n]);
  }
  auto const hosts = static_cast<unsigned>(shape.hosts());
  t.meetings = t.first().job_meetings;
  t.exchanges = t.first().host_meetings;
  t.of_launcher = t.meetings * 2 * (hosts - 1);
  t.of_launcher_bytes = launcher->bytes_between();
  t.steps = t.meetings * 2 * static_cast<std::uint64_t>(std::bit_width(hosts - 1));
  return t;
}

}  // namespace atl::scale
