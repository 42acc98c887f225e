#include "bootstrap/debugging.hpp"

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "bootstrap/crash.hpp"
#include "bootstrap/last_words.hpp"

namespace atl::bootstrap {

std::sig_atomic_t volatile frozen = 0;
// What freeze() has the user type.
static_assert(std::is_same_v<std::sig_atomic_t, int>);

namespace {

constexpr std::array crash_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/// One write; usable in a signal handler.
void print(char const* text) noexcept {
  [[maybe_unused]] ssize_t const sent = ::write(STDERR_FILENO, text, std::strlen(text));
}

void print_backtrace(int signal) noexcept {
  int const saved = errno;  // the program's, between a call of its own and its look at that
  std::array<char, 128> line{};
  std::snprintf(line.data(), line.size(), "atoll: pid %d: signal %d (%s), backtrace:\n",
                static_cast<int>(::getpid()), signal,
                ::sigabbrev_np(signal) != nullptr ? ::sigabbrev_np(signal) : "?");
  print(line.data());
  std::array<void*, 64> frames{};
  ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), static_cast<int>(frames.size())),
                         STDERR_FILENO);
  errno = saved;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction ours {};
  ours.sa_handler = handler;
  ours.sa_flags = SA_RESTART;
  ::sigaction(signal, &ours, nullptr);
}

bool is_free(int signal) {
  struct sigaction have {};
  return ::sigaction(signal, nullptr, &have) == 0 && have.sa_handler == SIG_DFL;
}

/// The first call loads the unwinder, which must not happen inside a handler.
void load_unwinder() {
  std::array<void*, 2> frames{};
  ::backtrace(frames.data(), static_cast<int>(frames.size()));
}

}  // namespace

void freeze(char const* why) noexcept {
  std::array<char, 320> line{};
  int const pid = ::getpid();
  std::snprintf(
      line.data(), line.size(),
      "atoll: pid %d waits for a debugger (%s): gdb -p %d, then `set var *(int*)&'atl::bootstrap::frozen' = 0` "
      "and `continue`; kill -CONT %d goes on without one\n",
      pid, why, pid, pid);
  print(line.data());
  frozen = 1;
  handle(SIGCONT, [](int) { frozen = 0; });
  while (frozen != 0) ::usleep(50'000);
}

void install_debugging() {
  if (int const signal = settings::backtrace_signal()) {
    load_unwinder();
    handle(signal, &print_backtrace);
  }
  if (int const signal = settings::freeze_signal()) {
    handle(signal, [](int) {
      int const saved = errno;
      freeze("signal");
      errno = saved;
    });
  }
  if (settings::freeze_on_error()) {
    freeze_hook = [] { freeze("error"); };
    for (int const signal : crash_signals) {
      if (!is_free(signal)) continue;
      handle(signal, [](int which) {
        freeze("fatal signal");
        die_by(which);
      });
    }
  }
  if (settings::freeze()) freeze("GASNET_FREEZE");
}

void install_backtraces(placement const& where) {
  if (settings::backtrace()) install_last_words(where.rank, where.size, {});
}

}  // namespace atl::bootstrap
