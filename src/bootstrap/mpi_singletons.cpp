#include "bootstrap/mpi_singletons.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <string>

#include "base/error.hpp"

// No header and no library of MPI: what is in the process is asked by name. The world communicator is an object in
// Open MPI and a number in MPICH and its relatives; of others only the flags can be asked.

namespace atl::bootstrap {
namespace {

template <class Function>
Function* find(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

bool flag_of(char const* query) {
  auto* const ask = find<int(int*)>(query);
  int answer = 0;
  return ask != nullptr && ask(&answer) == 0 && answer != 0;
}

std::string library_name() {
  auto* const ask = find<int(char*, int*)>("MPI_Get_library_version");
  std::array<char, 8192> text{};  // MPI_MAX_LIBRARY_VERSION_STRING is at most that in those we know
  int length = 0;
  return ask != nullptr && ask(text.data(), &length) == 0 ? text.data() : "";
}

/// Ranks of MPI_COMM_WORLD while MPI is active; 0 where that cannot be asked.
int world_size() {
  int size = 0;
  if (void* const world = ::dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world")) {
    auto* const ask = find<int(void*, int*)>("MPI_Comm_size");
    return ask != nullptr && ask(world, &size) == 0 ? size : 0;
  }
  std::string const name = library_name();
  for (char const* const relative : {"MPICH", "Intel(R) MPI", "MVAPICH"}) {
    if (name.find(relative) == std::string::npos) continue;
    auto* const ask = find<int(int, int*)>("MPI_Comm_size");
    constexpr int world = 0x44000000;
    return ask != nullptr && ask(world, &size) == 0 ? size : 0;
  }
  return 0;
}

bool is_singleton(channel const& job) {
  if (!flag_of("MPI_Initialized")) return false;
  if (!flag_of("MPI_Finalized")) {
    if (!flag_of("MPI_Is_thread_main")) return false;  // another thread's business, as long as it is active
    int const size = world_size();
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
    std::string const name = library_name();
    warn(
        "mpi",
        "MPI is initialised as a job of one rank in each of the %d ranks: the launcher is not one of the MPI library "
        "in the program (%s). Use the mpirun that belongs to that library, and one that speaks PMIx for both",
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
