#include "bootstrap/mpi_singletons.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "base/error.hpp"
#include "bootstrap/mpi_in_process.hpp"

namespace atl::bootstrap {
namespace {

bool is_singleton(channel const& job) {
  mpi::state const state = mpi::where_it_is();
  if (state != mpi::state::active && state != mpi::state::after) return false;
  if (state == mpi::state::active) {
    if (!mpi::is_main_thread()) return false;  // another thread's business, as long as it is active
    int const size = mpi::world_size();
    if (size != 0) return size == 1;
  }
  // It cannot be asked any more; but the ranks of `atoll run` have no service that could have joined them.
  return job.name() == "local";
}

void warn_once(channel const& job) {
  static std::atomic<bool> said{false};
  placement const& where = job.where();
  if (where.size == 1 || where.rank != 0 || said.load(std::memory_order_relaxed) || !is_singleton(job))
    return;
  if (said.exchange(true, std::memory_order_relaxed)) return;
  if (job.name() == "local") {
    warn(
        "mpi",
        "MPI is initialised as a job of one rank in each of the %d ranks: `atoll run` (`upcxx-run`) does not start "
        "jobs of MPI. Start a program that uses both with `mpirun -n %d PROGRAM` of Open MPI, or with `srun "
        "--mpi=pmix`: then the ranks are the same",
        where.size, where.size);
  } else {
    std::string name = mpi::library_name();
    std::replace(name.begin(), name.end(), '\t', ' ');  // MPICH has one behind "MPICH Version:"
    warn(
        "mpi",
        "MPI is initialised as a job of one rank in each of the %d ranks: the launcher is not one of the MPI library "
        "in the program (%s). Use the mpirun that belongs to that library, and one that speaks PMIx or PMI for both",
        where.size, name.substr(0, name.find_first_of(",\n")).c_str());
  }
}

/// Of the job; channels live as long as the process.
std::atomic<channel const*> job_of_process{nullptr};

}  // namespace

void look_for_mpi_singletons(channel& job) {
  job_of_process.store(&job, std::memory_order_release);
  warn_once(job);
}

void look_for_mpi_singletons_again() {
  if (channel const* const job = job_of_process.load(std::memory_order_acquire)) warn_once(*job);
}

}  // namespace atl::bootstrap
