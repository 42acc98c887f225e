#include "run/hosts/host_list.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/error.hpp"

namespace atl::tools {
namespace {

constexpr int most_ranks_of_host = 1'000'000;
constexpr std::size_t most_hosts = 20'000;

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
  constexpr std::string_view others = "-._";
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

/// Words between commas, other than those in brackets.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    char const c = at < list.size() ? list[at] : ',';
    if (c == '[' || c == ']') inside = c == '[';
    if (c != ',' || (inside && at < list.size())) continue;
    words.push_back(list.substr(begin, at - begin));
    begin = at + 1;
  }
  return words;
}

/// The numbers of "01-12" or "7", each as wide as the first one is written.
std::vector<std::string> numbers_of(std::string_view range, std::string const& where) {
  auto const read = [&](std::string_view text) {
    constexpr std::size_t most_digits = 9;
    if (text.empty() || text.size() > most_digits ||
        text.find_first_not_of("0123456789") != std::string_view::npos)
      throw startup_error(where + ": `" + std::string(range) +
                          "` is no range of numbers; write for example: node[01-12,20]");
    return std::atoi(std::string(text).c_str());
  };
  std::size_t const dash = range.find('-');
  std::string_view const first = range.substr(0, dash);
  int const from = read(first);
  int const to = dash == std::string_view::npos ? from : read(range.substr(dash + 1));
  if (to < from || to - from >= static_cast<int>(most_hosts))
    throw startup_error(where + ": `" + std::string(range) +
                        "` goes from a larger number to a smaller one, or too far");
  std::vector<std::string> all;
  for (int number = from; number <= to; ++number)
    all.push_back(format("%0*d", static_cast<int>(first.size()), number));
  return all;
}

/// Slurm's way to write many: "node[01-12,20]" and "rack[1-2]-node[1-8]".
std::vector<std::string> names_of(std::string_view word, std::string const& where) {
  std::size_t const open = word.find('[');
  if (open == std::string_view::npos) {
    check_name(word, where);
    return {std::string(word)};
  }
  std::size_t const close = word.find(']', open);
  if (close == std::string_view::npos)
    throw startup_error(where + ": `" + std::string(word) + "` has a bracket that is not closed");
  std::vector<std::string> ends{""};
  if (close + 1 < word.size()) {
    // What follows may begin with what no name begins with.
    ends = names_of("x" + std::string(word.substr(close + 1)), where);
    for (std::string& each : ends) each.erase(0, 1);
  }
  std::vector<std::string> all;
  for (std::string_view const range : split(word.substr(open + 1, close - open - 1))) {
    for (std::string const& number : numbers_of(range, where)) {
      for (std::string const& end : ends) {
        all.push_back(std::string(word.substr(0, open)) + number + end);
        check_name(all.back(), where);
      }
      if (all.size() > most_hosts)
        throw startup_error(where + ": `" + std::string(word) + "` are too many hosts");
    }
  }
  return all;
}

/// "fe80::1", "[2001:db8::1]:4", "fe80::1%eth0": more colons than numbers of ranks have, between digits alone.
bool is_ipv6(std::string_view word) {
  constexpr char digits[] = "0123456789abcdefABCDEF:.[]";
  bool const named = word.substr(0, word.find('%')).find_first_not_of(digits) != std::string_view::npos;
  bool const many =
      word.find("::") != std::string_view::npos || std::count(word.begin(), word.end(), ':') > 2;
  return many && !named;
}

/// "a" or "a:4", or several as "a[1-3]:4".
std::vector<host_share> parse_word(std::string_view word, std::string const& where) {
  if (is_ipv6(word))
    throw startup_error(
        where + ": `" + std::string(word) +
        "` is an address of IPv6, of which launchers take a part for a number of ranks; give the "
        "host a name, as in /etc/hosts");
  std::size_t const colon = word.find(':');
  int const ranks = colon == std::string_view::npos ? 0 : parse_share(word.substr(colon + 1), where);
  std::vector<host_share> all;
  for (std::string& each : names_of(word.substr(0, colon), where)) all.push_back({std::move(each), ranks});
  return all;
}

