#include "common/console.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>

#include "common/files.hpp"
#include "common/host.hpp"

namespace apps {
namespace {

constexpr double live_interval = 0.2;  ///< seconds
constexpr char const* clear_line = "\r\033[K";

}  // namespace

console::console(int rank, bool quiet)
    : prints_(rank == 0), speaks_(prints_ && !quiet), is_terminal_(speaks_ && at_terminal()) {}

void console::flush() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw file_problem{"standard output: cannot write; is the disk full?"};
  }
}

bool console::live_is_due(double seconds) {
  if (!is_terminal_ || seconds - last_live_ < live_interval) return false;
  last_live_ = seconds;
  return true;
}

void console::live_line(char const* format, ...) {
  std::array<char, 256> text{};
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  // What goes on in the next row of a narrow terminal cannot be overwritten.
  std::printf("%s%.*s", clear_line, terminal_columns() - 1, text.data());
  std::fflush(stdout);
  live_shown_ = true;
}

void console::clear_live() {
  if (live_shown_) std::fputs(clear_line, stdout);
  live_shown_ = false;
}

}  // namespace apps
