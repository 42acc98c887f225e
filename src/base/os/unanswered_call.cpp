#include "base/os/unanswered_call.hpp"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <memory>

#include "base/error.hpp"
#include "base/os/tcp_table.hpp"

namespace atl::os {
namespace {

bool is_unanswered(int socket) {
  tcp_info about{};
  ::socklen_t bytes = sizeof about;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &about, &bytes) == 0 &&
         about.tcpi_state == TCP_SYN_SENT && about.tcpi_retransmits != 0;
}

std::string ends_of(::ino_t socket) {
  for (tcp_socket const& each : tcp_sockets()) {
    if (each.inode != socket) continue;
    return format("from %s to %s port %u", text_of_address(each.local.family, each.local.bytes).c_str(),
                  text_of_address(each.remote.family, each.remote.bytes).c_str(), unsigned{each.remote.port});
  }
  return {};
}

}  // namespace

std::string unanswered_call() {
  std::unique_ptr<::DIR, int (*)(::DIR*)> const all(::opendir("/proc/self/fd"), &::closedir);
  if (all == nullptr) return {};
  while (dirent const* const each = ::readdir(all.get())) {
    int const descriptor = std::atoi(each->d_name);
    struct stat about {};
    if (each->d_name[0] == '.' || ::fstat(descriptor, &about) != 0 || !S_ISSOCK(about.st_mode) ||
        !is_unanswered(descriptor))
      continue;
    if (std::string const ends = ends_of(about.st_ino); !ends.empty()) return ends;
  }
  return {};
}

}  // namespace atl::os
