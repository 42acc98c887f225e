// MPI and Atoll in one process: their ranks are the same, whichever is initialised first.

#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "bootstrap/bootstrap.hpp"

int main(int argc, char** argv) {
  std::string const order = argc > 1 ? argv[1] : "";
  if (order == "mpi-first") MPI_Init(&argc, &argv);
  auto& channel = atl::bootstrap::attach();
  channel.exchange("first");
  channel.mark(atl::rank_state::initialized);
  if (order == "mpi-last") MPI_Init(&argc, &argv);
  if (argc > 2 && channel.where().rank == 1) std::raise(SIGSEGV);
  auto const& where = channel.where();
  int rank = where.rank;
  int size = where.size;
  if (order != "mpi-never") {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  bool const agree = rank == where.rank && size == where.size && channel.exchange("second").size() == 3U;
  if (order == "mpi-first") {
    channel.mark(atl::rank_state::finalized);
    MPI_Finalize();
  } else {
    if (order == "mpi-last") MPI_Finalize();
    channel.exchange("third");
    channel.mark(atl::rank_state::finalized);
  }
  std::printf("rank %d of %d by %s: %s\n", where.rank, where.size, std::string(channel.name()).c_str(),
              agree ? "ranks agree" : "ranks differ");
  return agree ? 0 : 1;
}
