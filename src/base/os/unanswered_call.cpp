#include "base/os/unanswered_call.hpp"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_set>

#include "base/error.hpp"
#include "base/os/descriptor_limit.hpp"
#include "base/os/tcp_table.hpp"

namespace atl::os {
namespace {

bool is_unanswered(int socket) {
  tcp_info about{};
  ::socklen_t bytes = sizeof about;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &about, &bytes) == 0 &&
         about.tcpi_state == TCP_SYN_SENT && about.tcpi_retransmits != 0;
}

}  // namespace

bool unanswered_call::is_to_one_of(std::string_view addresses) const noexcept {
  constexpr std::size_t of_v4 = 4;
  // A socket for both families has an address of the older one at the end of its own.
  constexpr std::string_view mapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  std::string_view bytes(reinterpret_cast<char const*>(to.bytes.data()), to.bytes.size());
  if (to.family == 4) {
    bytes = bytes.substr(0, of_v4);
  } else if (bytes.starts_with(mapped)) {
    bytes.remove_prefix(mapped.size());
  }
  return addresses.find(bytes) != std::string_view::npos;
}

std::vector<unanswered_call> unanswered_calls() {
  std::vector<unanswered_call> calls;
  std::unique_ptr<::DIR, int (*)(::DIR*)> const all(::opendir("/proc/self/fd"), &::closedir);
  if (all == nullptr) return calls;
  std::unordered_set<std::uint64_t> sockets;
  while (dirent const* const each = ::readdir(all.get())) {
    int const descriptor = std::atoi(each->d_name);
    struct stat about {};
    if (each->d_name[0] != '.' && ::fstat(descriptor, &about) == 0 && S_ISSOCK(about.st_mode) &&
        is_unanswered(descriptor))
      sockets.insert(about.st_ino);
  }
  if (sockets.empty()) return calls;
  for (tcp_socket const& each : tcp_sockets()) {
    if (!sockets.contains(each.inode)) continue;
    calls.push_back(
        {each.remote,
         format("from %s to %s port %u", text_of_address(each.local.family, each.local.bytes).c_str(),
                text_of_address(each.remote.family, each.remote.bytes).c_str(), unsigned{each.remote.port})});
  }
  return calls;
}

bool has_untaken_calls() noexcept {
  auto const limit = static_cast<int>(std::min<std::uint64_t>(descriptor_limit(), INT_MAX));
  for (int descriptor = 0; descriptor < limit; ++descriptor) {
    tcp_info about{};
    ::socklen_t bytes = sizeof about;
    // Of a listener the system tells here how many are in its queue.
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &about, &bytes) == 0 &&
        about.tcpi_state == TCP_LISTEN && about.tcpi_unacked != 0)
      return true;
  }
  return false;
}

}  // namespace atl::os
