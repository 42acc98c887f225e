#include "bootstrap/hydra_input.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/os/processes.hpp"

// MPICH's Hydra hands input to rank 0 alone, and leaves the others with a pipe into which it neither writes nor which it closes: who reads waits
// for ever, where all other launchers have an end of input. What makes it safe to take that pipe away is that its other end is found in Hydra's own
// process: the input that a script has given to this program is somebody else's. Intel's Hydra can hand input to all (-s all).

namespace atl::bootstrap {
namespace {

/// The proxy of Hydra among the ancestors of this process; there may be wrappers between. -1: none.
::pid_t proxy_of_hydra() {
  constexpr int most_wrappers = 8;
  ::pid_t at = ::getppid();
  for (int i = 0; i < most_wrappers && at > 1; ++i) {
    auto const process = os::find_process(at);
    if (!process) return -1;
    if (process->name == "hydra_pmi_proxy") return at;
    at = process->parent;
  }
  return -1;
}

/// Whether a process has a descriptor of that pipe.
bool has(::pid_t process, struct stat const& pipe) {
  std::string const folder = format("/proc/%d/fd", static_cast<int>(process));
  ::DIR* const all = ::opendir(folder.c_str());
  if (all == nullptr) return false;
  bool found = false;
  while (dirent const* each = ::readdir(all)) {
    struct stat one {};
    found = found || (::fstatat(::dirfd(all), each->d_name, &one, 0) == 0 && one.st_ino == pipe.st_ino &&
                      one.st_dev == pipe.st_dev);
  }
  ::closedir(all);
  return found;
}

bool is_intels() {
  for (char const* const* each = environ; *each != nullptr; ++each) {
    if (std::strncmp(*each, "I_MPI_", 6) == 0) return true;
  }
  return false;
}

/// When the library is loaded, before the program can have read anything.
[[gnu::constructor]] void end_early() { end_input_that_hydra_keeps_open(); }

}  // namespace

void end_input_that_hydra_keeps_open() noexcept try {
  char const* const rank = std::getenv("PMI_RANK");
  struct stat input {};
  if (rank == nullptr || std::getenv("PMI_FD") == nullptr || std::atoi(rank) == 0 || is_intels() ||
      ::fstat(STDIN_FILENO, &input) != 0 || !S_ISFIFO(input.st_mode))
    return;
  ::pid_t const proxy = proxy_of_hydra();
  if (proxy < 0 || !has(proxy, input)) return;
  int const nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0) return;
  ::dup2(nothing, STDIN_FILENO);
  ::close(nothing);
} catch (...) {  // no memory: input stays as it is
}

}  // namespace atl::bootstrap
