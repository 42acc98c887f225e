#pragma once

/// How many descriptors this process may have at once.

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace atl::os {

/// 0: unknown.
inline std::uint64_t descriptor_limit() noexcept {
  rlimit now{};
  return ::getrlimit(RLIMIT_NOFILE, &now) == 0 ? now.rlim_cur : 0;
}

/// Raises it to that, or as far as it may be raised. It is never lowered; programs that this one starts inherit it.
inline void want_descriptors(std::uint64_t wanted) noexcept {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= wanted) return;
  now.rlim_cur = std::min<rlim_t>(wanted, now.rlim_max);
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &now));
}

/// True if there is not one more to be had, now.
inline bool descriptors_are_used_up() noexcept {
  int const one = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (one >= 0) ::close(one);
  return one < 0 && errno == EMFILE;
}

/// How many more there are to be had, now, about; the limit where that cannot be known.
inline std::uint64_t descriptors_left() noexcept {
  std::uint64_t const limit = descriptor_limit();
  ::DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return errno == EMFILE ? 0 : limit;
  std::uint64_t taken = 0;
  while (dirent const* const each = ::readdir(folder)) taken += each->d_name[0] != '.' ? 1U : 0U;
  ::closedir(folder);
  --taken;  // for the folder
  return limit - std::min(taken, limit);
}

}  // namespace atl::os
