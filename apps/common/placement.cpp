// Host by host: the lowest rank that has not yet been counted speaks for its host, and all ranks that have the same host are counted.
// So are its cores: each is a digit of a sum, which says how many of these ranks may use it.

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

/// Cores that any of so many ranks may use: those that say they are `here`.
int cores_of(seat const& mine, bool here, int ranks, std::function<double(double)> const& max,
             std::function<double(double)> const& sum) {
  constexpr double exact = 1LL << 53;
  auto const known = static_cast<std::size_t>(max(here ? static_cast<double>(mine.usable.size()) : 0));
  int cores = 0;
  for (std::size_t core = 0; core < known;) {
    double packed = 0;
    std::size_t digits = 0;
    for (double place = 1; core < known && place * (ranks + 1) <= exact;
         place *= ranks + 1, ++core, ++digits) {
      if (here && core < mine.usable.size() && mine.usable[core]) packed += place;
    }
    auto left = static_cast<unsigned long long>(sum(packed));
    for (; digits != 0; --digits, left /= static_cast<unsigned>(ranks) + 1) {
      cores += left % (static_cast<unsigned>(ranks) + 1) != 0 ? 1 : 0;
    }
  }
  return cores;
}

}  // namespace

seat seat::of_this_process(int rank) {
  seat mine{rank, host_name(), {}};
  for (int core = 0; core < known_cores(); ++core) mine.usable.push_back(is_usable(core));
  return mine;
}

placement find_placement(seat const& me, std::function<double(double)> const& max,
                         std::function<double(double)> const& sum) {
  int const rank = me.rank;
  std::string const& name = me.host;
  double const mine = number_of(name);
  placement found{0, 0, ""};
  for (bool counted = false;;) {
    constexpr double none = -1e9;
    double const first = -max(counted ? none : -static_cast<double>(rank));
    if (first == -none) return found;
    bool const speaks = first == rank;
    bool const here = mine == max(speaks ? mine : nothing);
    auto const ranks = static_cast<int>(sum(here ? 1 : 0));
    auto const last = static_cast<int>(max(here ? rank : nothing));
    counted = counted || here;
    found.cores += cores_of(me, here, ranks, max, sum);
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
