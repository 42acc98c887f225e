#include "run/hosts/host_list.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"

namespace atl::tools {
namespace {

constexpr int most_ranks_of_host = 1'000'000;

int parse_share(std::string_view text, std::string const& where) {
  bool const digits =
      !text.empty() && text.size() < 8 && text.find_first_not_of("0123456789") == std::string_view::npos;
  int const number = digits ? std::atoi(std::string(text).c_str()) : 0;
  if (number < 1 || number > most_ranks_of_host)
    throw startup_error(where + ": `" + std::string(text) + "` is no number of ranks");
  return number;
}

/// Names and addresses: letters, digits, and what stands between them. Launchers hand them to shells.
void check_name(std::string_view name, std::string const& where) {
  constexpr std::string_view others = "-._[]";
  bool const good = !name.empty() && name[0] != '-' && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           others.find(c) != std::string_view::npos;
  });
  if (!good) throw startup_error(where + ": `" + std::string(name) + "` is no name of a host");
}

void add(std::vector<host_share>& to, host_share one) {
  auto const found =
      std::find_if(to.begin(), to.end(), [&](host_share const& h) { return h.name == one.name; });
  if (found == to.end()) {
    to.push_back(std::move(one));
  } else {
    // As launchers do: a host named twice without a number has two.
    found->ranks = std::max(found->ranks, 1) + std::max(one.ranks, 1);
  }
}

/// "a" or "a:4".
host_share parse_host(std::string_view word, std::string const& where) {
  std::size_t const colon = word.find(':');
  host_share one{std::string(word.substr(0, colon))};
  check_name(one.name, where);
  if (colon != std::string_view::npos) one.ranks = parse_share(word.substr(colon + 1), where);
  return one;
}

}  // namespace

std::vector<host_share> parse_hosts(std::string_view list, std::string const& where) {
  std::vector<host_share> all;
  for (std::size_t at = 0; at <= list.size();) {
    std::size_t const end = std::min(list.find(',', at), list.size());
    add(all, parse_host(list.substr(at, end - at), where));
    at = end + 1;
  }
  return all;
}

std::vector<host_share> read_hostfile(std::string const& file) {
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file))
    throw startup_error("--hostfile " + file + ": it cannot be read");
  std::vector<host_share> all;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::string const where = format("%s:%d", file.c_str(), number);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    host_share one = parse_host(word, where);
    while (words >> word) {
      std::size_t const equals = word.find('=');
      std::string const name = word.substr(0, equals);
      if (equals == std::string::npos || (name != "slots" && name != "max_slots" && name != "max-slots"))
        throw startup_error(where + ": `" + word + "` is not understood; write for example: node1 slots=4");
      if (name == "slots") one.ranks = parse_share(word.substr(equals + 1), where);
    }
    add(all, std::move(one));
  }
  if (all.empty()) throw startup_error("--hostfile " + file + ": no host stands there");
  return all;
}

std::vector<host_share> deal_out(std::vector<host_share> hosts, int count, int ranks) {
  if (count > static_cast<int>(hosts.size()))
    throw startup_error(format("-N %d: only %zu host%s %s named", count, hosts.size(),
                               hosts.size() == 1 ? "" : "s", hosts.size() == 1 ? "is" : "are"));
  if (count > 0) hosts.resize(static_cast<std::size_t>(count));
  bool const said = std::any_of(hosts.begin(), hosts.end(), [](host_share const& h) { return h.ranks != 0; });
  if (said || ranks == 0) {
    int room = 0;
    for (host_share& each : hosts) room += each.ranks = std::max(each.ranks, 1);
    if (ranks == 0) ranks = room;
    if (ranks > room)
      throw startup_error(format(
          "-n %d: the hosts have room for %d; give them larger numbers (a:4), or none for equal shares",
          ranks, room));
    for (host_share& each : hosts) ranks -= each.ranks = std::min(each.ranks, ranks);
  } else {
    int const many = static_cast<int>(hosts.size());
    for (int i = 0; i < many; ++i)
      hosts[static_cast<std::size_t>(i)].ranks = ranks / many + (i < ranks % many ? 1 : 0);
  }
  std::erase_if(hosts, [](host_share const& h) { return h.ranks == 0; });
  return hosts;
}

}  // namespace atl::tools
