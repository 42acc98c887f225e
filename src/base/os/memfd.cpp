#include "base/os/memfd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"

namespace atl::os {
namespace {
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr unsigned huge_2mb = 21U << 26;  // MFD_HUGE_2MB, which older C libraries lack

/// Stands in for a memfd where a filter of system calls forbids those (old container runtimes): a file in memory
/// that never has a name, or loses it at once. It cannot be sealed: only this user's processes get at it.
unique_fd make_nameless_file(std::string const& why_no_memfd) {
  char const* const folder = "/dev/shm";
  unique_fd fd(::open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (!fd && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    std::string path = std::string(folder) + "/atoll-XXXXXX";
    fd.reset(::mkostemp(path.data(), O_CLOEXEC));
    if (fd) ::unlink(path.c_str());
  }
  if (!fd) {
    throw startup_error(
        format("cannot create shared memory: memfd_create: %s; a file in %s instead: %s. Allow one "
               "of them to this container.",
               why_no_memfd.c_str(), folder, std::strerror(errno)));
  }
  return fd;
}

/// Beyond it ftruncate() would raise SIGXFSZ, which kills without a word.
void check_file_size_limit(std::size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes) return;
  throw startup_error(format(
      "cannot size shared memory to %zu bytes: files may have %llu bytes (ulimit -f), shared memory included. Raise that limit",
      bytes, static_cast<unsigned long long>(limit.rlim_cur)));
}

}  // namespace

unique_fd make_sealed_memfd(char const* label, std::size_t bytes, bool huge) {
  unsigned const pages = huge ? MFD_HUGETLB | huge_2mb : 0U;
  unique_fd fd(::memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING | pages));
  if (!fd && huge) {
    throw startup_error(format(
        "cannot create shared memory of huge pages (memfd_create): %s. Leave out ATOLL_HUGE_PAGES=pool.",
        std::strerror(errno)));
  }
  bool const sealable = static_cast<bool>(fd);
  if (!fd) fd = make_nameless_file(std::strerror(errno));
  check_file_size_limit(bytes);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    throw startup_error(format("cannot size shared memory to %zu bytes: %s", bytes, std::strerror(errno)));
  }
  if (sealable && ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) {
    throw startup_error(format("cannot seal shared memory: %s", std::strerror(errno)));
  }
  return fd;
}

int reserve_pages(int descriptor, std::uint64_t begin, std::uint64_t bytes) noexcept {
  // One call's work: signals are served in between. Where one comes, older kernels give back all that the call has taken (6.18 does not); so programs
  // with a timer, as profilers have, would call for ever if the next call did not ask for less.
  constexpr std::uint64_t most = std::uint64_t{32} << 20;
  constexpr std::uint64_t least = std::uint64_t{64} << 10;
  std::uint64_t step = most;
  for (std::uint64_t done = 0; done < bytes;) {
    std::uint64_t const now = std::min(step, bytes - done);
    if (::fallocate(descriptor, 0, static_cast<off_t>(begin + done), static_cast<off_t>(now)) == 0) {
      done += now;
    } else if (errno == EINTR) {
      step = std::max(now / 2, least);
    } else {
      return errno;
    }
  }
  return 0;
}

bool is_sealed_memfd(int descriptor) noexcept {
  int const have = ::fcntl(descriptor, F_GET_SEALS);
  if (have >= 0 && (have & seals) == seals) return true;
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 0 &&
         info.st_uid == ::geteuid() && (info.st_mode & 077) == 0;
}

void random_bytes(void* destination, std::size_t bytes) {
  auto* at = static_cast<char*>(destination);
  while (bytes > 0) {
    ssize_t const got = ::getrandom(at, bytes, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw startup_error(format("cannot get random bytes (getrandom): %s", std::strerror(errno)));
    }
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

std::string random_hex(std::size_t bytes) {
  std::string raw(bytes, '\0');
  random_bytes(raw.data(), bytes);
  std::string text;
  for (char const c : raw) {
    auto const value = static_cast<unsigned char>(c);
    text += "0123456789abcdef"[value >> 4];
    text += "0123456789abcdef"[value & 15];
  }
  return text;
}

}  // namespace atl::os
