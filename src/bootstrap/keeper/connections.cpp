// What processes are connected by, from /proc. Libraries that choose among interfaces do not say which ones they take, and what UCX says of
// TCP (ucp_ep_print_info) is not what the system then does, as it binds no connection to a device.

#include "bootstrap/keeper/connections.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/keeper/own_link.hpp"

namespace atl::keeping {
namespace {

/// "0100007F:1F90", or four such words: as the processor has them.
address read_address(std::string_view text) {
  address where{};
  text = text.substr(0, text.find(':'));
  constexpr std::size_t digits = 8;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < words.size() && text.size() >= digits; ++i) {
    std::from_chars(text.data(), text.data() + digits, words[i], 16);
    text.remove_prefix(digits);
    where.family = i == 0 ? 4 : 6;
  }
  std::memcpy(where.bytes.data(), words.data(), sizeof words);
  // Sockets for both families have addresses of the older one inside those of the newer.
  constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (where.family == 6 && std::equal(mapped.begin(), mapped.end(), where.bytes.begin())) {
    std::copy(where.bytes.begin() + mapped.size(), where.bytes.end(), where.bytes.begin());
    std::fill(where.bytes.begin() + 4, where.bytes.end(), std::uint8_t{0});
    where.family = 4;
  }
  return where;
}

}  // namespace

std::unordered_set<std::uint64_t> connections_over(std::uint32_t interface) {
  std::unordered_set<std::uint64_t> sockets;
  std::vector<address> const own = addresses_of(interface);
  for (char const* const table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // what the columns are
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retries, user, timeout;
      std::uint64_t socket = 0;
      words >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >> socket;
      bool const connected = state == "01" || state == "02";  // ESTABLISHED, SYN_SENT
      address const at = read_address(local);
      if (connected && socket != 0 &&
          std::any_of(own.begin(), own.end(), [&](address const& a) { return is_same(a, at); }))
        sockets.insert(socket);
    }
  }
  return sockets;
}

bool has_one_of(::pid_t process, std::unordered_set<std::uint64_t> const& sockets) {
  if (sockets.empty()) return false;
  std::error_code problem;
  std::filesystem::directory_iterator at("/proc/" + std::to_string(process) + "/fd", problem);
  for (; !problem && at != std::filesystem::directory_iterator(); at.increment(problem)) {
    std::error_code gone;
    std::string const text = std::filesystem::read_symlink(at->path(), gone).string();
    constexpr std::string_view before = "socket:[";
    std::uint64_t socket = 0;
    if (text.size() <= before.size() || text.compare(0, before.size(), before) != 0) continue;
    std::from_chars(text.data() + before.size(), text.data() + text.size(), socket);
    if (sockets.contains(socket)) return true;
  }
  return false;
}

}  // namespace atl::keeping
