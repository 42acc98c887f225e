#include "base/os/descriptor_mail.hpp"

#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace atl::os {
namespace {

[[noreturn]] void fail(char const* what) {
  throw startup_error(format("passing a descriptor between ranks: %s: %s", what, std::strerror(errno)));
}

}  // namespace

bool send_descriptor(int socket, void const* data, std::size_t bytes, int descriptor, sockaddr const* to,
                     socklen_t to_bytes) noexcept {
  iovec part{const_cast<void*>(data), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to);
  message.msg_namelen = to_bytes;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const item = CMSG_FIRSTHDR(&message);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(item), &descriptor, sizeof descriptor);
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

long receive_descriptor(int socket, void* data, std::size_t capacity, unique_fd& descriptor,
                        int flags) noexcept {
  iovec part{data, capacity};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  } while (got < 0 && errno == EINTR);
  cmsghdr const* const item = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  descriptor.reset();
  if (item != nullptr && item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS) {
    int received = -1;
    std::memcpy(&received, CMSG_DATA(item), sizeof received);
    descriptor.reset(received);
  }
  return got;
}

std::string bind_anonymously(int socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // An address without a name makes the kernel choose an abstract one.
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) != 0) fail("bind");
  socklen_t bytes = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) fail("getsockname");
  return {address.sun_path, bytes - offsetof(sockaddr_un, sun_path)};
}

descriptor_mailbox::descriptor_mailbox()
    : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (!socket_) fail("socket");
  name_ = bind_anonymously(socket_.get());
}

bool descriptor_mailbox::try_send(std::string_view to, void const* data, std::size_t bytes,
                                  int descriptor) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  to.copy(address.sun_path, sizeof address.sun_path);
  auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + to.size());
  if (send_descriptor(socket_.get(), data, bytes, descriptor, reinterpret_cast<sockaddr*>(&address), size)) {
    return true;
  }
  if (errno != EAGAIN && errno != ENOBUFS && errno != ETOOMANYREFS) fail("sendmsg");
  return false;
}

std::size_t descriptor_mailbox::try_receive(void* data, std::size_t capacity,
                                            unique_fd& descriptor) const noexcept {
  long const got = receive_descriptor(socket_.get(), data, capacity, descriptor);
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

}  // namespace atl::os
