#include "machine.hpp"

#include <sys/utsname.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "base/os/cores.hpp"
#include "base/os/memory.hpp"
#include "base/settings.hpp"
#include "commit.hpp"
#include "upcxx/detail/config.hpp"

namespace atl::tools {
namespace {

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    for (char const* const name : {"model name", "Model", "cpu model"}) {
      if (!line.starts_with(name)) continue;
      auto const colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  utsname system{};
  uname(&system);
  return system.machine;
}

std::string time_of_day() {
  std::time_t const now = std::time(nullptr);
  std::tm broken{};
  gmtime_r(&now, &broken);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &broken);
  return text;
}

}  // namespace

configuration describe_build() {
  char version[32];
  std::snprintf(version, sizeof version, "%d.%d.%d", ATOLL_VERSION_MAJOR, ATOLL_VERSION_MINOR,
                ATOLL_VERSION_PATCH);
#if defined(__clang__)
  std::string const compiler = "Clang " __clang_version__;
#else
  std::string const compiler = "GCC " __VERSION__;
#endif
  return {{"atoll", std::string(version) + ", commit " + commit_id},
          {"compiler", compiler + ", " + build_type}};
}

configuration describe_machine() {
  utsname system{};
  uname(&system);
  double load[1] = {};
  char busy[32] = "unknown";
  if (getloadavg(load, 1) == 1) std::snprintf(busy, sizeof busy, "%.1f", load[0]);
  auto const limits = os::read_memory_limits();
  return {
      {"date", time_of_day()},
      {"host", system.nodename},
      {"system", std::string(system.sysname) + " " + system.release},
      {"processor", processor_model()},
      {"cores", std::to_string(os::usable_cores()) + " usable; load average " + busy + " before the start"},
      {"memory", settings::format_bytes(limits.available()) + " available"}};
}

}  // namespace atl::tools
