#include "base/os/unanswered_call.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/error.hpp"

namespace atl::os {
namespace {

bool is_unanswered(int socket) {
  tcp_info about{};
  ::socklen_t bytes = sizeof about;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &about, &bytes) == 0 &&
         about.tcpi_state == TCP_SYN_SENT && about.tcpi_retransmits != 0;
}

/// "0100007F:1F90", or four such words before the port: addresses as the processor has them. Text for people.
std::string end_of_table(std::string_view text, bool with_port) {
  std::size_t const colon = text.find(':');
  std::array<std::uint32_t, 4> words{};
  std::size_t count = 0;
  constexpr std::size_t digits = 8;
  for (; count < words.size() && (count + 1) * digits <= std::min(colon, text.size()); ++count)
    std::from_chars(text.data() + count * digits, text.data() + (count + 1) * digits, words[count], 16);
  std::array<char, INET6_ADDRSTRLEN> readable{};
  int const family = count == 4 ? AF_INET6 : AF_INET;
  if (count == 0 || ::inet_ntop(family, words.data(), readable.data(), readable.size()) == nullptr)
    return "?";
  unsigned port = 0;
  if (colon != std::string_view::npos)
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), port, 16);
  return with_port ? format("%s port %u", readable.data(), port) : std::string(readable.data());
}

std::string ends_of(::ino_t socket) {
  for (char const* const table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream columns(line);
      std::string number, local, remote, state, queues, timer, retries, user, timeout;
      ::ino_t inode = 0;
      columns >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >> inode;
      if (inode == socket) return "from " + end_of_table(local, false) + " to " + end_of_table(remote, true);
    }
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
