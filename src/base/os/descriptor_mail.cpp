#include "base/os/descriptor_mail.hpp"

#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace atl::os {
namespace {

[[noreturn]] void fail(char const* what) {
  throw startup_error(format("passing a descriptor between ranks: %s: %s", what, std::strerror(errno)));
}

constexpr int most_refusals = 3;  ///< that are told of

/// Nobody's, where the system does not say.
ucred peer_of(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) peer.uid = ~::uid_t{0};
  return peer;
}

unique_fd make_socket() {
  unique_fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail("socket");
  return socket;
}

std::string printable(std::string_view name) {
  return name.starts_with('\0') ? "an abstract socket" : std::string(name);
}

/// A name that the kernel chooses, in no file system.
std::string bind_anonymously(int socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) != 0) fail("bind");
  socklen_t bytes = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) fail("getsockname");
  return {address.sun_path, bytes - offsetof(sockaddr_un, sun_path)};
}

/// A name in a new folder that only this user may enter, where containers of a host are likely to share one.
std::string bind_in_folder(int socket, std::string& folder) {
  std::string problems;
  char const* const chosen = std::getenv("TMPDIR");
  for (std::string const parent :
       {"/dev/shm", chosen != nullptr && *chosen == '/' ? chosen : "/tmp", "/tmp"}) {
    folder = parent + "/atoll-XXXXXX";
    std::string const name = folder + "/box";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.size() > descriptor_mailbox::longest_name) continue;
    if (::mkdtemp(folder.data()) != nullptr) {
      std::string const path = folder + "/box";
      path.copy(address.sun_path, sizeof address.sun_path);
      if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return path;
      int const code = errno;
      ::rmdir(folder.c_str());
      errno = code;
    }
    problems += format("%s%s: %s", problems.empty() ? "" : "; ", parent.c_str(), std::strerror(errno));
  }
  folder.clear();
  throw startup_error("passing a descriptor between ranks: no place for a socket: " + problems);
}

}  // namespace

bool send_descriptors(int socket, void const* data, std::size_t bytes,
                      std::span<int const> descriptors) noexcept {
  iovec part{const_cast<void*>(data), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(descriptors_in_a_letter * sizeof(int))] = {};
  std::size_t const size = std::min(descriptors.size(), descriptors_in_a_letter) * sizeof(int);
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(size);
  cmsghdr* const item = CMSG_FIRSTHDR(&message);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(size);
  std::memcpy(CMSG_DATA(item), descriptors.data(), size);
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

long receive_descriptors(int socket, void* data, std::size_t capacity, std::vector<unique_fd>& descriptors,
                         int flags) {
  iovec part{data, capacity};
  alignas(cmsghdr) char control[CMSG_SPACE(descriptors_in_a_letter * sizeof(int))] = {};
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
  descriptors.clear();
  if (item != nullptr && item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS) {
    std::size_t const count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int received = -1;
      std::memcpy(&received, CMSG_DATA(item) + i * sizeof received, sizeof received);
      descriptors.emplace_back(received);
    }
  }
  return got;
}

descriptor_mailbox::descriptor_mailbox(mail_place place) : socket_(make_socket()) {
  name_ = place == mail_place::abstract ? bind_anonymously(socket_.get())
                                        : bind_in_folder(socket_.get(), folder_);
  if (::listen(socket_.get(), SOMAXCONN) != 0) fail("listen");
}

descriptor_mailbox::~descriptor_mailbox() {
  if (folder_.empty()) return;
  ::unlink(name_.c_str());
  ::rmdir(folder_.c_str());
}

bool descriptor_mailbox::try_send(std::string_view to, void const* data, std::size_t bytes,
                                  std::span<int const> descriptors) {
  unique_fd const socket = make_socket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  to.copy(address.sun_path, sizeof address.sun_path);
  auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + to.size());
  while (::connect(socket.get(), reinterpret_cast<sockaddr const*>(&address), size) != 0) {
    if (errno == EAGAIN) return false;  // more callers than it may keep waiting
    if (errno != EINTR) fail(("connect to " + printable(to)).c_str());
  }
  if (peer_of(socket.get()).uid != ::geteuid()) {
    throw startup_error("passing a descriptor between ranks: the receiver runs under another user");
  }
  // The letter waits there until the receiver looks, even after this end is closed.
  if (send_descriptors(socket.get(), data, bytes, descriptors)) return true;
  if (errno != EAGAIN && errno != ENOBUFS && errno != ETOOMANYREFS) fail("sendmsg");
  return false;
}

std::size_t descriptor_mailbox::try_receive(void* data, std::size_t capacity,
                                            std::vector<unique_fd>& descriptors) {
  for (;;) {
    unique_fd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) break;
    last_ = peer_of(socket.get());
    if (last_.uid != ::geteuid()) {
      refuse("another user's");
    } else {
      callers_.push_back({std::move(socket), last_});
    }
  }
  for (std::size_t i = 0; i < callers_.size();) {
    long got = receive_descriptors(callers_[i].socket.get(), data, capacity, descriptors);
    // The kernel looks for a letter first, and then whether the other end is closed: one that came in between is there when it is asked again.
    if (got == 0) got = receive_descriptors(callers_[i].socket.get(), data, capacity, descriptors);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      ++i;
      continue;
    }
    last_ = callers_[i].who;
    callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
    if (got > 0) return static_cast<std::size_t>(got);
  }
  return 0;
}

void descriptor_mailbox::refuse(char const* why) {
  if (++refused_ > most_refusals) return;
  warn("descriptors", "a letter of process %d of user %u was refused: it is %s", last_.pid, last_.uid, why);
}

}  // namespace atl::os
