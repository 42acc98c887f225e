#pragma once

/// Event descriptors: what a process rings that another one watches together with descriptors of other things.

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

#include "base/os/unique_fd.hpp"

namespace atl::os {

/// Empty with errno set if there are no more descriptors.
inline unique_fd make_event() noexcept { return unique_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

/// Makes it readable.
inline void ring_event(int event) noexcept {
  std::uint64_t const one = 1;
  // It can only fail where it is readable already.
  [[maybe_unused]] ssize_t const written = ::write(event, &one, sizeof one);
}

/// Makes it unreadable until it is rung again.
inline void silence_event(int event) noexcept {
  std::uint64_t rung = 0;
  [[maybe_unused]] ssize_t const read = ::read(event, &rung, sizeof rung);
}

/// Sleeps until one of the two is readable (`other` may be -1), or for so long. May return earlier.
inline void wait_for_either(int event, int other, std::int64_t longest_ns) noexcept {
  pollfd both[2] = {{event, POLLIN, 0}, {other, POLLIN, 0}};
  timespec const longest{longest_ns / 1'000'000'000, longest_ns % 1'000'000'000};
  if (::ppoll(both, 2, &longest, nullptr) > 0 && both[0].revents != 0) silence_event(event);
}

/// Sleeps until it is readable, or for so long; -1: for so long. May return earlier.
inline void wait_for(int descriptor, std::int64_t longest_ns) noexcept {
  pollfd one{descriptor, POLLIN, 0};
  timespec const longest{longest_ns / 1'000'000'000, longest_ns % 1'000'000'000};
  ::ppoll(&one, 1, &longest, nullptr);
}

}  // namespace atl::os
