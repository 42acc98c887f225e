#include "run/job.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>

// How the output of a job's ranks is passed on while it runs, and what is left of it at the end.

namespace atl::tools {

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
    if (got < 0 && errno == EAGAIN) return true;
    // End; a terminal reports it as EIO.
    from.lines.finish(*from.to);
    from.end.reset();
  }
  return static_cast<bool>(from.end);
}

void job::drain_all() {
  for (auto& r : ranks_) {
    drain(r.output);
    drain(r.errors);
  }
}

void job::flush() {
  output_.flush();
  errors_.flush();
}

/// Passes on everything that is left. Whoever reads our output may be slow; a second signal ends the wait.
void job::finish() {
  for (;;) {
    drain_all();
    flush();
    bool const waiting = (!output_.empty() && !output_.broken()) || (!errors_.empty() && !errors_.broken());
    if (!waiting) break;
    std::array<pollfd, 3> items{{{signals_.get(), POLLIN, 0}, {-1, POLLOUT, 0}, {-1, POLLOUT, 0}}};
    if (!output_.empty()) items[1].fd = output_.descriptor();
    if (!errors_.empty()) items[2].fd = errors_.descriptor();
    ::poll(items.data(), items.size(), -1);
    signalfd_siginfo info{};
    bool stop = false;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info)
      stop = stop || info.ssi_signo != SIGCHLD;
    if (stop) return;
  }
  for (auto& r : ranks_) {
    r.output.lines.finish(*r.output.to);
    r.errors.lines.finish(*r.errors.to);
  }
  flush();
}

}  // namespace atl::tools