/// Words of an environment's list, which may be parted by blanks and ends of lines, too, as between commas.
std::string with_commas(std::string_view list) {
  std::string text;
  for (char const c : list) {
    bool const parts = c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!parts) text += c;
    if (parts && !text.empty() && text.back() != ',') text += ',';
  }
  if (text.ends_with(',')) text.pop_back();
  return text;
}

/// The first word of each line: other launchers of this kind mind no others.
std::string first_words(std::string const& file, std::string const& where) {
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file)) throw startup_error(where + ": it cannot be read");
  std::string text;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    if (std::string word; words >> word) text += word + ' ';
  }
  return text;
}

/// Deals ranks out to hosts that have room for so many: the first ones are filled, or all get as many as the others.
void fill(std::vector<host_share>& hosts, int ranks, bool alike) {
  std::vector<int> room;
  for (host_share& each : hosts) room.push_back(std::exchange(each.ranks, 0));
  while (ranks > 0) {
    int open = 0;
    for (std::size_t i = 0; i < hosts.size(); ++i) open += hosts[i].ranks < room[i] ? 1 : 0;
    int const turn = alike ? std::max(ranks / open, 1) : ranks;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      int const more = std::min({turn, room[i] - hosts[i].ranks, ranks});
      hosts[i].ranks += more;
      ranks -= more;
    }
  }
}

/// Open MPI's files may have some: "node1 slots = 4".
std::string without_blanks_around_equals(std::string const& line) {
  std::string text;
  for (char const c : line) {
    bool const blank = c == ' ' || c == '\t';
    if (c == '=') text.resize(text.find_last_not_of(" \t") + 1);
    if (!blank || !text.ends_with('=')) text += c;
  }
  return text;
}

}  // namespace

std::vector<host_share> parse_hosts(std::string_view list, std::string const& where) {
  std::vector<host_share> all;
  for (std::string_view const word : split(list)) {
    for (host_share& each : parse_word(word, where)) add(all, std::move(each));
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
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);  // of editors on Windows
    std::istringstream words(without_blanks_around_equals(line.substr(0, line.find('#'))));
    std::string word;
    if (!(words >> word)) continue;
    std::vector<host_share> some = parse_word(word, where);
    while (words >> word) {
      std::size_t const equals = word.find('=');
      std::string const name = word.substr(0, equals);
      if (equals == std::string::npos || (name != "slots" && name != "max_slots" && name != "max-slots"))
        throw startup_error(where + ": `" + word + "` is not understood; write for example: node1 slots=4");
      if (name != "slots") continue;
      int const ranks = parse_share(word.substr(equals + 1), where);
      for (host_share& each : some) each.ranks = ranks;
    }
    for (host_share& each : some) add(all, std::move(each));
  }
  if (all.empty()) throw startup_error("--hostfile " + file + ": no host stands there");
  return all;
}

std::vector<host_share> hosts_in_environment(bool ranks_are_given) {
  struct source {
    char const* variable;
    bool is_file;
  };
  static constexpr std::array sources{
      source{"GASNET_SSH_NODEFILE", true}, source{"GASNET_SSH_SERVERS", false},
      source{"SSH_NODEFILE", true},        source{"SSH_SERVERS", false},
      source{"PBS_NODEFILE", true},        source{"LSB_DJOB_HOSTFILE", true},
  };
  for (source const& each : sources) {
    char const* const value = std::getenv(each.variable);
    if (value == nullptr || *value == '\0') continue;
    std::string const where = std::string(each.variable) + "=" + value;
    std::string const list = with_commas(each.is_file ? first_words(value, where) : value);
    if (list.empty()) continue;
    std::vector<host_share> all = parse_hosts(list, where);
    // Batch systems name a host for each of its cores, and who says how many ranks there are means so many.
    if (ranks_are_given && list.find(':') == std::string::npos) {
      for (host_share& host : all) host.ranks = 0;
    }
    return all;
  }
  return {};
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
    fill(hosts, ranks, count > 0);
  } else {
    int const many = static_cast<int>(hosts.size());
    for (int i = 0; i < many; ++i)
      hosts[static_cast<std::size_t>(i)].ranks = ranks / many + (i < ranks % many ? 1 : 0);
  }
  std::erase_if(hosts, [](host_share const& h) { return h.ranks == 0; });
  return hosts;
}

}  // namespace atl::tools
