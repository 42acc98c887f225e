#include "bootstrap/crash.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <typeinfo>

#include "base/error.hpp"
#include "base/os/await_end.hpp"

// What a dying rank leaves for the launcher; where that is not `atoll run`, for a program that puts it into words (last_words.cpp).
//
// A fatal signal arrives on an alternate stack (the ordinary one may be what overflowed). The handler writes
// what needs no help first (signal, address), marks the report `writing`, then collects return addresses and
// the lines of /proc/self/maps that they lie in, marks it `complete`, restores the default action and lets
// the signal kill the process. Names are the launcher's work: this process may hold any lock. Unwinding is
// not formally allowed in a handler; a deadlock in it is bounded by an alarm, after which the launcher still
// finds the first part.
//
// An uncaught exception is recorded by the terminate handler, which then calls the previous one; that aborts,
// and the SIGABRT that follows adds the backtrace, since nothing was unwound.
//
// SIGQUIT is the launcher's question "where are you?", asked only when the job is about to be ended. The handler
// answers in the same form and does not return before the launcher's SIGTERM has arrived: a signal that is
// handled ends a sleep() early, and the program would go on with what it does after it.
//
// Of several threads that crash at once, as those of a parallel loop do, the first makes the report. The others wait in the handler: each
// would take the process along, and with it who is still writing or telling.
//
// Processes that the program forks inherit the handlers and the mapped report. They are not the rank: their
// crashes are theirs and their parent's affair, and leave the report alone.

