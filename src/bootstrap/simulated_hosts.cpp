// All exchanges are the machine's; a simulated host picks its ranks' blobs. So its ranks wait for those of other
// hosts, which hosts do not: nothing that works on this could fail on them for want of a barrier, as long as all
// ranks make the same exchanges.

#include "bootstrap/simulated_hosts.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/os/await_end.hpp"
#include "bootstrap/host_layout.hpp"

namespace atl::bootstrap {
namespace {

class simulated_hosts final : public channel {
 public:
  simulated_hosts(channel& real, std::string_view layout)
      : real_(real), where_(place(real.where().rank, read_host_layout(layout, real.where().size))) {
    if (real_.where().hosts > 1) {
      throw startup_error(
          format("ATOLL_SIM_HOSTS=%s: the job spans %d hosts already; simulate hosts in jobs of one",
                 std::string(layout).c_str(), real_.where().hosts));
    }
  }

  std::string_view name() const override { return real_.name(); }
  placement const& where() const override { return where_; }
  placement const& machine() const override { return real_.machine(); }
  std::string_view job_id() const override { return real_.job_id(); }

  std::vector<std::string> exchange(std::string_view mine) override {
    std::vector<std::string> all = real_.exchange(mine);
    host_ranks const here = where_.ranks_of_host();
    std::vector<std::string> ours;
    ours.reserve(here.count());
    // On one machine a rank's local rank is its world rank.
    for (std::uint32_t r = 0; r < here.count(); ++r)
      ours.push_back(std::move(all[static_cast<std::size_t>(here.world_rank(r))]));
    return ours;
  }
  std::vector<std::string> exchange_machine(std::string_view mine) override {
    return real_.exchange_machine(mine);
  }
  // On one machine ranks are the same in both.
  void publish(std::string_view card) override { real_.publish(card); }
  std::string published_by(std::int32_t rank) override { return real_.published_by(rank); }

  rank_diagnostics& diagnostics() override { return real_.diagnostics(); }
  char const* console_env(char const* name) override { return real_.console_env(name); }
  bool claim_failure() noexcept override { return real_.claim_failure(); }
  void await_explanation() noexcept override { real_.await_explanation(); }
  [[noreturn]] void abort(int exit_code) override {
    real_.abort(exit_code);
    __builtin_unreachable();  // the compiler does not take a virtual function at its word
  }
  void mark(rank_state state) override { real_.mark(state); }

 private:
  channel& real_;
  placement where_;
};

}  // namespace

std::unique_ptr<channel> simulate_hosts(channel& real, std::string_view layout) {
  try {
    return std::make_unique<simulated_hosts>(real, layout);
  } catch (startup_error const&) {
    if (!real.claim_failure()) os::await_end();  // one says so; the launcher ends the others
    throw;
  }
}

}  // namespace atl::bootstrap
