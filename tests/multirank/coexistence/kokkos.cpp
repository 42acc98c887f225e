// Kokkos and UPC++ in one process: views over memory that peers write, kernels over it, and kernels in the
// callbacks of calls.
//   kokkos ORDER    kokkos-first, kokkos-last: whose initialisation comes first; its end comes last

#include <Kokkos_Core.hpp>

#include <cstdio>
#include <string_view>
#include <upcxx/upcxx.hpp>

namespace {

using space = Kokkos::DefaultHostExecutionSpace;
using range = Kokkos::RangePolicy<space>;
using box = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
using shared_box =
    Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

constexpr int rows = 10;  // the first and the last belong to the neighbours
constexpr int columns = 1000;

/// What rank `r` writes into its row `i`.
double value(int r, int i, int j) { return 1e6 * r + 1e3 * i + j; }

double sum_of(shared_box const& data, int row) {
  double sum = 0;
  Kokkos::parallel_reduce(
      range(0, columns), KOKKOS_LAMBDA(int j, double& s) { s += data(row, j); }, sum);
  return sum;
}

shared_box mine;  // for callbacks

bool exchange(int me, int ranks) {
  int const right = (me + 1) % ranks;
  int const left = (me + ranks - 1) % ranks;
  upcxx::dist_object<upcxx::global_ptr<double>> memory(upcxx::new_array<double>(rows * columns));
  upcxx::global_ptr<double> const to_right = memory.fetch(right).wait();
  upcxx::global_ptr<double> const to_left = memory.fetch(left).wait();
  mine = shared_box((*memory).local(), rows, columns);
  shared_box const data = mine;

  Kokkos::parallel_for(
      range(1, rows - 1), KOKKOS_LAMBDA(int i) {
        for (int j = 0; j < columns; ++j) data(i, j) = value(me, i, j);
      });
  Kokkos::fence();
  upcxx::barrier();

  // A row of the view goes to the left neighbour; the one from there comes into a view of Kokkos' own memory.
  box halo("halo", 1, columns);
  upcxx::future<> const put = upcxx::rput(&data(1, 0), to_left + (rows - 1) * columns, columns);
  upcxx::future<> const got = upcxx::rget(to_left + (rows - 2) * columns, halo.data(), columns);
  upcxx::when_all(put, got).wait();
  upcxx::barrier();
  bool good = data(rows - 1, 7) == value(right, 1, 7) && halo(0, 9) == value(left, rows - 2, 9);

  // A view over the neighbour's memory, without a copy; and a kernel that the neighbour runs for us.
  shared_box const theirs(to_right.local(), rows, columns);
  double const here = sum_of(theirs, 3);
  double const there = upcxx::rpc(
                           right, [](int row) { return sum_of(mine, row); }, 3)
                           .wait();
  double expected = 0;
  for (int j = 0; j < columns; ++j) expected += value(right, 3, j);
  good = good && here == expected && there == expected;

  upcxx::barrier();
  mine = shared_box();
  upcxx::delete_array(*memory);
  return good;
}

}  // namespace

int main(int count, char** words) {
  bool const kokkos_first = count > 1 && std::string_view(words[1]) == "kokkos-first";
  if (kokkos_first) Kokkos::initialize(count, words);
  upcxx::init();
  if (!kokkos_first) Kokkos::initialize(count, words);
  bool const good =
      upcxx::reduce_all(exchange(upcxx::rank_me(), upcxx::rank_n()), upcxx::op_fast_bit_and).wait();
  if (upcxx::rank_me() == 0) std::printf("%d ranks: %s\n", upcxx::rank_n(), good ? "all well" : "WRONG");
  if (!kokkos_first) Kokkos::finalize();
  upcxx::finalize();
  if (kokkos_first) Kokkos::finalize();
  return good ? 0 : 1;
}
