// Snippets about Kokkos on the page on memory kinds.
#include <atoll/kokkos.hpp>
#include <upcxx/upcxx.hpp>
#include <utility>

int main() {
  upcxx::init();
  Kokkos::initialize();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  {
    // [views]
    // 10 x 8, row 0 for the left neighbour; the elements are not initialised.
    atl::kokkos::shared_view<double**> field(10, 8);
    upcxx::dist_object<atl::kokkos::global_view<double, 1>> halo(
        atl::kokkos::global_view_of(
            Kokkos::subview(field.view(), 0, Kokkos::ALL())));
    auto const theirs = halo.fetch((me + 1) % ranks).wait();

    auto const cells = field.view();  // a Kokkos::View
    Kokkos::DefaultHostExecutionSpace const stream;
    Kokkos::parallel_for(
        Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(stream, 1, 10),
        KOKKOS_LAMBDA(int i) {
          for (int j = 0; j < 8; ++j) cells(i, j) = 100.0 * me + 10 * i + j;
        });

    static bool arrived = false;
    atl::kokkos::copy(stream, Kokkos::subview(cells, 9, Kokkos::ALL()),
                      theirs,  // fences stream
                      upcxx::remote_cx::as_rpc([] { arrived = true; }));
    while (!arrived) upcxx::progress();
    UPCXX_ASSERT_ALWAYS(cells(0, 7) == 100.0 * ((me + ranks - 1) % ranks) + 97);
    // [/views]
    upcxx::barrier();
    // [elements]
    upcxx::dist_object<atl::kokkos::global_view<double, 2>> fields(field.global());
    auto const all_of_it = fields.fetch((me + 1) % ranks).wait();
    auto const corner = atl::kokkos::subview(all_of_it, std::pair(7, 10),
                                             std::pair(0, 3));  // 3 x 3
    auto const column = atl::kokkos::subview(corner, Kokkos::ALL, 2);

    double sum = 0;
    auto const there = atl::kokkos::kernel_view(column);
    if (there.data() != nullptr) {  // a neighbour on this host: loads
      Kokkos::parallel_reduce(
          Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(stream, 0, 3),
          KOKKOS_LAMBDA(int i, double& s) { s += there(i); }, sum);
    } else {
      Kokkos::View<double*, Kokkos::HostSpace> here("here", 3);
      atl::kokkos::copy(column, here).wait();
      for (int i = 0; i < 3; ++i) sum += here(i);
    }
    UPCXX_ASSERT_ALWAYS(sum == 3 * (100.0 * ((me + 1) % ranks) + 82));
    // [/elements]
    upcxx::barrier();
  }
  Kokkos::finalize();
  upcxx::finalize();
}
