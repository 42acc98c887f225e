// The keeper's program: started by the first rank of a host, in jobs of several hosts (keeper.hpp). Not for people.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <vector>

#include "bootstrap/keeper/keeper.hpp"

using namespace atl::keeping;

int main() {
  orders what{};
  if (::pread(orders_descriptor, &what, sizeof what, 0) != ::ssize_t{sizeof what} ||
      what.version != orders_version || what.listeners > most_addresses || what.hosts < 1) {
    std::fputs(
        "atoll: this program is started by ranks of jobs on several hosts; there is nothing that it does by itself\n",
        stderr);
    return 2;
  }
  // It ends with the ranks, not with what launchers and terminals tell these to do, or do to the group of a rank: from the moment on at
  // which the rank that starts it goes on.
  ::setsid();
  for (int const signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2}) std::signal(signal, SIG_IGN);
  std::signal(SIGQUIT, &ask_for_picture);
  ::syscall(SYS_close_range, static_cast<unsigned>(first_listener) + what.listeners, ~0U, 0U);
  for (int const standard : {STDIN_FILENO, STDOUT_FILENO}) {
    int const nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || ::dup2(nothing, standard) < 0) return 1;
    ::close(nothing);
  }
  if (::chdir("/") != 0) return 1;

  void* const board = ::mmap(nullptr, what.local_ranks * sizeof(place), PROT_READ | PROT_WRITE, MAP_SHARED,
                             board_descriptor, 0);
  if (board == MAP_FAILED) return 1;
  std::vector<atl::os::unique_fd> listeners;
  for (unsigned i = 0; i < what.listeners; ++i) listeners.emplace_back(first_listener + static_cast<int>(i));
  keeper watch(what, static_cast<place*>(board), std::move(listeners));
  // From now on it sees which of them ends first, however late it is run.
  watch.look_at_board();

  // Nobody's child: programs wait for theirs, and count them.
  ::pid_t const child = ::fork();
  if (child != 0) ::_exit(child < 0 ? 1 : 0);
  watch.run();
  return 0;
}
