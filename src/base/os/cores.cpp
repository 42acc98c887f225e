#include "base/os/cores.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/os/cgroup.hpp"

namespace atl::os {
namespace {

/// Keeps the smaller of two limits, where 0 means none.
void tighten(double& limit, double candidate) {
  if (candidate > 0 && (limit == 0 || candidate < limit)) limit = candidate;
}

}  // namespace

std::vector<int> affinity_cores() {
  // The kernel refuses sets smaller than its own; grow until it is content.
  for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
    std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(static_cast<std::size_t>(bits)),
                                                         [](cpu_set_t* s) { CPU_FREE(s); });
    std::size_t const bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(bits));
    if (sched_getaffinity(0, bytes, set.get()) != 0) continue;
    std::vector<int> cores;
    for (int core = 0; core < bits; ++core) {
      if (CPU_ISSET_S(static_cast<std::size_t>(core), bytes, set.get())) cores.push_back(core);
    }
    return cores;
  }
  return {0};
}

double cgroup_core_quota(char const* root) {
  double limit = 0;
  for (auto const& folder : cgroup_folders("", root)) {
    auto const text = read_small_file(folder + "/cpu.max");  // "200000 100000" or "max 100000"
    if (!text) continue;
    char* rest = nullptr;
    double const quota = std::strtod(text->c_str(), &rest);
    if (rest == text->c_str()) continue;
    double const period = std::strtod(rest, nullptr);
    if (period > 0) tighten(limit, quota / period);
  }
  for (auto const& folder : cgroup_folders("cpu", root)) {
    auto const quota = read_number(folder + "/cpu.cfs_quota_us");  // -1 (not a number here) means none
    auto const period = read_number(folder + "/cpu.cfs_period_us");
    if (quota && period && *period > 0) {
      tighten(limit, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  }
  return limit;
}

int usable_cores() {
  int const allowed = std::max(1, static_cast<int>(affinity_cores().size()));
  double const quota = cgroup_core_quota();
  if (quota <= 0 || quota >= allowed) return allowed;
  return std::max(1, static_cast<int>(quota));
}

}  // namespace atl::os
