#include "bootstrap/host_layout.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <string>

#include "base/error.hpp"

namespace atl::bootstrap {
namespace {

constexpr std::string_view cyclic = "cyclic:";
/// More is a slip of the finger.
constexpr std::int64_t most = 1'000'000;

/// A number from 1 on that is all of the text, or 0.
std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  auto const end = text.data() + text.size();
  auto const read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc{} && read.ptr == end && value >= 1 && value <= most ? value : 0;
}

/// Ranks of each host; empty if it cannot be read.
std::vector<std::int64_t> read_sizes(std::string_view text) {
  if (std::size_t const cross = text.find('x'); cross != std::string_view::npos) {
    std::int64_t const hosts = number(text.substr(0, cross));
    std::int64_t const each = number(text.substr(cross + 1));
    if (hosts == 0 || each == 0) return {};
    return std::vector<std::int64_t>(static_cast<std::size_t>(hosts), each);
  }
  std::vector<std::int64_t> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const end = std::min(text.find(',', begin), text.size());
    sizes.push_back(number(text.substr(begin, end - begin)));
    if (sizes.back() == 0) return {};
    begin = end + 1;
  }
  return sizes;
}

}  // namespace

std::vector<std::int32_t> read_host_layout(std::string_view text, std::int32_t ranks) {
  bool const in_turn = text.starts_with(cyclic);
  std::vector<std::int64_t> sizes = read_sizes(in_turn ? text.substr(cyclic.size()) : text);
  if (sizes.empty()) {
    throw startup_error(format(
        "ATOLL_SIM_HOSTS=%s: not a layout of hosts. Write 2x4 for 2 hosts of 4 ranks, 1,3 for hosts of 1 and "
        "of 3 ranks, cyclic:2x4 for ranks that are dealt out to 2 hosts in turn",
        std::string(text).c_str()));
  }
  std::int64_t const all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (all != ranks) {
    throw startup_error(format("ATOLL_SIM_HOSTS=%s is for %lld rank%s, but the job has %d",
                               std::string(text).c_str(), static_cast<long long>(all), all == 1 ? "" : "s",
                               ranks));
  }
  std::vector<std::int32_t> host_of;
  host_of.reserve(static_cast<std::size_t>(ranks));
  while (host_of.size() < static_cast<std::size_t>(ranks)) {
    for (std::size_t host = 0; host < sizes.size(); ++host) {
      for (bool more = sizes[host] > 0; more; more = !in_turn && sizes[host] > 0) {
        host_of.push_back(static_cast<std::int32_t>(host));
        --sizes[host];
      }
    }
  }
  return host_of;
}

}  // namespace atl::bootstrap
