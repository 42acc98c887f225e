#include "common/host.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>

namespace apps {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// The number in a file of one word; unlimited where there is none.
double number_in(char const* path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : unlimited;
}

}  // namespace

bool at_terminal() {
  if (isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0) return true;
  char const* const seen = std::getenv("ATOLL_TERMINAL");
  struct stat output {};
  return seen != nullptr && fstat(STDOUT_FILENO, &output) == 0 &&
         seen == std::to_string(output.st_dev) + ":" + std::to_string(output.st_ino);
}

int terminal_columns() {
  int const terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  winsize size{};
  bool const known = terminal >= 0 && ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (terminal >= 0) close(terminal);
  return known ? size.ws_col : 80;
}

std::string utc_now() {
  std::time_t const t = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&t, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

int known_cores() {
  long const count = sysconf(_SC_NPROCESSORS_CONF);
  return static_cast<int>(std::clamp(count, 1L, long{CPU_SETSIZE}));
}

bool is_usable(int core) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_ISSET(core, &set);
}

double available_bytes() {
  double available = unlimited;
  std::ifstream meminfo("/proc/meminfo");
  std::string word;
  while (meminfo >> word) {
    double kilobytes = 0;
    if (word == "MemAvailable:" && meminfo >> kilobytes) available = kilobytes * 1024;
  }
  auto const limit = number_in("/sys/fs/cgroup/memory.max");
  auto const used = number_in("/sys/fs/cgroup/memory.current");
  if (limit < unlimited && used < unlimited) available = std::min(available, std::max(0.0, limit - used));
  return available;
}

std::optional<std::string> memory_shortage(std::string const& what, double needed,
                                           std::string const& advice) {
  double const available = available_bytes();
  if (needed <= available) return std::nullopt;
  constexpr double gib = 1024.0 * 1024 * 1024;
  std::array<char, 80> numbers{};
  std::snprintf(numbers.data(), numbers.size(), " need %.1f GiB, but %.1f GiB are free; use ", needed / gib,
                available / gib);
  return "memory does not suffice: " + what + numbers.data() + advice;
}

double number_of(std::string_view name) {
  return static_cast<double>(std::hash<std::string_view>{}(name) >> 12U);
}

std::string duration(double seconds) {
  char text[32];
  if (seconds < 120) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  } else if (seconds < 7200) {
    std::snprintf(text, sizeof text, "%.0f min", seconds / 60);
  } else {
    std::snprintf(text, sizeof text, "%.1f h", seconds / 3600);
  }
  return text;
}

}  // namespace apps
