#include "transport/shm/peer_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/os/memfd.hpp"

namespace atl::shm {
namespace {

/// In private memory: a word of shared memory would read the same in the wrong process.
/// Volatile: only others read it.
std::uint64_t volatile own_mark = 0;

}  // namespace

peer_process introduce_process() {
  std::uint64_t mark = 0;
  os::random_bytes(&mark, sizeof mark);
  own_mark = mark;
  return {::getpid(), reinterpret_cast<std::uintptr_t>(&own_mark), mark};
}

char const* read_peer(peer_process const& peer, void* to, std::uint64_t from, std::size_t bytes) {
  auto* const begin = static_cast<std::byte*>(to);
  for (std::size_t done = 0; done < bytes;) {
    std::uint64_t mark = 0;
    iovec const here[2] = {{&mark, sizeof mark}, {begin + done, bytes - done}};
    iovec const there[2] = {{reinterpret_cast<void*>(peer.mark_address), sizeof mark},
                            {reinterpret_cast<void*>(from + done), bytes - done}};
    ssize_t const n = ::process_vm_readv(static_cast<pid_t>(peer.pid), here, 2, there, 2, 0);
    if (n < 0) return std::strerror(errno);
    if (static_cast<std::size_t>(n) < sizeof mark || mark != peer.mark) {
      return "that number means another process here, as in a process namespace of its own";
    }
    if (n == sizeof mark) return std::strerror(EFAULT);
    done += static_cast<std::size_t>(n) - sizeof mark;
  }
  return nullptr;
}

}  // namespace atl::shm
