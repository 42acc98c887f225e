#include "run/binding.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "base/os/cores.hpp"

namespace atl::tools {
namespace {

/// A claim is an abstract socket named after the core: it exists once per host (network namespace), and goes
/// with the launcher however that ends. Empty when another job has it.
os::unique_fd claim(int core) {
  os::unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string const name = format("atoll-core-%d", core);
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  auto const bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), bytes) != 0) return {};
  return fd;
}

}  // namespace

core_plan plan_cores(run_options const& options) {
  core_plan plan;
  plan.core_of_rank.assign(static_cast<std::size_t>(options.ranks), -1);
  if (options.binding == binding_mode::none) {
    plan.reason = "not bound: --bind none";
    return plan;
  }
  std::vector<int> const cores = os::affinity_cores();
  auto const usable = static_cast<std::size_t>(os::usable_cores());
  auto const ranks = static_cast<std::size_t>(options.ranks);
  if (options.binding == binding_mode::automatic && (ranks != usable || usable != cores.size())) {
    plan.reason = ranks == usable ? "not bound: the control group allows fewer cores than it shows"
                                  : "not bound: not one rank for each core";
    return plan;
  }
  std::vector<int> mine;
  std::vector<int> taken;
  for (int const core : cores) {
    if (mine.size() == ranks) break;
    if (os::unique_fd held = claim(core)) {
      mine.push_back(core);
      plan.claims.push_back(std::move(held));
    } else {
      taken.push_back(core);
    }
  }
  if (options.binding == binding_mode::automatic && !taken.empty()) {
    plan.claims.clear();
    plan.reason = "not bound: another job is bound to some of the cores";
    return plan;
  }
  // Asked for explicitly: free cores first, then share.
  mine.insert(mine.end(), taken.begin(), taken.end());
  for (std::size_t rank = 0; rank < ranks; ++rank) plan.core_of_rank[rank] = mine[rank % mine.size()];
  plan.reason = "each bound to a core";
  return plan;
}

}  // namespace atl::tools
