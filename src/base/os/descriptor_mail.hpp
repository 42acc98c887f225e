#pragma once

/// Passing open files between processes over Unix sockets.

#include <sys/socket.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/os/unique_fd.hpp"

namespace atl::os {

/// Sends `bytes` (at least one) together with a descriptor, of which the receiver gets a copy. `to` may be
/// null for connected sockets. False with errno set.
bool send_descriptor(int socket, void const* data, std::size_t bytes, int descriptor,
                     sockaddr const* to = nullptr, socklen_t to_bytes = 0) noexcept;

/// Receives at most `capacity` bytes and a descriptor (empty if none came). Bytes received, or -1 with errno
/// set. Does not wait if `flags` has MSG_DONTWAIT.
long receive_descriptor(int socket, void* data, std::size_t capacity, unique_fd& descriptor,
                        int flags = 0) noexcept;

/// A letter box for descriptors: its name is known to the kernel only and goes with the object.
class descriptor_mailbox {
 public:
  /// Throws startup_error.
  descriptor_mailbox();

  /// Name to give to senders, some ten bytes.
  [[nodiscard]] std::string const& name() const noexcept { return name_; }

  /// False if the receiver's box is full: try again later. Throws startup_error if there is no such box.
  bool try_send(std::string_view to, void const* data, std::size_t bytes, int descriptor) const;
  /// As receive_descriptor; 0 if nothing is there. Anybody may have sent it.
  std::size_t try_receive(void* data, std::size_t capacity, unique_fd& descriptor) const noexcept;

 private:
  unique_fd socket_;
  std::string name_;
};

/// Binds a socket to a name that the kernel chooses, in no file system; returns it. Throws startup_error.
std::string bind_anonymously(int socket);

}  // namespace atl::os
