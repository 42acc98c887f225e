#include "bootstrap/started_by_rank.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace atl::bootstrap {
namespace {

constexpr char const* variable = "ATOLL_RANK_PROCESS";

/// What tells ranks of a launcher apart, those of one that a rank has started from that one, too.
std::string words_for(std::string_view bootstrap, int process) {
  std::vector<char const*> const names = bootstrap == "pmix"
                                             ? std::vector<char const*>{"PMIX_NAMESPACE", "PMIX_RANK"}
                                             : std::vector<char const*>{"PMI_JOBID", "PMI_RANK", "PMI_FD"};
  std::string all = std::string(bootstrap) + format(":%d", process);
  for (char const* const name : names) {
    char const* const value = std::getenv(name);
    all.append(":").append(value != nullptr ? value : "");
  }
  return all;
}

}  // namespace

void become_the_rank(std::string_view bootstrap) {
  ::setenv(variable, words_for(bootstrap, ::getpid()).c_str(), 1);
}

bool started_by_rank(std::string_view bootstrap) {
  char const* const told = std::getenv(variable);
  if (told == nullptr || !std::string_view(told).starts_with(std::string(bootstrap) + ':')) return false;
  int const process = std::atoi(told + bootstrap.size() + 1);
  return process != ::getpid() && words_for(bootstrap, process) == told;
}

}  // namespace atl::bootstrap
