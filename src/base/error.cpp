#include "base/error.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/call_site.hpp"
#include "base/os/await_end.hpp"
#include "base/os/host_name.hpp"
#include "base/os/write_all.hpp"

namespace atl {
namespace {

/// Never destroyed: who exits without finalize() is told so by a handler that runs after destructors of static objects.
std::string& identity_text() {
  static auto& text = *new std::string;
  return text;
}

/// One write per message, so that lines of several ranks do not mix.
void print(std::string const& message) {
  // Not `"..." + identity()`, of which GCC 12 believes that it copies within one string (PR 105651).
  std::string line = "atoll: ";
  line += identity();
  line += ": ";
  line += message;
  os::write_all(STDERR_FILENO, line);
}

void print(char const* component, std::string const& message) {
  print(format("%s: %s\n", component, message.c_str()));
}

::pid_t process_with_identity = 0;

/// A process that a rank has forked has its name, and fails for itself: the job goes on.
bool is_forked_child() noexcept { return process_with_identity != 0 && ::getpid() != process_with_identity; }

/// Returns for who is the first to fail, of the threads of this process and of the ranks of the job; the others wait for the end.
void be_first_to_fail() noexcept {
  static std::atomic_flag failing = ATOMIC_FLAG_INIT;
  static thread_local bool here = false;
  // What is called on the way out may fail, too.
  if (std::exchange(here, true)) std::abort();
  if (!failing.test_and_set() && (is_forked_child() || first_to_fail == nullptr || first_to_fail())) return;
  // Who was first ends the job, and with it this process; perhaps only after a debugger has let it go.
  os::await_end();
}

/// What comes between the words and the end.
void let_go() {
  if (freeze_hook != nullptr) freeze_hook();
  if (!is_forked_child() && release_hook != nullptr) release_hook();
}

}  // namespace

void (*abort_hook)() = nullptr;
void (*freeze_hook)() = nullptr;
void (*release_hook)() noexcept = nullptr;
bool (*first_to_fail)() = nullptr;

void set_identity(std::int32_t rank, std::int32_t size, std::string const& host) {
  identity_text() = format("rank %d of %d (%s)", rank, size,
                           host.empty() ? os::host_name("unknown host").c_str() : host.c_str());
  process_with_identity = ::getpid();
}

std::string identity() {
  if (!identity_text().empty()) return identity_text();
  return format("pid %d (%s)", static_cast<int>(getpid()), os::host_name("unknown host").c_str());
}

void stop(std::string const& message) noexcept {
  be_first_to_fail();
  print(format("%s\n%s", message.c_str(), call_site().c_str()));
  let_go();
  std::abort();
}

void fatal(char const* component, char const* pattern, ...) {
  be_first_to_fail();
  va_list args;
  va_start(args, pattern);
  print(component, format_list(pattern, args));
  va_end(args);
  let_go();
  if (!is_forked_child() && abort_hook != nullptr) abort_hook();
  std::abort();
}

void warn(char const* component, char const* pattern, ...) {
  va_list args;
  va_start(args, pattern);
  print(component, format_list(pattern, args));
  va_end(args);
}

}  // namespace atl
