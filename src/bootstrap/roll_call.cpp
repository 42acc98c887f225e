#include "bootstrap/roll_call.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

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
  auto const value = os::value_in(environment, variable);
  if (!value) return -1;
  std::int32_t number = -1;
  auto const read = std::from_chars(value->data(), value->data() + value->size(), number);
  return read.ec == std::errc{} && read.ptr == value->data() + value->size() ? number : -1;
}

}  // namespace

std::optional<std::vector<std::int32_t>> call_roll(std::span<os::listed_process const> all, int self,
                                                   std::string const& rank_variable,
                                                   std::span<std::int32_t const> ranks,
                                                   environment_reader const& environment_of) {
  std::unordered_map<int, os::listed_process const*> known;
  std::unordered_map<int, std::vector<os::listed_process const*>> children;
  for (os::listed_process const& each : all) {
    known.emplace(each.number, &each);
    children[each.parent].push_back(&each);
  }
  // Up to the launcher.
  os::listed_process const* launcher = nullptr;
  std::unordered_set<int> seen;
  for (int number = self; known.contains(number) && seen.insert(number).second;) {
    os::listed_process const& at = *known.at(number);
    if (number != self && starts_ranks(at.name)) {
      launcher = &at;
      break;
    }
    number = at.parent;
  }
  if (launcher == nullptr) return std::nullopt;
  // And down again. What is below a rank's process is that rank's, whatever it is.
  std::unordered_set<std::int32_t> present;
  for (os::listed_process const* const each : children[launcher->number]) {
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
  for (os::listed_process const& each : all) {
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
