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
  }
  Kokkos::finalize();
  upcxx::finalize();
}
