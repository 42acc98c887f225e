// Host by host: the lowest rank that has not yet been counted speaks for its host, and all ranks that have the same host are counted.

#include "common/placement.hpp"

#include "common/host.hpp"

namespace apps {
namespace {

constexpr double nothing = -1;
constexpr int named_hosts = 16;
constexpr std::size_t longest_name = 64;
constexpr std::size_t piece = 6;  ///< bytes that a double takes

/// What the one rank says that `speaks`.
std::string text_of(std::string const& mine, bool speaks, std::function<double(double)> const& max) {
  std::string text;
  while (text.size() < longest_name) {
    double packed = 0;
    for (std::size_t i = text.size() + piece; i-- > text.size();) {
      packed = packed * 256 + (speaks && i < mine.size() ? static_cast<unsigned char>(mine[i]) : 0);
    }
    auto left = static_cast<unsigned long long>(max(packed));
    for (std::size_t i = 0; i < piece; ++i, left /= 256) {
      if (left == 0) return text;
      text += static_cast<char>(left % 256);
    }
  }
  return text;
}

}  // namespace

placement find_placement(int rank, std::function<double(double)> const& max,
                         std::function<double(double)> const& sum) {
  std::string const name = host_name();
  double const mine = number_of(name);
  placement found{0, ""};
  for (bool counted = false;;) {
    constexpr double none = -1e9;
    double const first = -max(counted ? none : -static_cast<double>(rank));
    if (first == -none) return found;
    bool const speaks = first == rank;
    bool const here = mine == max(speaks ? mine : nothing);
    auto const ranks = static_cast<int>(sum(here ? 1 : 0));
    auto const last = static_cast<int>(max(here ? rank : nothing));
    counted = counted || here;
    if (found.hosts++ >= named_hosts) continue;
    bool const in_a_row = last - static_cast<int>(first) + 1 == ranks;
    found.text += (found.text.empty() ? "" : "; ") + text_of(name, speaks, max) + ": ";
    std::string const from = std::to_string(static_cast<int>(first));
    found.text += ranks == 1 ? "rank " + from
                  : in_a_row ? "ranks " + from + " to " + std::to_string(last)
                             : std::to_string(ranks) + " ranks from " + from + " on";
  }
}

std::string on_hosts(placement const& where) {
  return where.hosts > 1 ? " on " + std::to_string(where.hosts) + " hosts" : "";
}

}  // namespace apps
