// `atoll SUBCOMMAND ...`. What is not compiled in is a program atoll-SUBCOMMAND beside this one (or in the
// libexec folder of the installation), like git's: the plotting of `atoll report` is a script, `atoll bench`
// links the library.

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "upcxx/detail/config.hpp"

namespace {

struct subcommand {
  std::string_view name;
  int (*function)(int, char**);  ///< null: a program of its own
  char const* help;
};

constexpr std::array subcommands{
    subcommand{"run", atl::tools::run_command,
               "start a program on several ranks, of this machine or of several hosts"},
    subcommand{"info", atl::tools::info_command,
               "what the library finds here: launchers, cores, memory, settings"},
    subcommand{"bench", nullptr, "measure latency, rate and bandwidth"},
    subcommand{"heat-study", nullptr, "run the heat simulation at all sizes, variants and numbers of ranks"},
    subcommand{"hpgmg-study", nullptr, "run the multigrid benchmark with all ways of communicating"},
    subcommand{"report", nullptr, "draw the results of heat3d and hpgmg runs and of bench gpu"},
    subcommand{"picture", atl::tools::picture_command,
               "have jobs on several hosts say what their ranks are doing"},
    subcommand{"doctor", atl::tools::doctor_command, "look for what could go wrong on this machine"},
};

void print_help(std::FILE* to) {
  std::fputs("usage: atoll SUBCOMMAND [options]\n\n", to);
  for (auto const& item : subcommands) {
    std::fprintf(to, "  %-11.*s %s\n", static_cast<int>(item.name.size()), item.name.data(), item.help);
  }
  std::fputs("\n`atoll SUBCOMMAND --help` says more. `atoll --version` prints the version.\n", to);
}

/// Replaces this process by atoll-NAME; returns only when there is none.
int run_program(std::string const& name, char** argv) {
  std::error_code error;
  auto const self = std::filesystem::read_symlink("/proc/self/exe", error);
  auto const folder = self.parent_path();
  std::vector<std::filesystem::path> const places{folder / ("atoll-" + name),
                                                  folder / ".." / "libexec" / "atoll" / ("atoll-" + name)};
  for (auto const& place : places) {
    if (::access(place.c_str(), X_OK) != 0) continue;
    ::execv(place.c_str(), argv);
    std::fprintf(stderr, "atoll %s: cannot run %s: %s\n", name.c_str(), place.c_str(), std::strerror(errno));
    return 126;
  }
  std::fprintf(
      stderr,
      "atoll %s: not part of this installation (no atoll-%s in %s). CMake's options ATOLL_BUILD_APPS and "
      "ATOLL_BUILD_BENCH say what is built.\n",
      name.c_str(), name.c_str(), folder.c_str());
  return 127;
}

int dispatch(int argc, char** argv) {
  if (std::filesystem::path(argv[0]).filename() == "upcxx-run") return atl::tools::run_command(argc, argv);
  if (argc < 2) {
    print_help(stderr);
    return 2;
  }
  std::string_view const name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    print_help(stdout);
    return 0;
  }
  if (name == "--version" || name == "-V") {
    std::printf("atoll %d.%d.%d\n", ATOLL_VERSION_MAJOR, ATOLL_VERSION_MINOR, ATOLL_VERSION_PATCH);
    return 0;
  }
  for (auto const& item : subcommands) {
    if (item.name != name) continue;
    return item.function != nullptr ? item.function(argc - 1, argv + 1)
                                    : run_program(std::string(name), argv + 1);
  }
  std::fprintf(stderr, "atoll: no subcommand %s; `atoll --help` lists them\n", argv[1]);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "atoll: %s\n", error.what());
    return 1;
  }
}
