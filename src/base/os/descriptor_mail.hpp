#pragma once

/// Passing open files between processes over Unix sockets.

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/unique_fd.hpp"

namespace atl::os {

/// Most descriptors that travel together.
inline constexpr std::size_t descriptors_in_a_letter = 250;

/// Sends `bytes` (at least one) together with descriptors, of which the receiver gets copies, over a connected
/// socket. False with errno set.
bool send_descriptors(int socket, void const* data, std::size_t bytes,
                      std::span<int const> descriptors) noexcept;

/// Receives at most `capacity` bytes and the descriptors that came with them. Bytes received, or -1 with errno set.
/// Does not wait if `flags` has MSG_DONTWAIT.
long receive_descriptors(int socket, void* data, std::size_t capacity, std::vector<unique_fd>& descriptors,
                         int flags = 0);

/// Why letters are refused.
inline constexpr char const* no_letter = "no letter of ranks";
inline constexpr char const* foreign_letter = "another job's";

/// Where a letter box has its name, by which senders find it.
enum class mail_place : unsigned char {
  abstract,  ///< known to the kernel only; senders must be in the same network namespace
  folder     ///< a file in a folder of its own that only this user may enter; for as long as the object lives
};

/// A letter box for descriptors. Letters come from processes of this user only, and go to such only.
class descriptor_mailbox {
 public:
  /// Throws startup_error.
  explicit descriptor_mailbox(mail_place place = mail_place::abstract);
  descriptor_mailbox(descriptor_mailbox const&) = delete;
  descriptor_mailbox& operator=(descriptor_mailbox const&) = delete;
  ~descriptor_mailbox();

  /// Name to give to senders: some ten bytes, in a folder at most `longest_name`.
  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  static constexpr std::size_t longest_name = 104;

  /// False if the receiver's box is full: try again later. Throws startup_error if there is no such box, or
  /// if it is another user's.
  static bool try_send(std::string_view to, void const* data, std::size_t bytes,
                       std::span<int const> descriptors);
  /// As receive_descriptors; 0 if nothing is there.
  std::size_t try_receive(void* data, std::size_t capacity, std::vector<unique_fd>& descriptors);
  /// Says that the last letter was not for us: the first times, as others may send many.
  void refuse(char const* why);

 private:
  struct caller {
    unique_fd socket;
    ucred who;
  };

  unique_fd socket_;
  std::string name_;
  std::string folder_;           ///< to remove
  std::vector<caller> callers_;  ///< connected; their letters may be on the way
  ucred last_{};                 ///< whose letter was received
  int refused_ = 0;
};

}  // namespace atl::os
