#include "run/job.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <utility>

// How the output of a job's ranks is passed on while it runs, and what is left of it at the end.

namespace atl::tools {

/// Reads what there is. True: it has stopped, since ours is not read as fast.
bool job::drain(stream& from) {
  std::array<char, 64 * 1024> part;
  while (from.end && !from.to->full()) {
    ssize_t const got = ::read(from.end.get(), part.data(), part.size());
    if (got > 0) {
      from.lines.add({part.data(), static_cast<std::size_t>(got)}, *from.to);
      from.to->flush();
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      from.lines.pause(*from.to);
      return false;
    }
    // End; a terminal reports it as EIO.
    from.lines.finish(*from.to);
    from.end.reset();
  }
  return static_cast<bool>(from.end);
}

bool job::drain_all() {
  bool stopped = false;
  for (auto& r : ranks_) {
    stopped |= drain(r.output);
    stopped |= drain(r.errors);
  }
  return stopped;
}

void job::flush() {
  output_.flush();
  errors_.flush();
}

/// Passes on everything that is left. Whoever reads our output may be slow; a signal ends the wait.
void job::finish() {
  auto const waits = [](sink const& to) { return !to.empty() && !to.broken(); };
  for (bool lines_have_ended = false;;) {
    bool const stopped = drain_all();
    flush();
    if (waits(output_) || waits(errors_)) {
      if (!wait_for_reader()) return;
    } else if (!stopped) {
      if (std::exchange(lines_have_ended, true)) break;
      for (auto& r : ranks_) {
        r.output.lines.finish(*r.output.to);
        r.errors.lines.finish(*r.errors.to);
      }
    }
  }
}

/// False: a signal says that nobody shall.
bool job::wait_for_reader() {
  std::array<pollfd, 3> items{{{signals_.get(), POLLIN, 0}, {-1, POLLOUT, 0}, {-1, POLLOUT, 0}}};
  if (!output_.empty()) items[1].fd = output_.descriptor();
  if (!errors_.empty()) items[2].fd = errors_.descriptor();
  ::poll(items.data(), items.size(), -1);
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    int const signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (signal == SIGTSTP) {
      ::raise(SIGSTOP);
      continue;
    }
    if (!std::exchange(decided_, true)) status_ = exit_status::signal_base + signal;
    return false;
  }
  return true;
}

}  // namespace atl::tools