namespace atl::bootstrap {
namespace {

crash_report* report_of_rank = nullptr;
void (*tell_report)() noexcept = nullptr;
board_header const* header_of_job = nullptr;  ///< with the next one: who asks, under `atoll run` only
live_report* answers = nullptr;
::pid_t rank_process = 0;  ///< the process that installed the handlers
std::terminate_handler previous_terminate = nullptr;
/// The thread of this process that makes the report, and then dies; 0: none yet. Not the report's own state: that is shared, and may be of an
/// earlier process.
std::atomic<::pid_t> reporting{0};

constexpr std::array fatal_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

bool is_forked_child() noexcept { return ::getpid() != rank_process; }

std::uint64_t instruction_of(void const* context) noexcept {
#if defined(__x86_64__)
  return static_cast<std::uint64_t>(static_cast<ucontext_t const*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<ucontext_t const*>(context)->uc_mcontext.pc;
#else
  static_cast<void>(context);
  return 0;
#endif
}

/// For a scope in which frames are collected. Where the program has called what is no function, as by a null pointer for one, nothing is known of that place
/// and the unwinder ends there: so the call is taken back meanwhile.
class call_taken_back {
 public:
  explicit call_taken_back(void* context) noexcept
      : context_(static_cast<ucontext_t*>(context)), before_(context_->uc_mcontext) {
#if defined(__x86_64__)
    auto& registers = context_->uc_mcontext.gregs;
    std::uint64_t caller = 0;
    auto const stack = static_cast<std::uintptr_t>(registers[REG_RSP]);
    // Who jumps to nowhere may have no stack either.
    iovec const into{&caller, sizeof caller};
    iovec const from{reinterpret_cast<void*>(stack), sizeof caller};
    if (::process_vm_readv(::getpid(), &into, 1, &from, 1, 0) != ::ssize_t{sizeof caller}) return;
    registers[REG_RIP] = static_cast<greg_t>(caller);
    registers[REG_RSP] += static_cast<greg_t>(sizeof caller);
#elif defined(__aarch64__)
    context_->uc_mcontext.pc = context_->uc_mcontext.regs[30];
#endif
  }
  ~call_taken_back() { context_->uc_mcontext = before_; }
  call_taken_back(call_taken_back const&) = delete;
  call_taken_back& operator=(call_taken_back const&) = delete;

 private:
  ucontext_t* context_;
  mcontext_t before_;
};

/// Fills `frames`; the faulting instruction comes first when the unwinder found it,
/// without the handler's own frames.
void collect_frames(crash_report& into, std::uint64_t instruction) noexcept {
  constexpr int handler_frames = 8;
  std::array<void*, frame_limit + handler_frames> raw{};
  int const found = ::backtrace(raw.data(), static_cast<int>(raw.size()));
  int first = 0;
  for (int i = 0; i < found && i < handler_frames; ++i) {
    if (reinterpret_cast<std::uint64_t>(raw[static_cast<std::size_t>(i)]) == instruction) first = i;
  }
  into.first_is_exact = 1;
  if (first == 0) into.frames[into.frame_count++] = instruction;  // not found: name it anyway
  for (int i = first; i < found && into.frame_count < frame_limit; ++i) {
    into.frames[into.frame_count++] = reinterpret_cast<std::uint64_t>(raw[static_cast<std::size_t>(i)]);
  }
}

/// Reads a hexadecimal number and moves `at` behind it.
std::uint64_t read_hex(char const*& at) noexcept {
  std::uint64_t value = 0;
  for (;; ++at) {
    char const c = *at;
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<std::uint64_t>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

/// Keeps a line "from-to perms offset dev inode path\n" when a frame lies in it.
void keep_line(crash_report& into, char const* line, std::size_t bytes) noexcept {
  char const* at = line;
  std::uint64_t const from = read_hex(at);
  if (*at == '-') ++at;
  std::uint64_t const to = read_hex(at);
  bool used = false;
  for (std::uint32_t i = 0; i < into.frame_count; ++i) {
    used = used || (into.frames[i] >= from && into.frames[i] < to);
  }
  if (!used || into.maps_bytes + bytes > sizeof into.maps) return;
  std::memcpy(into.maps + into.maps_bytes, line, bytes);
  into.maps_bytes += static_cast<std::uint32_t>(bytes);
}

/// Copies the relevant lines of /proc/self/maps with a buffer on the stack; longer lines are cut.
void collect_maps(crash_report& into) noexcept {
  into.maps_bytes = 0;
  int const fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::array<char, 1024> part;
  std::array<char, 640> line;
  std::size_t length = 0;
  for (;;) {
    ssize_t const got = ::read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (ssize_t i = 0; i < got; ++i) {
      char const c = part[static_cast<std::size_t>(i)];
      if (c != '\n') {
        if (length + 2 < line.size()) line[length++] = c;
        continue;
      }
      line[length++] = '\n';
      line[length] = '\0';
      keep_line(into, line.data(), length);
      length = 0;
    }
  }
  ::close(fd);
}

void make_report(crash_report& report, int signal, siginfo_t const* info, void* context) noexcept {
  report.signal = signal;
  report.code = info->si_code;
  report.pid = ::getpid();
  report.sender = info->si_code == SI_USER || info->si_code == SI_TKILL ? info->si_pid : 0;
  bool const by_hardware = info->si_code > 0 && signal != SIGABRT;
  report.address = by_hardware ? reinterpret_cast<std::uint64_t>(info->si_addr) : 0;
  // If unwinding hangs (a lock that this thread holds), the alarm ends the process all the same. It takes the place of the program's timer, whose last
  // alarm may be waiting here and is forgotten.
  ::alarm(1);
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm_only;
  ::sigemptyset(&alarm_only);
  ::sigaddset(&alarm_only, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
  std::uint64_t const instruction = instruction_of(context);
  report.frame_count = 0;
  if (signal == SIGSEGV && by_hardware && report.address == instruction) {
    report.frames[report.frame_count++] = instruction;
    call_taken_back const meanwhile(context);
    collect_frames(report, instruction_of(context));
  } else {
    collect_frames(report, instruction);
  }
  collect_maps(report);
  ::alarm(0);
  report.state.store(crash_state::complete, std::memory_order_release);
}

void on_fatal_signal(int signal, siginfo_t* info, void* context) noexcept {
  if (!is_forked_child()) {
    // That thread comes again where its report crashes, or its first signal was ignored, as abort()'s is in the first process of a
    // PID namespace: then the next one is to end it.
    ::pid_t const me = ::gettid();
    ::pid_t who = 0;
    if (!reporting.compare_exchange_strong(who, me, std::memory_order_acq_rel) && who != me) {
      os::await_end();
    }
    crash_report& report = *report_of_rank;
    auto expected = crash_state::none;
    if (report.state.compare_exchange_strong(expected, crash_state::writing, std::memory_order_acq_rel)) {
      make_report(report, signal, info, context);
      if (tell_report != nullptr) tell_report();
    }
  }
  die_by(signal);
}

void on_termination(int signal, siginfo_t*, void*) noexcept { die_by(signal); }

void on_question(int signal, siginfo_t*, void* context) noexcept {
  int const saved = errno;
  live_report& live = *answers;
  std::uint32_t const number = header_of_job->question.load(std::memory_order_acquire);
  // Somebody else's, or a child's: what it always does.
  if (is_forked_child() || number == live.answered.load(std::memory_order_relaxed)) {
    die_by(signal);
    return;
  }
  live.where.frame_count = 0;
  collect_frames(live.where, instruction_of(context));
  collect_maps(live.where);
  live.answered.store(number, std::memory_order_release);  // pairs with the launcher's acquire
  // All signals are blocked here, so that the launcher's cannot be missed between the look and the wait. Those that
  // the program has not blocked arrive in the wait and do there what they would do.
  while (header_of_job->ending.load(std::memory_order_acquire) == 0) {
    ::sigsuspend(&static_cast<ucontext_t const*>(context)->uc_sigmask);
  }
  errno = saved;
}

void copy_text(char* into, std::size_t room, char const* text) noexcept {
  std::size_t const bytes = std::min(std::strlen(text), room - 1);
  std::memcpy(into, text, bytes);
  into[bytes] = '\0';
}

void record_exception() noexcept {
  crash_report& report = *report_of_rank;
  std::type_info const* const type = abi::__cxa_current_exception_type();
  if (type == nullptr) return;  // std::terminate without an exception: the abort says all there is
  if (is_forked_child()) return;
  int status = 0;
  char* const readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  copy_text(report.exception_type, sizeof report.exception_type,
            readable != nullptr ? readable : type->name());
  std::free(readable);
  try {
    throw;
  } catch (std::exception const& error) {
    copy_text(report.exception_text, sizeof report.exception_text, error.what());
  } catch (char const* text) {
    copy_text(report.exception_text, sizeof report.exception_text, text);
  } catch (...) {
  }
  report.has_exception.store(1, std::memory_order_release);
}

[[noreturn]] void on_terminate() {
  record_exception();
  if (previous_terminate != nullptr) previous_terminate();
  std::abort();
}

/// Gives the calling thread a stack for handlers unless it has one. It is never freed: the thread that calls
/// init normally lives as long as the process.
void ensure_alternate_stack() noexcept {
  stack_t have{};
  if (::sigaltstack(nullptr, &have) == 0 && (have.ss_flags & SS_DISABLE) == 0) return;
  constexpr std::size_t bytes = 128 * 1024;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = bytes;
  ::sigaltstack(&stack, nullptr);
}

/// Handlers that an MPI library or UCX have installed without being asked, when they were initialised first: they print bare addresses, and
/// know neither rank nor exception.
bool is_of_library(struct sigaction const& have) noexcept {
  Dl_info where{};
  if (have.sa_handler == SIG_IGN || ::dladdr(reinterpret_cast<void const*>(have.sa_handler), &where) == 0 ||
      where.dli_fname == nullptr)
    return false;
  char const* const slash = std::strrchr(where.dli_fname, '/');
  std::string_view const file = slash != nullptr ? slash + 1 : where.dli_fname;
  return file.starts_with("libopen-pal.") || file.starts_with("libucs.");
}

/// False when somebody else has a handler.
bool install(int signal, void (*handler)(int, siginfo_t*, void*), int flags) noexcept {
  struct sigaction have {};
  if (::sigaction(signal, nullptr, &have) != 0 || (have.sa_handler != SIG_DFL && !is_of_library(have)))
    return false;
  struct sigaction ours {};
  ours.sa_sigaction = handler;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  ::sigfillset(&ours.sa_mask);
  return ::sigaction(signal, &ours, nullptr) == 0;
}

}  // namespace

void die_by(int signal) noexcept {
  if (!is_forked_child() && release_hook != nullptr) release_hook();
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  ::raise(signal);  // blocked while we are in its handler; delivered when the handler returns
}

void install_crash_handlers(crash_report& report, void (*tell)() noexcept) {
  if (report_of_rank != nullptr) return;
  report_of_rank = &report;
  tell_report = tell;
  rank_process = ::getpid();
  // The first call loads the unwinder, which must not happen inside a handler.
  std::array<void*, 4> frames{};
  ::backtrace(frames.data(), static_cast<int>(frames.size()));
  ensure_alternate_stack();
  for (int const signal : fatal_signals) install(signal, on_fatal_signal, 0);
  previous_terminate = std::set_terminate(on_terminate);
}

void install_termination_handler() noexcept {
  rank_process = ::getpid();
  install(SIGTERM, on_termination, 0);
}

void install_crash_handlers(board_header const& header, rank_slot& slot) {
  header_of_job = &header;
  answers = &slot.live;
  install_crash_handlers(slot.crash, nullptr);
  bool const listening = install(SIGQUIT, on_question, SA_RESTART);
  slot.live.listening.store(listening ? 1 : 0, std::memory_order_release);
}

}  // namespace atl::bootstrap
