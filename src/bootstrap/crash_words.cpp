#include "bootstrap/crash_words.hpp"

#include <csignal>
#include <cstring>

#include "base/error.hpp"

namespace atl::bootstrap {
namespace {

std::string text_in(char const* from, std::size_t room) { return {from, ::strnlen(from, room)}; }

std::string exception_text(crash_report const& report) {
  std::string const type = text_in(report.exception_type, sizeof report.exception_type);
  std::string const what = text_in(report.exception_text, sizeof report.exception_text);
  return "died of an uncaught exception " + type + (what.empty() ? "" : ": " + what);
}

/// Frames with their numbers; a run of the same line, as an endless recursion gives, is written once.
std::string numbered(std::vector<std::string> const& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t next = i + 1;
    while (next < lines.size() && lines[next] == lines[i]) ++next;
    text += format("    #%-2zu %s\n", i, lines[i].c_str());
    if (next - i > 1) text += format("        (the same %zu more times)\n", next - i - 1);
    i = next;
  }
  return text;
}

/// libucp ends the process where it cannot answer a peer whose connection has broken, before anybody hears of that.
std::string remark_on(std::vector<std::string> const& lines) {
  for (std::string const& line : lines) {
    if (line.starts_with("ucs_fatal_error"))
      return "    UCX has ended this rank, as when a connection breaks on which it has to answer. Why stands above, after its word Fatal.\n";
  }
  return {};
}

}  // namespace

std::string signal_name(int signal) {
  char const* const name = ::sigabbrev_np(signal);
  char const* const words = ::sigdescr_np(signal);
  if (name == nullptr) return format("signal %d", signal);
  return format("SIG%s (%s)", name, words != nullptr ? words : "unknown");
}

std::string crash_text(crash_report const& report) {
  if (report.has_exception.load(std::memory_order_acquire) != 0) return exception_text(report);
  if (report.signal == SIGABRT && report.sender != 0) return "called abort()";
  std::string text = "died of " + signal_name(report.signal);
  if (report.sender != 0 && report.sender == report.pid) {
    text += ", which it raised itself";
  } else if (report.sender != 0) {
    text += format(" sent by process %d", report.sender);
  } else if (report.signal == SIGSEGV || report.signal == SIGBUS) {
    // The processor gives no address for non-canonical ones; the kernel's code for that is SI_KERNEL.
    text += report.code == SI_KERNEL
                ? " at an address that cannot exist"
                : format(" at address 0x%llx", static_cast<unsigned long long>(report.address));
  }
  return text;
}

std::string backtrace_text(crash_report const& report, symbolizer& names) {
  if (report.state.load(std::memory_order_acquire) != crash_state::complete) return {};
  std::vector<std::string> const lines = names.describe(report);
  return numbered(lines) + remark_on(lines);
}

}  // namespace atl::bootstrap
