// MPI and UPC++ in one process, taking turns: quiesce one side, meet in its barrier, go on with the other.
// Under MPI's launcher the ranks are MPI's; under ours, every process is an MPI job of its own.
//   mpi ORDER    mpi-first, mpi-last: whose initialisation comes first

#include <mpi.h>

#include <cstdio>
#include <string_view>
#include <upcxx/upcxx.hpp>
#include <vector>

int main(int count, char** words) {
  bool const mpi_first = count > 1 && std::string_view(words[1]) == "mpi-first";
  if (mpi_first) MPI_Init(&count, &words);
  upcxx::init();
  int already = 0;
  MPI_Initialized(&already);
  if (already == 0) MPI_Init(&count, &words);

  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  int mpi_rank = -1;
  int mpi_size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &mpi_size);
  bool const together = mpi_size == ranks;
  bool good = together ? mpi_rank == me : mpi_size == 1;

  upcxx::dist_object<upcxx::global_ptr<long>> slots(upcxx::new_array<long>(1000));
  auto const right = slots.fetch((me + 1) % ranks).wait();
  long const left = (me + ranks - 1) % ranks;
  for (long round = 0; round < 20; ++round) {
    std::vector<long> const mine(1000, me + 100 * round);
    upcxx::rput(mine.data(), right, mine.size()).wait();
    upcxx::barrier();
    good = good && (*slots).local()[999] == left + 100 * round;
    if (together) {
      // Straight from the shared heap, which MPI takes for ordinary memory.
      std::vector<long> from_left(1000);
      MPI_Sendrecv((*slots).local(), 1000, MPI_LONG, (me + 1) % ranks, 0, from_left.data(), 1000, MPI_LONG,
                   static_cast<int>(left), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      good = good && from_left[7] == (left + ranks - 1) % ranks + 100 * round;
      MPI_Barrier(MPI_COMM_WORLD);
      long const one = upcxx::rpc(
                           static_cast<int>(left), [](long r) { return r + 1; }, round)
                           .wait();
      upcxx::barrier();  // a rank that waits in MPI answers no calls
      long sum = 0;
      MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
      good = good && sum == ranks * (round + 1);
    }
    upcxx::barrier();
  }
  // MPICH 4.0.2 over UCX stands still in MPI_Finalize now and then if two ranks of different hosts have never exchanged anything.
  std::vector<int> const mine(static_cast<std::size_t>(mpi_size), mpi_rank);
  std::vector<int> all(mine.size());
  MPI_Alltoall(mine.data(), 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  good = good && all.back() == mpi_size - 1;
  MPI_Barrier(MPI_COMM_WORLD);
  upcxx::delete_array(*slots);
  bool const all_good = upcxx::reduce_all(good, upcxx::op_fast_bit_and).wait();
  if (me == 0) std::printf("%d ranks, MPI has %d: %s\n", ranks, mpi_size, all_good ? "all well" : "WRONG");
  if (mpi_first) {
    upcxx::finalize();
    MPI_Finalize();
  } else {
    MPI_Finalize();
    upcxx::finalize();
  }
  return all_good ? 0 : 1;
}
