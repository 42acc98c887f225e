#include "bootstrap/roll_call.hpp"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "base/os/cgroup.hpp"

// A rank that runs must never be taken for one that has ended, as the job is ended over that. So the roll is called only below a process that is known to
// start ranks itself, and whatever else is there makes it unsure: a process that has not begun to be a rank's program yet, or one
// whose environment is hidden or written over.

namespace atl::bootstrap {
namespace {

/// What starts ranks, and nothing else but agents of the launcher on other hosts. Wrappers, containers' for one, are none of these.
bool starts_ranks(std::string_view name) {
  constexpr std::array<std::string_view, 10> known{"orted",      "prted",     "mpirun",  "mpirun.openmpi",
                                                   "orterun",    "prterun",   "mpiexec", "hydra_pmi_proxy",
                                                   "slurmstepd", "flux-shell"};
  return std::find(known.begin(), known.end(), name) != known.end();
}
bool is_agent(std::string_view name) { return name == "ssh" || name == "rsh" || name == "srun"; }

/// A number that is all of the variable's value; -1 if there is none.
std::int32_t number_in(std::string_view environment, std::string const& variable) {
  std::string const begins = variable + "=";
  while (!environment.empty()) {
    std::string_view const line = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(environment.size(), line.size() + 1));
    if (!line.starts_with(begins)) continue;
    std::string_view const value = line.substr(begins.size());
    std::int32_t number = -1;
    auto const read = std::from_chars(value.data(), value.data() + value.size(), number);
    return read.ec == std::errc{} && read.ptr == value.data() + value.size() ? number : -1;
  }
  return -1;
}

}  // namespace

std::vector<listed_process> list_processes() {
  std::vector<listed_process> all;
  std::unique_ptr<DIR, int (*)(DIR*)> const folder(::opendir("/proc"), ::closedir);
  if (!folder) return all;
  while (dirent const* const item = ::readdir(folder.get())) {
    if (item->d_name[0] < '1' || item->d_name[0] > '9') continue;
    // "4711 (name) S 4700 ...", and a name may have parentheses.
    auto const text = os::read_small_file(format("/proc/%s/stat", item->d_name));
    if (!text) continue;
    std::size_t const begin = text->find('(');
    std::size_t const end = text->rfind(')');
    if (begin == std::string::npos || end == std::string::npos || end + 4 >= text->size()) continue;
    char const state = (*text)[end + 2];
    all.push_back({std::atoi(item->d_name), std::atoi(text->c_str() + end + 4), state == 'Z' || state == 'X',
                   text->substr(begin + 1, end - begin - 1)});
  }
  return all;
}

std::optional<std::string> read_environment(int number) {
  return os::read_small_file(format("/proc/%d/environ", number));
}

std::optional<std::vector<std::int32_t>> call_roll(std::span<listed_process const> all, int self,
                                                   std::string const& rank_variable,
                                                   std::span<std::int32_t const> ranks,
                                                   environment_reader const& environment_of) {
  std::unordered_map<int, listed_process const*> known;
  std::unordered_map<int, std::vector<listed_process const*>> children;
  for (listed_process const& each : all) {
    known.emplace(each.number, &each);
    children[each.parent].push_back(&each);
  }
  // Up to the launcher.
  listed_process const* launcher = nullptr;
  std::unordered_set<int> seen;
  for (int number = self; known.contains(number) && seen.insert(number).second;) {
    listed_process const& at = *known.at(number);
    if (number != self && starts_ranks(at.name)) {
      launcher = &at;
      break;
    }
    number = at.parent;
  }
  if (launcher == nullptr) return std::nullopt;
  // And down again. What is below a rank's process is that rank's, whatever it is.
  std::unordered_set<std::int32_t> present;
  for (listed_process const* const each : children[launcher->number]) {
    if (each->ended || is_agent(each->name)) continue;
    auto const environment = environment_of(each->number);
    std::int32_t const rank = environment ? number_in(*environment, rank_variable) : -1;
    if (rank < 0) return std::nullopt;
    present.insert(rank);
  }
  std::vector<std::int32_t> missing;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(missing),
               [&](std::int32_t rank) { return !present.contains(rank); });
  // A wrapper may have left its rank's program behind.
  for (listed_process const& each : all) {
    if (missing.empty() || each.ended) continue;
    auto const environment = environment_of(each.number);
    std::int32_t const rank = environment ? number_in(*environment, rank_variable) : -1;
    if (std::find(missing.begin(), missing.end(), rank) != missing.end()) return std::nullopt;
  }
  auto const own = environment_of(self);
  if (!own || !present.contains(number_in(*own, rank_variable))) return std::nullopt;
  return missing;
}

}  // namespace atl::bootstrap
