#include "run/keeper.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/os/pipe.hpp"
#include "run/descendants.hpp"
#include "run/spawn.hpp"

namespace atl::tools {
namespace {

void end_orphans(bootstrap::board const& of) {
  auto const& head = of.header();
  for (std::uint32_t rank = 0; rank < head.ranks; ++rank) {
    int const group = of.slot(static_cast<int>(rank)).spawned_pid.load(std::memory_order_acquire);
    if (group > 1) ::kill(-group, SIGKILL);
  }
  // Members of other groups; a few rounds, because they may be starting more while we look.
  std::string const mark = std::string(":") + head.job_id;
  for (int round = 0; round < 5 && kill_by_environment(mark) > 0; ++round) ::usleep(20'000);
}

[[noreturn]] void keep(bootstrap::board const& of, int pipe) {
  ::setsid();  // keys pressed at the terminal are for the launcher
  ::prctl(PR_SET_NAME, "atoll-keeper");
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  if (pipe > 0) ::close_range(0, static_cast<unsigned>(pipe) - 1, 0);
  ::close_range(static_cast<unsigned>(pipe) + 1, ~0U, 0);
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(pipe, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 0) end_orphans(of);  // closed without a word: the launcher is dead
  ::_exit(0);
}

}  // namespace

keeper::keeper(bootstrap::board const& of) {
  os::pipe_ends ends = os::make_pipe();
  pid_ = ::fork();
  if (pid_ < 0) throw startup_error("cannot start a process beside the ranks: " + why_no_process(errno));
  if (pid_ == 0) {
    ends.writing.reset();
    keep(of, ends.reading.get());
  }
  pipe_ = std::move(ends.writing);
}

keeper::~keeper() {
  // SIGPIPE is ignored by the launcher: the keeper may have been killed.
  [[maybe_unused]] ssize_t const sent = ::write(pipe_.get(), "q", 1);
  pipe_.reset();
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace atl::tools
