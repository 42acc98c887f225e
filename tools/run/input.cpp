#include "run/input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/os/pipe.hpp"

namespace atl::tools {

input_relay::input_relay(input_mode mode, int ranks) : mode_(mode) {
  nothing_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  bool const relay = mode == input_mode::all || (mode == input_mode::first && ::isatty(STDIN_FILENO) == 1);
  if (!relay) return;
  int const readers = mode == input_mode::all ? ranks : 1;
  for (int i = 0; i < readers; ++i) {
    os::pipe_ends ends = os::make_pipe();
    ::fcntl(ends.writing.get(), F_SETFL, O_NONBLOCK);
    rank_ends_.push_back(std::move(ends.reading));
    targets_.push_back({std::move(ends.writing), {}});
  }
}

int input_relay::descriptor_for(int rank) const noexcept {
  if (static_cast<std::size_t>(rank) < rank_ends_.size())
    return rank_ends_[static_cast<std::size_t>(rank)].get();
  if (mode_ == input_mode::first && rank == 0) return STDIN_FILENO;
  return nothing_.get();
}

void input_relay::ranks_started() { rank_ends_.clear(); }

bool input_relay::pending() const noexcept {
  return std::any_of(targets_.begin(), targets_.end(), [](target const& t) { return !t.waiting.empty(); });
}

bool input_relay::wants_input() const noexcept {
  if (targets_.empty() || source_ended_) return false;
  bool const room =
      std::all_of(targets_.begin(), targets_.end(), [](target const& t) { return t.waiting.size() < limit; });
  // In the background, reading from the terminal is not ours to do.
  bool const background = ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) != ::getpgrp();
  return room && !background;
}

std::vector<int> input_relay::congested() const {
  std::vector<int> found;
  for (target const& t : targets_) {
    if (!t.waiting.empty()) found.push_back(t.end.get());
  }
  return found;
}

void input_relay::work(bool readable) {
  if (readable && wants_input()) {
    std::array<char, 16 * 1024> part;
    ssize_t const got = ::read(STDIN_FILENO, part.data(), part.size());
    if (got > 0) {
      for (target& t : targets_) t.waiting.append(part.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN && errno != EIO)) {
      source_ended_ = true;
    }
  }
  pass_on();
}

void input_relay::pass_on() {
  for (auto at = targets_.begin(); at != targets_.end();) {
    while (!at->waiting.empty()) {
      ssize_t const done = ::write(at->end.get(), at->waiting.data(), at->waiting.size());
      if (done > 0) {
        at->waiting.erase(0, static_cast<std::size_t>(done));
      } else if (errno != EINTR) {
        break;
      }
    }
    bool const gone = !at->waiting.empty() && errno != EAGAIN;  // the rank does not read any more
    if (gone || (source_ended_ && at->waiting.empty())) {
      at = targets_.erase(at);
    } else {
      ++at;
    }
  }
}

}  // namespace atl::tools
