#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/os/descriptor_mail.hpp"
#include "base/os/memfd.hpp"
#include "base/os/unique_fd.hpp"
#include "bootstrap/bootstrap.hpp"

// Passing one open file to all ranks of the host.
//
// Local rank 0 listens on an abstract socket whose name the kernel chooses, and tells its peers name and a
// random token through the exchange. A peer connects, shows the token and gets the descriptor. Both ends
// check that the other runs under the same user; the token keeps out other jobs of that user. An abstract
// name lives as long as the socket, and the socket only for the length of this call. A second exchange tells
// everybody whether it worked for all.

namespace atl::bootstrap {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t token_bytes = 16;
constexpr auto patience = std::chrono::seconds(60);

[[noreturn]] void fail(char const* what) {
  throw bootstrap_error(format("passing a descriptor between ranks: %s: %s", what, std::strerror(errno)));
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == ::geteuid();
}

/// Waits until `socket` can be read; false at the deadline.
bool wait_readable(int socket, clock::time_point deadline) {
  for (;;) {
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
    if (left <= 0) return false;
    pollfd item{socket, POLLIN, 0};
    int const ready = ::poll(&item, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

os::unique_fd listen_anonymously(std::string& name) {
  os::unique_fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) fail("socket");
  name = os::bind_anonymously(fd.get());
  if (::listen(fd.get(), SOMAXCONN) != 0) fail("listen");
  return fd;
}

os::unique_fd receive_descriptor(int socket) {
  char byte = 0;
  os::unique_fd descriptor;
  long const got = os::receive_descriptor(socket, &byte, 1, descriptor);
  if (got < 0) fail("recvmsg");
  if (got != 1 || !descriptor) {
    throw bootstrap_error("passing a descriptor between ranks: refused by local rank 0");
  }
  return descriptor;
}

/// Serves `peers` ranks; strangers are hung up on and do not count.
void serve(int listener, int descriptor, std::string_view token, int peers) {
  auto const deadline = clock::now() + patience;
  while (peers > 0) {
    if (!wait_readable(listener, deadline)) {
      throw bootstrap_error(format("passing a descriptor between ranks: %d ranks did not ask for it", peers));
    }
    os::unique_fd const client(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (!client || !same_user(client.get())) continue;
    char shown[token_bytes] = {};
    // Our own peers send at once; a second is for strangers.
    if (!wait_readable(client.get(), clock::now() + std::chrono::seconds(1))) continue;
    if (::recv(client.get(), shown, sizeof shown, 0) != sizeof shown) continue;
    if (token != std::string_view(shown, sizeof shown)) continue;
    if (!os::send_descriptor(client.get(), "d", 1, descriptor)) fail("sendmsg");
    --peers;
  }
}

os::unique_fd ask(std::string_view name, std::string_view token) {
  os::unique_fd const fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) fail("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, sizeof address.sun_path);
  auto const bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  while (::connect(fd.get(), reinterpret_cast<sockaddr const*>(&address), bytes) != 0) {
    if (errno != EINTR) fail("connect");
  }
  if (!same_user(fd.get())) {
    throw bootstrap_error("passing a descriptor between ranks: local rank 0 runs under another user");
  }
  if (::send(fd.get(), token.data(), token.size(), MSG_NOSIGNAL) < 0) fail("send");
  if (!wait_readable(fd.get(), clock::now() + patience)) {
    throw bootstrap_error("passing a descriptor between ranks: local rank 0 does not answer");
  }
  return receive_descriptor(fd.get());
}

}  // namespace

int share_descriptor(channel& with, int descriptor) {
  placement const& where = with.where();
  if (where.local_size == 1) return descriptor;

  os::unique_fd listener;
  std::string name;
  std::string token(token_bytes, '\0');
  std::string problem;
  if (where.local_rank == 0) {
    try {
      os::random_bytes(token.data(), token.size());
      listener = listen_anonymously(name);
    } catch (startup_error const& error) {
      problem = error.what();
    }
  }
  // An empty blob from rank 0 says that it could not even listen.
  std::string const offer = with.exchange(listener ? token + name : std::string())[0];

  os::unique_fd received;
  try {
    if (where.local_rank == 0) {
      if (listener) serve(listener.get(), descriptor, token, where.local_size - 1);
    } else if (offer.size() > token_bytes) {
      received =
          ask(std::string_view(offer).substr(token_bytes), std::string_view(offer).substr(0, token_bytes));
    }
  } catch (startup_error const& error) {
    problem = error.what();
  }

  auto const outcomes = with.exchange(problem.substr(0, 900));
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (!outcomes[rank].empty())
      throw bootstrap_error(format("local rank %zu: %s", rank, outcomes[rank].c_str()));
  }
  return where.local_rank == 0 ? descriptor : received.release();
}

}  // namespace atl::bootstrap
