#include "bootstrap/launched_channel.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/os/memfd.hpp"

namespace atl::bootstrap {

void launched_channel::meet() {
  join();
  met_ = true;
}

char const* launched_channel::console_env(char const* name) { return std::getenv(name); }

void launched_channel::abort(int exit_code) {
  int const status = exit_code == 0 ? 1 : exit_code;
  // srun and Hydra lose what ranks have written just then.
  if (std::getenv("SLURM_PROCID") != nullptr || std::getenv("PMI_RANK") != nullptr) ::usleep(200'000);
  end_job(status);
  ::_exit(status);
}

void launched_channel::watch_exit() {
  diagnostics_.pid.store(static_cast<std::int32_t>(::getpid()), std::memory_order_relaxed);
  ::on_exit([](int status, void* self) { static_cast<launched_channel*>(self)->at_exit(status); }, this);
}

/// Launchers differ in what they do to the others when a rank just ends, so that it says how it does.
void launched_channel::at_exit(int status) {
  // A process that this one has forked is no rank.
  if (diagnostics_.pid.load(std::memory_order_relaxed) != static_cast<std::int32_t>(::getpid())) return;
  if (!met_ || diagnostics_.state.load(std::memory_order_relaxed) == rank_state::initialized) {
    warn("bootstrap", "the process exits with status %d without upcxx::finalize(), which ends the job",
         status);
    abort(status);
  }
  leave_launcher();
}

void launched_channel::find_places(std::int32_t rank, std::int32_t size, host_identity const& mine) {
  leave("host", {reinterpret_cast<char const*>(&mine), sizeof mine});
  if (rank == 0) leave("job", job_id_ = os::random_hex(16));
  meet_job();
  std::vector<host_identity> all(static_cast<std::size_t>(size));
  for (std::int32_t r = 0; r < size; ++r) {
    std::string const theirs = find("host", r);
    if (theirs.size() != sizeof mine)
      throw bootstrap_error(format("rank %d left %zu bytes instead of %zu with the launcher's service",
                                   static_cast<int>(r), theirs.size(), sizeof mine));
    std::memcpy(&all[static_cast<std::size_t>(r)], theirs.data(), sizeof mine);
  }
  if (rank != 0) job_id_ = find("job", 0);
  where_ = place_by_identity(rank, all);
}

}  // namespace atl::bootstrap
