// Puts the crash report of a rank into words; started by the rank while it dies (last_words.hpp). Not for people.

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "base/error.hpp"
#include "base/os/write_all.hpp"
#include "bootstrap/crash_words.hpp"
#include "bootstrap/last_words.hpp"

using namespace atl::bootstrap;

namespace {

bool read_all(int from, void* into, std::size_t bytes) {
  auto* at = static_cast<char*>(into);
  while (bytes > 0) {
    ::ssize_t const got = ::read(from, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

int main() {
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(teller_seconds);
  static told_words words;
  words.version = 0;
  // Who stands at a terminal must not wait for what never comes.
  if (::fcntl(told_descriptor, F_GETFD) < 0 || !read_all(words_descriptor, &words, sizeof words) ||
      words.version != told_words::current) {
    std::fputs(
        "atoll: this program is started by ranks that crash, and says of what; there is nothing that it does by itself\n",
        stderr);
    return 2;
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::syscall(SYS_close_range, static_cast<unsigned>(told_descriptor) + 1, ~0U, 0U);
  symbolizer names;
  std::string const text = atl::format("atoll: %s %s\n", words.who.data(), crash_text(words.report).c_str()) +
                           backtrace_text(words.report, names);
  atl::os::write_all(STDERR_FILENO, text);
  return ::write(told_descriptor, "!", 1) == 1 ? 0 : 1;
}
