// MPICH and the bootstrap in one process: their ranks are the same, whichever is initialised first.
//   mpich_program mpi-first | mpi-last | mpi-never | mpi-around
// Opens libmpich.so.12, whose headers need not be installed; ends with 77 where there is none.

#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/mpi_in_process.hpp"

namespace {

namespace mpi = atl::bootstrap::mpi;

constexpr int world = mpi::mpich_comm_world;
constexpr int sum_operation = 0x58000003;  // MPI_SUM

template <class Function, class... Arguments>
void call(char const* name, Arguments... arguments) {
  auto* const function = mpi::find<Function>(name);
  if (function == nullptr || function(arguments...) != 0) throw std::runtime_error(name);
}
void initialise() { call<int(int*, char***)>("MPI_Init", nullptr, nullptr); }
void finalise() { call<int()>("MPI_Finalize"); }

bool check(atl::bootstrap::channel& job, char const* words) {
  auto const& where = job.where();
  bool good = job.exchange(words).size() == static_cast<std::size_t>(where.local_size);
  job.publish(std::string(words) + std::to_string(where.rank));
  for (int rank = where.size - 1; rank >= 0; --rank)
    good = good && job.published_by(rank) == words + std::to_string(rank);
  return good;
}

bool is_same_rank(atl::bootstrap::channel const& job) {
  int rank = -1;
  int size = -1;
  call<int(int, int*)>("MPI_Comm_rank", world, &rank);
  call<int(int, int*)>("MPI_Comm_size", world, &size);
  int sum = 0;
  call<int(void const*, void*, int, int, int, int)>("MPI_Allreduce", &rank, &sum, 1, mpi::mpich_int,
                                                    sum_operation, world);
  return rank == job.where().rank && size == job.where().size && sum == size * (size - 1) / 2;
}

int run(std::string const& order) {
  bool const first = order == "mpi-first" || order == "mpi-around";
  if (first) initialise();
  auto& job = atl::bootstrap::attach();
  bool good = check(job, "first");
  job.mark(atl::rank_state::initialized);
  if (order == "mpi-last") initialise();
  if (order != "mpi-never") good = is_same_rank(job) && good;
  good = check(job, "second") && good;
  if (order != "mpi-never") good = is_same_rank(job) && good;
  if (order == "mpi-first") finalise();  // what was published stays
  if (order == "mpi-first") good = job.published_by(0) == "second0" && good;
  job.exchange("last");
  job.mark(atl::rank_state::finalized);
  if (order == "mpi-last" || order == "mpi-around") finalise();
  std::printf("rank %d of %d on host %d by %.*s: %s\n", job.where().rank, job.where().size, job.where().host,
              static_cast<int>(job.name().size()), job.name().data(), good ? "ranks agree" : "WRONG");
  return good ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (::dlopen("libmpich.so.12", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::fprintf(stderr, "skipped: %s\n", ::dlerror());
    return 77;
  }
  try {
    return run(count > 1 ? words[1] : "");
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    if (auto* const job = atl::bootstrap::attached()) job->abort(3);
    return 3;
  }
}
