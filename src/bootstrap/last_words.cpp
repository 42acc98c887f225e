#include "bootstrap/last_words.hpp"

#include <execinfo.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/beside_library.hpp"
#include "base/error.hpp"
#include "base/os/host_name.hpp"
#include "base/os/pipe.hpp"
#include "base/os/write_all.hpp"
#include "base/settings.hpp"
#include "bootstrap/crash.hpp"
#include "bootstrap/keeper/explained.hpp"

// Launchers of clusters know of a crash that a process has died of a signal, and end the others at once. So the rank stays alive until it is
// told of, with all its signals blocked, in the handler: it starts a program beside the library, which has a memory and locks of its own and may
// take its time with debug information, and hands it the report through a pipe. Everything here is a system call or was prepared before. If the
// program is not there or is not done in time, the rank writes the bare addresses itself.
//
// A mistake that many ranks make at once is told by one: the first to come of a host, and of hosts the first that keepers
// know of (claim_failure does the same). The others wait for its end, since the launcher ends all when the first has died.

namespace atl::bootstrap {
namespace {

told_words prepared;
last_words_place place_of_rank;
std::string teller;
std::string library_path;
bool told_by_library = false;
bool wanted_always = false;  ///< GASNET_BACKTRACE
constexpr int words_travel_ms = 200;

void pause_ms(int ms) noexcept { ::usleep(static_cast<unsigned>(ms) * 1000); }

/// By vfork: no memory is copied, however much there is, and handlers of fork() that take locks do not run.
::pid_t start_program(int words_from, int told_to) noexcept {
  char* arguments[] = {teller.data(), nullptr};
  char* environment[] = {library_path.empty() ? nullptr : library_path.data(), nullptr};
  ::pid_t const child = ::vfork();
  if (child != 0) return child;
  ::dup2(words_from, words_descriptor);
  ::dup2(told_to, told_descriptor);
  // Of the new program, also while the system still loads it.
  sigset_t alarm_only;
  ::sigemptyset(&alarm_only);
  ::sigaddset(&alarm_only, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &alarm_only, nullptr);
  ::alarm(teller_seconds);
  ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

/// True: it has told.
bool tell_by_program() noexcept {
  int there[2];
  int back[2];
  if (teller.empty() || !os::make_pipe_above(there) || !os::make_pipe_above(back)) return false;
  ::pid_t const child = start_program(there[0], back[1]);
  ::close(there[0]);
  ::close(back[1]);
  if (child < 0) return false;
  os::write_all(there[1], {reinterpret_cast<char const*>(&prepared), sizeof prepared});
  ::close(there[1]);
  pollfd answer{back[0], POLLIN, 0};
  char byte = 0;
  bool const told = ::poll(&answer, 1, static_cast<int>(teller_seconds) * 1000 + 200) == 1 &&
                    ::read(back[0], &byte, 1) == 1;
  if (!told) ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, WNOHANG);
  return told;
}

void tell_by_itself() noexcept {
  crash_report const& report = prepared.report;
  auto const print = [](char const* text) { os::write_all(STDERR_FILENO, text); };
  char const* const name = ::sigabbrev_np(report.signal);
  print("atoll: ");
  print(prepared.who.data());
  print(" died of SIG");
  print(name != nullptr ? name : "?");
  print(report.has_exception.load(std::memory_order_relaxed) != 0 ? ", by an uncaught exception; at:\n"
                                                                  : "; at:\n");
  std::array<void*, frame_limit> frames{};
  for (std::uint32_t i = 0; i < report.frame_count; ++i)
    frames[i] = reinterpret_cast<void*>(report.frames[i]);
  ::backtrace_symbols_fd(frames.data(), static_cast<int>(report.frame_count), STDERR_FILENO);
}

/// False: another rank tells, and has done so or will be done.
bool is_first_to_tell() noexcept {
  last_words_place const& at = place_of_rank;
  if (at.mine == nullptr) return true;
  at.mine->how.store(keeping::standing::ends_job, std::memory_order_release);
  int const longest =
      keeping::longest_question_ms(at.patience_ms) + static_cast<int>(teller_seconds) * 1000 + 500;
  std::uint32_t nobody = 0;
  if (!at.first->crash_told.compare_exchange_strong(nobody, 1, std::memory_order_acq_rel)) {
    for (int ms = 0; ms < longest && at.first->crash_told.load(std::memory_order_acquire) == 1; ms += 10)
      pause_ms(10);
    pause_ms(words_travel_ms);
    return false;
  }
  if (!keeping::is_explained_by_another(*at.mine, at.host, at.patience_ms)) return true;
  pause_ms(longest);
  return false;
}

void tell_last_words() noexcept {
  if (told_by_library && !wanted_always) return;
  if (!told_by_library && !is_first_to_tell()) return;
  if (!tell_by_program()) tell_by_itself();
  if (place_of_rank.first != nullptr) place_of_rank.first->crash_told.store(2, std::memory_order_release);
  // Launchers lose what was written just before.
  pause_ms(words_travel_ms);
}

}  // namespace

void install_last_words(std::int32_t rank, std::int32_t size, last_words_place const& where) {
  place_of_rank = where;
  std::string const who =
      format("rank %d of %d on %s (pid %d)", static_cast<int>(rank), static_cast<int>(size),
             os::host_name().c_str(), static_cast<int>(::getpid()));
  who.copy(prepared.who.data(), prepared.who.size() - 1);
  auto const places = places_beside_library(std::string("atoll/") + teller_name);
  auto const there = std::find_if(places.begin(), places.end(),
                                  [](std::string const& each) { return ::access(each.c_str(), X_OK) == 0; });
  if (there != places.end()) teller = *there;
  if (char const* const path = std::getenv("LD_LIBRARY_PATH"); path != nullptr)
    library_path = std::string("LD_LIBRARY_PATH=") + path;
  wanted_always = settings::backtrace();
  prepared.version = told_words::current;
  install_crash_handlers(prepared.report, &tell_last_words);
}

void nothing_to_add_to_last_words() noexcept { told_by_library = true; }

}  // namespace atl::bootstrap
