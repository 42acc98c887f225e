// `atoll doctor`: tries what jobs will need here, and says what is missing and what that costs.

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/debug_info.hpp"
#include "base/error.hpp"
#include "base/os/cores.hpp"
#include "base/os/memfd.hpp"
#include "base/os/memory.hpp"
#include "base/settings.hpp"
#include "bootstrap/bootstrap.hpp"
#include "command.hpp"

namespace atl::tools {
namespace {

enum class finding { good, note, problem };

/// Prints one line, and remembers whether something was wrong.
class report {
 public:
  void add(finding what, std::string const& subject, std::string const& text) {
    char const* const word = what == finding::good ? "ok" : what == finding::note ? "note" : "PROBLEM";
    std::printf("%-8s %-16s %s\n", word, subject.c_str(), text.c_str());
    problems_ += what == finding::problem ? 1 : 0;
  }
  int problems() const noexcept { return problems_; }

 private:
  int problems_ = 0;
};

std::string reason() { return std::strerror(errno); }

void check_shared_memory(report& to) {
  constexpr std::size_t bytes = 1 << 20;
  try {
    os::unique_fd const fd = os::make_sealed_memfd("atoll-doctor", bytes);
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
    if (memory == MAP_FAILED) return to.add(finding::problem, "shared memory", "cannot map it: " + reason());
    ::munmap(memory, bytes);
    to.add(finding::good, "shared memory", "anonymous files can be created, sealed and mapped");
  } catch (startup_error const& error) {
    to.add(finding::problem, "shared memory", error.what());
  }
}

void check_sockets(report& to) {
  os::unique_fd const fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) != 0) {
    return to.add(finding::note, "sockets",
                  "no abstract Unix sockets (" + reason() +
                      "): ranks pass their memory through /proc or a folder instead");
  }
  to.add(finding::good, "sockets", "abstract Unix sockets can be created");
}

/// Whether one process may read another's memory: large messages are fetched that way.
void check_reading_of_peers(report& to) {
  static char const volatile value = 'v';
  int const child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  if (child < 0) return to.add(finding::problem, "processes", "cannot start one: " + reason());
  char seen = 0;
  iovec const mine{&seen, 1};
  iovec const theirs{const_cast<char*>(&value), 1};
  bool const works = ::process_vm_readv(child, &mine, 1, &theirs, 1, 0) == 1 && seen == 'v';
  std::string const why = works ? "" : reason();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (works)
    return to.add(finding::good, "reading peers", "ranks can fetch large messages from each other's memory");
  to.add(finding::note, "reading peers",
         "not allowed (" + why + "; a container's rules?): large messages are copied twice");
}

void check_process_watch(report& to) {
  os::unique_fd const fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (fd) return to.add(finding::good, "watching", "processes behind wrapper scripts can be watched");
  to.add(finding::note, "watching",
         "no pidfd_open (" + reason() + "): the death of a program behind a wrapper script is " +
             "noticed only when the wrapper ends");
}

void check_programs(report& to) {
  std::string reader;
  if (have_debug_info_reader(reader)) {
    to.add(finding::good, "backtraces", reader + " is there to name files and lines");
  } else {
    to.add(finding::note, "backtraces",
           "functions without files and lines: " + reader + "; install elfutils' libdw (Debian: libdw1)");
  }
  try {
    for (auto const& item : bootstrap::candidates()) {
      if (item.name != "pmix") continue;
      bool const missing = item.reason.find("cannot open") != std::string::npos;
      to.add(missing ? finding::note : finding::good, "MPI launchers",
             missing ? "programs started by mpirun need libpmix.so.2 (Debian: libpmix2)" : item.reason);
    }
  } catch (startup_error const&) {
    // A setting is wrong; check_settings says so.
  }
}

void check_resources(report& to) {
  int const usable = os::usable_cores();
  auto const shown = static_cast<int>(os::affinity_cores().size());
  if (usable < shown) {
    to.add(finding::note, "cores",
           format("%d usable of %d shown: the control group has a quota", usable, shown));
  } else {
    to.add(finding::good, "cores", format("%d usable", usable));
  }
  os::memory_limits const limits = os::read_memory_limits();
  try {
    std::size_t const heap = settings::shared_heap_size(usable);
    std::uint64_t const wanted = static_cast<std::uint64_t>(heap) * static_cast<std::uint64_t>(usable);
    bool const fits = wanted <= limits.available();
    // Heaps are address space until somebody allocates in them.
    to.add(fits ? finding::good : finding::note, "memory",
           format("%s available; one rank for each core may allocate %s%s",
                  settings::format_bytes(limits.available()).c_str(), settings::format_bytes(wanted).c_str(),
                  fits ? "" : " in its shared heap, together"));
  } catch (startup_error const&) {
    // The setting itself is wrong; check_settings says so.
  }
}

void check_settings(report& to) {
  bool good = true;
  for (auto const& item : settings::all()) {
    auto const now = settings::look_up(item);
    if (now.problem.empty()) continue;
    to.add(finding::problem, "settings", now.problem);
    good = false;
  }
  for (auto const& each : settings::all_misspelt()) {
    to.add(finding::note, "settings",
           format("%s is set, but is no setting: is %s meant?", each.name.c_str(), each.meant));
  }
  if (good) to.add(finding::good, "settings", "all values can be used");
}

}  // namespace

int doctor_command(int argc, char** argv) {
  CLI::App app(
      "Tries what jobs need on this machine. Exit status 1 when something they cannot do without is missing.",
      "atoll doctor");
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (CLI::ParseError const& error) {
    std::fprintf(stderr, "atoll doctor: %s\n", error.what());
    return 2;
  }
  std::fflush(stdout);  // before there are children that could print it again
  report findings;
  check_shared_memory(findings);
  check_sockets(findings);
  check_reading_of_peers(findings);
  check_process_watch(findings);
  check_programs(findings);
  check_resources(findings);
  check_settings(findings);
  return findings.problems() > 0 ? 1 : 0;
}

}  // namespace atl::tools
