#include "support/rank_env.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <upcxx/upcxx.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace atoll_test {
namespace {

[[noreturn]] void lost(int rank, char const* what) {
  std::fprintf(stderr, "[rank %d] test channel: %s: %s\n", rank, what, std::strerror(errno));
  std::abort();
}

void serve_peers() {
  if (upcxx::initialized()) {
    upcxx::progress();
  }
}

/// Waits up to a millisecond for `descriptor`, serving the library meanwhile.
void wait_a_little(int descriptor) {
  serve_peers();
  pollfd entry{descriptor, POLLIN, 0};
  ::poll(&entry, 1, 1);
}

void send_value(int rank, int descriptor, std::int64_t value) {
  if (::send(descriptor, &value, sizeof value, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof value)) {
    lost(rank, "cannot send to a peer");
  }
}

std::int64_t receive_value(int rank, int descriptor) {
  std::int64_t value = 0;
  for (;;) {
    ssize_t const got = ::recv(descriptor, &value, sizeof value, MSG_DONTWAIT);
    if (got == static_cast<ssize_t>(sizeof value)) {
      return value;
    }
    if (got == 0) {
      errno = ECONNRESET;
      lost(rank, "a peer has gone");
    }
    if (errno != EAGAIN && errno != EINTR) {
      lost(rank, "cannot receive from a peer");
    }
    wait_a_little(descriptor);
  }
}

}  // namespace

rank_env::rank_env(int rank, int size, std::uint64_t key) : rank_(rank), size_(size) {
  if (size_ == 1) {
    return;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Abstract, so that nothing is left on disk, but for ranks in several network namespaces: in this folder.
  char const* const folder = std::getenv("ATOLL_TEST_SOCKETS");
  bool const abstract = folder == nullptr;
  int const length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
                                   "%s/atoll-test-%d-%016llx", abstract ? "" : folder + 1,
                                   static_cast<int>(::getuid()), static_cast<unsigned long long>(key));
  if (!abstract) address.sun_path[0] = '/';
  auto const address_size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  int const type = SOCK_SEQPACKET | SOCK_CLOEXEC;
  if (rank_ == 0) {
    int const listener = ::socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
    if (listener < 0 || ::bind(listener, reinterpret_cast<sockaddr const*>(&address), address_size) != 0 ||
        ::listen(listener, size_) != 0) {
      lost(rank_, "cannot listen");
    }
    while (static_cast<int>(sockets_.size()) < size_ - 1) {
      int const peer = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer >= 0) {
        sockets_.push_back(peer);
      } else if (errno == EAGAIN || errno == EINTR) {
        wait_a_little(listener);
      } else {
        lost(rank_, "cannot accept");
      }
    }
    ::close(listener);
    if (!abstract) ::unlink(address.sun_path);
  } else {
    int const own = ::socket(AF_UNIX, type, 0);
    while (::connect(own, reinterpret_cast<sockaddr const*>(&address), address_size) != 0) {
      if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR && errno != ENOENT) {
        lost(rank_, "cannot connect");
      }
      serve_peers();
      ::usleep(1000);  // rank 0 is not listening yet
    }
    sockets_.push_back(own);
  }
}

rank_env::~rank_env() {
  for (int const descriptor : sockets_) {
    ::close(descriptor);
  }
}

std::int64_t rank_env::sum(std::int64_t mine) {
  std::int64_t total = mine;
  if (rank_ == 0) {
    for (int const peer : sockets_) {
      total += receive_value(rank_, peer);
    }
    for (int const peer : sockets_) {
      send_value(rank_, peer, total);
    }
  } else {
    send_value(rank_, sockets_.front(), mine);
    total = receive_value(rank_, sockets_.front());
  }
  return total;
}

void rank_env::barrier() { sum(0); }

}  // namespace atoll_test
