#include "base/os/tcp_table.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

namespace atl::os {
namespace {

template <class Number>
Number hexadecimal(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

/// "0100007F:1F90", or four such words: addresses as the processor has them.
tcp_end read_end(std::string_view text) {
  tcp_end end;
  std::size_t const colon = text.find(':');
  if (colon != std::string_view::npos) end.port = hexadecimal<std::uint16_t>(text.substr(colon + 1));
  text = text.substr(0, colon);
  constexpr std::size_t digits = 8;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < words.size() && text.size() >= digits; ++i) {
    words[i] = hexadecimal<std::uint32_t>(text.substr(0, digits));
    text.remove_prefix(digits);
    end.family = i == 0 ? 4 : 6;
  }
  std::memcpy(end.bytes.data(), words.data(), sizeof words);
  return end;
}

}  // namespace

std::vector<tcp_socket> tcp_sockets() {
  std::vector<tcp_socket> all;
  for (char const* const table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // what the columns are
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retries, user, timeout;
      tcp_socket one;
      words >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >>
          one.inode;
      one.local = read_end(local);
      one.remote = read_end(remote);
      one.state = hexadecimal<unsigned>(state);
      all.push_back(one);
    }
  }
  return all;
}

std::optional<std::vector<std::uint64_t>> sockets_of(int process) {
  std::error_code problem;
  std::filesystem::directory_iterator at("/proc/" + std::to_string(process) + "/fd", problem);
  if (problem) return std::nullopt;
  std::vector<std::uint64_t> found;
  for (; !problem && at != std::filesystem::directory_iterator(); at.increment(problem)) {
    std::error_code gone;
    std::string const text = std::filesystem::read_symlink(at->path(), gone).string();
    constexpr std::string_view before = "socket:[";
    if (!text.starts_with(before)) continue;
    std::uint64_t socket = 0;
    std::from_chars(text.data() + before.size(), text.data() + text.size(), socket);
    found.push_back(socket);
  }
  return found;
}

std::string text_of_address(unsigned family, std::array<std::uint8_t, 16> const& bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  int const sort = family == 6 ? AF_INET6 : AF_INET;
  if ((family != 4 && family != 6) || ::inet_ntop(sort, bytes.data(), text.data(), text.size()) == nullptr)
    return "?";
  return text.data();
}

}  // namespace atl::os
