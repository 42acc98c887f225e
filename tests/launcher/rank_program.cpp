// What the tests of `atoll run` start: a program that knows the bootstrap layer only,
// and misbehaves on request.
//
//   rank_program MODE [arguments]

#include <fcntl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/os/memfd.hpp"
#include "bootstrap/bootstrap.hpp"
#include "engine/world.hpp"

namespace {

using atl::activity;
using atl::rank_state;
using atl::bootstrap::attach;
using atl::bootstrap::channel;

int volatile sink_of_values = 0;

/// As the library of UCX has it.
extern "C" [[gnu::noinline]] void ucs_fatal_error_message() { std::abort(); }

/// The function whose name the backtraces must show.
[[gnu::noinline]] void function_that_crashes(int* where) {
  *where = 42;
  sink_of_values = 1;
}

[[gnu::noinline]] int function_that_calls_nothing() {
  int (*volatile nothing)() = nullptr;
  return nothing() + sink_of_values;
}

[[gnu::noinline]] int function_that_recurses(int depth) {
  char volatile block[4096];
  block[0] = static_cast<char>(depth);
  if (sink_of_values == -1) return 0;  // never: keeps compilers from remarking on the recursion
  return function_that_recurses(depth + 1) + block[0];
}

[[gnu::noinline]] void function_that_hangs() {
  for (;;) ::usleep(50'000);
}

/// Initialises as the library would, up to the point where a rank counts as running.
channel& init() {
  channel& c = attach();
  c.exchange("init");
  c.mark(rank_state::initialized);
  return c;
}

void enter(channel& c, activity what, int peer) {
  auto& d = c.diagnostics();
  d.waits_for = peer;
  d.entered_ns = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  d.waits_in = what;
}

int check_exchange() {
  channel& c = attach();
  auto const& where = c.where();
  for (int round = 0; round < 20; ++round) {
    // Lengths from nothing to the limit, different on every rank and in every round.
    auto const length = [&](int rank) { return static_cast<std::size_t>((rank * 331 + round * 97) % 1025); };
    auto const all =
        c.exchange(std::string(length(where.local_rank), static_cast<char>('a' + where.local_rank)));
    if (static_cast<int>(all.size()) != where.local_size) return 10;
    for (int rank = 0; rank < where.local_size; ++rank) {
      if (all[static_cast<std::size_t>(rank)] != std::string(length(rank), static_cast<char>('a' + rank)))
        return 11;
    }
  }
  if (static_cast<int>(c.exchange_machine("").size()) != where.size) return 13;
  for (int card = 0; card < 2; ++card) {
    auto const text = [&](int host, std::uint32_t local_rank) {
      return std::to_string(card) + ":" + std::to_string(host) + "." + std::to_string(local_rank);
    };
    // The last to publish is asked first.
    if (where.rank == where.size - 1) ::usleep(20'000);
    c.publish(text(where.host, static_cast<std::uint32_t>(where.local_rank)));
    for (auto r = static_cast<std::uint32_t>(where.local_size); r-- > 0;) {
      auto const peer = static_cast<std::int32_t>(where.ranks_of_host().world_rank(r));
      if (c.published_by(peer) != text(where.host, r)) return 14;
    }
    c.exchange("");  // all have asked
  }
  auto const ids = c.exchange(c.job_id());
  for (auto const& id : ids) {
    if (id != ids[0] || id.empty()) return 12;
  }
  c.mark(rank_state::finalized);
  std::printf("exchange ok %d of %d by %s\n", where.rank, where.size, std::string(c.name()).c_str());
  return 0;
}

int check_share() {
  channel& c = attach();
  auto const& where = c.where();
  // In turn the file of the host and that of the machine.
  for (int round = 0; round < 4; ++round) {
    bool const of_machine = round % 2 != 0;
    std::string const text =
        "text of " + std::string(c.job_id()) + (of_machine ? "" : ", host " + std::to_string(where.host));
    int mine = -1;
    if ((of_machine ? c.machine() : where).local_rank == 0) {
      mine = atl::os::make_sealed_memfd("test", text.size()).release();
      if (::pwrite(mine, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return 10;
    }
    int const shared = of_machine ? atl::bootstrap::share_descriptor_on_machine(c, mine)
                                  : atl::bootstrap::share_descriptor(c, mine);
    std::string seen(text.size(), '\0');
    if (::pread(shared, seen.data(), seen.size(), 0) != static_cast<ssize_t>(seen.size()) || seen != text)
      return 11;
    if ((::fcntl(shared, F_GETFD) & FD_CLOEXEC) == 0) return 12;
    ::close(shared);
  }
  c.mark(rank_state::finalized);
  std::printf("share ok %d\n", where.rank);
  return 0;
}

void print_lines(int count, int size) {
  channel& c = attach();
  // More than one write per line, so that only the launcher can keep lines whole.
  std::string const part(static_cast<std::size_t>(size / 2), static_cast<char>('a' + c.where().rank));
  for (int i = 0; i < count; ++i) {
    for (int half = 0; half < 2; ++half) {
      std::fputs(part.c_str(), stdout);
      std::fflush(stdout);
    }
    std::fputs("\n", stdout);
  }
  c.mark(rank_state::finalized);
}

/// As all ranks do, in a program that is interrupted all the time.
[[noreturn]] void make_mistake_with_timer() {
  atl::engine::start(false);
  ::signal(SIGALRM, [](int) {});
  itimerval const often{{0, 10'000}, {0, 10'000}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  attach().exchange("together");
  atl::stop("a mistake of all");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> const args(argv + 1, argv + argc);
  std::string const mode = args.empty() ? "" : args[0];
  auto const number = [&](std::size_t i) { return i < args.size() ? std::atoi(args[i].c_str()) : 0; };

  if (mode == "plain") {  // never attaches
    std::printf("plain program\n");
    return number(1);
  }
  if (mode == "exchange") return check_exchange();
  if (mode == "share") return check_share();
  if (mode == "lines") {
    print_lines(number(1), number(2));
    return 0;
  }
  if (mode == "second-period") {
    for (int period = 0; period < 2; ++period) {
      if (period == 0 || attach().where().rank == number(1)) atl::engine::start(false);
      if (period == 0) atl::engine::stop();
    }
    function_that_hangs();
  }

  if (mode == "left-alone") {  // all but one take part in the first period only
    for (int period = 0; period < 2 && (period == 0 || attach().where().rank == number(1)); ++period) {
      atl::engine::start(false);
      atl::engine::stop();
    }
    return 0;
  }
  // Of processes that a rank has forked, one after the other; then of all ranks, if asked to.
  if (mode == "failing-checks") {
    atl::engine::start(false);
    for (auto* const fail :
         {+[] { atl::stop("a child is mistaken"); }, +[] { atl::fatal("test", "a child is lost"); }}) {
      ::pid_t const child = ::fork();
      if (child == 0) fail();
      int status = 0;
      if (::waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) return 10;
    }
    attach().exchange("all children have ended");
    if (number(1) != 0) atl::stop("a rank is mistaken");
    atl::engine::stop();
    return 0;
  }
  if (mode == "mistakes") make_mistake_with_timer();

  channel& c = init();
  int const rank = c.where().rank;
  int const chosen = number(1);
  if (mode == "ranks") {
    std::printf("rank %d of %d local %d of %d host %d of %d\n", rank, c.where().size, c.where().local_rank,
                c.where().local_size, c.where().host, c.where().hosts);
  } else if (mode == "partial") {
    std::printf("no end of line from %d", rank);
    std::fflush(stdout);
  } else if (mode == "cat") {
    for (int byte = std::getchar(); byte != EOF; byte = std::getchar()) std::putchar(byte);
    std::printf("rank %d saw the end\n", rank);
  } else if (mode == "env") {
    char const* const here = std::getenv(args[1].c_str());
    char const* const console = c.console_env(args[1].c_str());
    std::printf("here=%s console=%s\n", here != nullptr ? here : "-", console != nullptr ? console : "-");
  } else if (mode == "slow-line") {  // a line that stays in the buffer unless it is line-buffered
    std::printf("early line\n");
    function_that_hangs();
  } else if (mode == "sleep") {
    std::printf("rank %d pid %d hangs\n", rank, static_cast<int>(::getpid()));
    std::fflush(stdout);
    unsigned const left = ::sleep(600);
    std::printf("woke up %u s early\n", left);
    std::fflush(stdout);
  } else if (mode == "exit-after-finalize") {
    c.exchange("finalize");
    c.mark(rank_state::finalized);
    return rank == chosen ? number(2) : 0;
  } else if (mode == "spawn") {  // leaves background processes behind, some in sessions of their own
    if (::fork() == 0) {
      if (rank % 2 == 0) ::setsid();
      if (::fork() == 0) function_that_hangs();
      ::_exit(0);
    }
    int status = 0;
    ::wait(&status);
  } else if (mode == "child-crashes") {  // processes that a rank has forked, one after the other
    for (auto* const end :
         {+[] { function_that_crashes(reinterpret_cast<int*>(0x10)); }, +[] { std::abort(); },
          +[] { throw std::runtime_error("thrown in a forked process"); }}) {
      ::pid_t const child = ::fork();
      if (child == 0) {
        // Not past main: nobody may catch it, and no library of this program reports it.
        [end]() noexcept { end(); }();
      }
      int status = 0;
      if (::waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) return 10;
    }
    if (rank == chosen) function_that_crashes(reinterpret_cast<int*>(0x20));
  } else if (mode == "standard-streams") {
    for (int descriptor = 0; descriptor <= 2; ++descriptor) {
      char const* const expected = descriptor == 2 ? argv[2] : "/dev/null";
      char text[100] = "";
      std::string const link = "/proc/self/fd/" + std::to_string(descriptor);
      if (::readlink(link.c_str(), text, sizeof text - 1) < 0 || std::strcmp(text, expected) != 0)
        return 3 + descriptor;
    }
  } else if (mode == "child") {
    if (rank == 0 && std::system(argv[2]) != 0) return 1;
  } else if (mode == "child-is-solo") {
    if (rank == 0) {
      std::string const command = (argc > 2 ? argv[2] + std::string(" ") : "") + argv[0] + " ranks";
      if (std::system(command.c_str()) != 0) return 1;
    }
  } else if (mode == "abort-in-exchange") {
    if (rank == chosen) {
      ::usleep(50'000);
      std::fprintf(stderr, "the rank's own message\n");
      c.abort(number(2));
    }
  } else if (rank == chosen &&
             (mode == "segv" || mode == "segv-with-alarm" || mode == "null-call" || mode == "abort" ||
              mode == "ucx-abort" || mode == "throw" || mode == "throw-int" || mode == "overflow" ||
              mode == "exit" || mode == "job-abort" || mode == "fpe" || mode == "thread-segv" ||
              mode == "kill")) {
    c.exchange("together");           // the others are in their "barrier" by then
    if (mode == "segv-with-alarm") {  // one that waits for sigwait(), as in programs with timers
      sigset_t alarm;
      ::sigemptyset(&alarm);
      ::sigaddset(&alarm, SIGALRM);
      ::sigprocmask(SIG_BLOCK, &alarm, nullptr);
      ::raise(SIGALRM);
    }
    if (mode.starts_with("segv")) function_that_crashes(reinterpret_cast<int*>(0x10));
    if (mode == "null-call") sink_of_values = function_that_calls_nothing();
    if (mode == "abort") std::abort();
    if (mode == "ucx-abort") ucs_fatal_error_message();
    if (mode == "throw") throw std::runtime_error("the text of the exception");
    if (mode == "throw-int") throw 42;
    if (mode == "overflow") sink_of_values = function_that_recurses(0);
    if (mode == "fpe") ::raise(SIGFPE);
    if (mode == "thread-segv") {
      std::thread(function_that_crashes, reinterpret_cast<int*>(0x10)).join();
    }
    if (mode == "kill") ::kill(::getpid(), SIGKILL);
    if (mode == "exit") std::exit(number(2));
    if (mode == "job-abort") {
      std::fprintf(stderr, "the rank's own message\n");
      c.abort(number(2));
    }
  } else {
    c.diagnostics().replies_awaited = 3;
    enter(c, activity::barrier, -1);
    if (mode != "hang") c.exchange("together");
    if (mode == "hang") {
      std::printf("rank %d pid %d hangs\n", rank, static_cast<int>(::getpid()));
      std::fflush(stdout);
    }
    if (mode == "hang" && chosen != 0) ::signal(SIGTERM, SIG_IGN);
    function_that_hangs();
  }
  c.exchange("finalize");
  c.mark(rank_state::finalized);
  return 0;
}
