#include "info/host_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>

#include "base/error.hpp"

namespace atl::tools {
namespace {

constexpr std::size_t longest_card = 1024;

/// Hosts that are alike in something.
struct group {
  host_facts const* like = nullptr;
  std::vector<std::string> names;
};

std::vector<group> groups_of(std::vector<host_facts> const& hosts,
                             std::function<bool(host_facts const&, host_facts const&)> const& alike) {
  std::vector<group> all;
  for (host_facts const& each : hosts) {
    auto found = std::find_if(all.begin(), all.end(), [&](group const& g) { return alike(*g.like, each); });
    if (found == all.end()) found = all.insert(all.end(), group{&each, {}});
    found->names.push_back(each.host);
  }
  return all;
}

bool same_choice(host_facts const& a, host_facts const& b) {
  return std::equal(
      a.networks.begin(), a.networks.end(), b.networks.begin(), b.networks.end(),
      [](network_fact const& x, network_fact const& y) { return x.name == y.name && x.usable == y.usable; });
}

/// What all of these use, and who lacks what is before it: "ofi (not ucx: h2 lacks it)".
std::string choice_of(std::vector<group const*> const& all) {
  std::string not_used;
  std::vector<network_fact> const& order = all.front()->like->networks;
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::vector<std::string> lacking;
    for (group const* each : all) {
      // Hosts may list other networks, or in another order, by their settings or plugins.
      std::vector<network_fact> const& theirs = each->like->networks;
      auto const found = std::find_if(theirs.begin(), theirs.end(),
                                      [&](network_fact const& f) { return f.name == order[i].name; });
      if (found != theirs.end() && found->usable) continue;
      lacking.insert(lacking.end(), each->names.begin(), each->names.end());
    }
    if (lacking.empty()) return order[i].name + (not_used.empty() ? "" : " (not " + not_used + ")");
    not_used +=
        (not_used.empty() ? "" : "; ") + format("%s: %s lack%s it", order[i].name.c_str(),
                                                short_names(lacking).c_str(), lacking.size() == 1 ? "s" : "");
  }
  return "nothing (" + not_used + ")";
}

struct line {
  std::string left;
  std::string right;
};

std::string aligned(std::vector<line> const& lines) {
  std::size_t width = 0;
  for (line const& each : lines) width = std::max(width, std::min<std::size_t>(each.left.size(), 40));
  std::string text;
  for (line const& each : lines)
    text += format("  %-*s  %s\n", static_cast<int>(width), each.left.c_str(), each.right.c_str());
  return text;
}

/// A name's number at its end, and what is before it.
std::size_t number_in(std::string const& name) { return name.find_last_not_of("0123456789") + 1; }

}  // namespace

std::string to_card(host_facts const& facts) {
  std::size_t const count = std::max<std::size_t>(facts.networks.size(), 1);
  std::string card = facts.host.substr(0, 128);
  std::size_t const room = (longest_card - card.size()) / count;
  for (network_fact const& each : facts.networks) {
    std::string words = each.words;
    std::replace(words.begin(), words.end(), '\n', ' ');
    std::string one = "\n" + each.name + (each.usable ? "\n+" : "\n-") + words;
    card += one.substr(0, room);
  }
  return card;
}

std::optional<host_facts> from_card(std::string_view card) {
  std::vector<std::string> lines(1);
  for (char const c : card) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  if (lines.size() % 2 != 1) return std::nullopt;
  host_facts facts{lines[0], {}};
  for (std::size_t i = 1; i + 1 < lines.size(); i += 2) {
    std::string const& what = lines[i + 1];
    if (what.empty() || (what[0] != '+' && what[0] != '-')) return std::nullopt;
    facts.networks.push_back({lines[i], what[0] == '+', what.substr(1)});
  }
  return facts;
}

std::string short_names(std::vector<std::string> const& names) {
  struct stem {
    std::string text;
    std::vector<std::string> numbers;  ///< as they are written: "007"
  };
  std::vector<stem> stems;
  for (std::string const& name : names) {
    std::size_t const at = number_in(name);
    std::string const text = name.substr(0, at);
    auto found = std::find_if(stems.begin(), stems.end(), [&](stem const& s) { return s.text == text; });
    if (found == stems.end()) found = stems.insert(stems.end(), stem{text, {}});
    found->numbers.push_back(name.substr(at));
  }
  auto const value = [](std::string const& number) { return std::atoll(number.c_str()); };
  std::string all;
  for (stem& each : stems) {
    if (!all.empty()) all += ", ";
    all += each.text;
    if (each.numbers.size() == 1) {
      all += each.numbers[0];
      continue;
    }
    std::sort(each.numbers.begin(), each.numbers.end(),
              [&](auto const& a, auto const& b) { return value(a) < value(b); });
    std::string list;
    for (std::size_t i = 0; i < each.numbers.size();) {
      std::size_t last = i;
      while (last + 1 < each.numbers.size() && value(each.numbers[last + 1]) == value(each.numbers[last]) + 1)
        ++last;
      list += (list.empty() ? "" : ",") + each.numbers[i] + (last == i ? "" : "-" + each.numbers[last]);
      i = last + 1;
    }
    all += "[" + list + "]";
  }
  return all;
}

std::string table_of(std::vector<host_facts> const& hosts) {
  std::string order = "shm inside a host";
  for (network_fact const& each : hosts.front().networks) order += ", " + each.name;
  std::string text = format("hosts       %zu; order of choice: %s\n", hosts.size(), order.c_str());

  std::vector<line> lines;
  for (group const &each :
       groups_of(hosts, [](auto const&a, auto const&b) { return a.networks == b.networks; })) {
    std::string name = short_names(each.names);
    for (network_fact const& network : each.like->networks) {
      lines.push_back({name, network.name + (network.usable ? "  " : "  cannot be used: ") + network.words});
      name.clear();
    }
  }
  text += aligned(lines);

  text += "pairs       what a job on two of them would use\n";
  std::vector<group> const alike = groups_of(hosts, same_choice);
  lines.assign(1, {"ranks of one host", "shm"});
  for (std::size_t a = 0; a < alike.size(); ++a) {
    std::string const name = short_names(alike[a].names);
    if (alike[a].names.size() > 1) lines.push_back({name + " with each other", choice_of({&alike[a]})});
    for (std::size_t b = a + 1; b < alike.size(); ++b)
      lines.push_back({name + " with " + short_names(alike[b].names), choice_of({&alike[a], &alike[b]})});
  }
  text += aligned(lines);

  std::vector<group const*> all;
  for (group const& each : alike) all.push_back(&each);
  return text + "job         on all of them: " + (hosts.size() == 1 ? "shm" : choice_of(all)) + "\n";
}

}  // namespace atl::tools
