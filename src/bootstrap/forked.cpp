#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>

#include "base/error.hpp"
#include "base/os/exit_status.hpp"
#include "base/os/memfd.hpp"
#include "base/os/processes.hpp"
#include "bootstrap/board.hpp"
#include "bootstrap/factories.hpp"

// A job without a launcher: `GASNET_PSHM_NODES=4 ./program`. The process becomes four at its first init, so
// that what the program did before happened once. The original waits for them and says little: `atoll run`
// says what happened, and binds to cores.

namespace atl::bootstrap {
namespace {

constexpr int look_every_ms = 250;
constexpr int missed_for_ms = 1000;  ///< a rank, before that is told
constexpr int grace_ms = 1000;

struct child {
  ::pid_t pid = -1;
  bool running = true;
};

void signal_all(std::vector<child> const& children, int signal) {
  for (child const& c : children) {
    if (c.running) ::kill(c.pid, signal);
  }
}

/// Waits until a child has ended, or at most `patience_ms`; its index, or -1.
int wait_for_one(std::vector<child>& children, int& wait_status, int patience_ms) {
  for (int waited = 0;;) {
    for (std::size_t i = 0; i < children.size(); ++i) {
      // By number: the program may have other children, which are not ours to reap.
      if (!children[i].running || ::waitpid(children[i].pid, &wait_status, WNOHANG) != children[i].pid)
        continue;
      children[i].running = false;
      return static_cast<int>(i);
    }
    if (waited >= patience_ms) return -1;
    ::usleep(10'000);
    waited += 10;
  }
}

/// Says why a rank's end is a failure; empty when it is none.
std::string explain(rank_state state, int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return format("was killed by signal %d (%s)", WTERMSIG(wait_status), ::strsignal(WTERMSIG(wait_status)));
  }
  bool const left_peers = state == rank_state::attached || state == rank_state::initialized;
  if (left_peers)
    return format("exited with status %d without calling upcxx::finalize()", WEXITSTATUS(wait_status));
  return {};
}

/// A rank that has ended well is no failure, unless others come to upcxx::init() again: they wait for all. That rank, or -1.
int missed_rank(board const& of, std::vector<child> const& children) {
  // Relaxed: nothing else is read.
  if (of.header().arrived.load(std::memory_order_relaxed) == 0) return -1;
  auto const ended =
      std::find_if(children.begin(), children.end(), [](child const& c) { return !c.running; });
  return ended == children.end() ? -1 : static_cast<int>(ended - children.begin());
}

/// While the original waits, of a signal that the program handles: it is for the ranks, which the program is now.
std::vector<child> const* handed_to = nullptr;
void hand_on(int signal) {
  int const error = errno;
  signal_all(*handed_to, signal);
  errno = error;
}
/// Those without a handler end the original, and the ranks with it. Terminals send theirs (SIGINT, SIGHUP) to all by themselves; from who sends
/// others to a whole group they come twice.
void hand_on_signals(std::vector<child> const& children) {
  handed_to = &children;
  for (int const signal : {SIGTERM, SIGUSR1, SIGUSR2}) {
    struct sigaction of_program {};
    ::sigaction(signal, nullptr, &of_program);
    if (of_program.sa_handler == SIG_DFL || of_program.sa_handler == SIG_IGN) continue;
    struct sigaction passing {};
    passing.sa_handler = &hand_on;
    ::sigaction(signal, &passing, nullptr);
  }
}

/// Waits for all ranks; the exit status of the job.
int supervise(board& of, std::vector<child>& children) {
  hand_on_signals(children);
  int result = 0;
  bool ending = false;
  int missed_ms = 0;
  auto const end = [&](int status) {
    if (result == 0) result = status;
    ending = true;
    of.end();
    signal_all(children, SIGTERM);
  };
  auto const anyone = [&] {
    return std::any_of(children.begin(), children.end(), [](child const& c) { return c.running; });
  };
  while (anyone()) {
    int wait_status = 0;
    int const rank = wait_for_one(children, wait_status, ending ? grace_ms : look_every_ms);
    if (ending) {
      if (rank < 0) signal_all(children, SIGKILL);
      continue;
    }
    if (rank < 0) {
      int const missed = missed_rank(of, children);
      missed_ms = missed < 0 ? 0 : missed_ms + look_every_ms;
      if (missed_ms <= missed_for_ms) continue;
      std::fprintf(stderr,
                   "atoll: rank %d has ended, and others wait for it in upcxx::init(); the job ends\n",
                   missed);
      end(1);
      continue;
    }
    int const status = os::exit_status_of(wait_status);
    rank_state const state = of.slot(rank).diagnostics.state.load(std::memory_order_acquire);
    std::string const why = of.abort_rank() >= 0 ? "" : explain(state, wait_status);
    if (!why.empty()) {
      std::fprintf(stderr, "atoll: rank %d %s; `upcxx-run -n %zu` would say where\n", rank, why.c_str(),
                   children.size());
    }
    if (why.empty() && of.abort_rank() < 0) {
      if (result == 0) result = status;  // after finalize: the others finish by themselves
      continue;
    }
    end(of.abort_rank() >= 0 ? of.abort_status() : std::max(status, 1));
  }
  return result;
}

}  // namespace

std::unique_ptr<channel> make_forked(int ranks) {
  if (os::threads_of(::getpid()) > 1) {
    throw startup_error(
        format("GASNET_PSHM_NODES=%d: the process has several threads and cannot be copied; start it with "
               "`upcxx-run -n %d`, or call upcxx::init earlier",
               ranks, ranks));
  }
  // Each copy would write what is waiting here.
  std::cout.flush();
  std::fflush(nullptr);
  board shared = board::create(ranks, os::random_hex(16), {});
  ::pid_t const original = ::getpid();
  // How ranks end could not be asked where the program, or who started it, ignores that or waits for all children.
  struct sigaction standard {};
  struct sigaction of_program {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &standard, &of_program);
  std::vector<child> children;
  for (int rank = 0; rank < ranks; ++rank) {
    ::pid_t const pid = ::fork();
    if (pid < 0) {
      int const error = errno;
      signal_all(children, SIGKILL);
      ::sigaction(SIGCHLD, &of_program, nullptr);
      throw startup_error(
          format("GASNET_PSHM_NODES=%d: cannot start rank %d: %s", ranks, rank, std::strerror(error)));
    }
    if (pid > 0) {
      children.push_back({pid});
      continue;
    }
    ::sigaction(SIGCHLD, &of_program, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != original) ::_exit(128 + SIGKILL);
    ::setenv(
        job_variable,
        format("%d:%d:%s", shared.descriptor(), static_cast<int>(original), shared.header().job_id).c_str(),
        1);
    ::setenv(rank_variable, format("%d", rank).c_str(), 1);
    std::string reason;
    auto made = make_local(reason);
    if (made == nullptr) throw startup_error(reason);
    shared.leave_descriptor();  // the channel closes it
    return made;
  }
  int const status = supervise(shared, children);
  // What the program has registered to happen at exit, its ranks have done.
  ::_exit(status);
}

}  // namespace atl::bootstrap
