// Diffusion in a ring of ranks, computed by Kokkos: on GPUs if Kokkos has CUDA, else on the host, from the
// same source. Halos go from View to View, from GPU to GPU where there are any.

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdio>

#include <atoll/kokkos.hpp>
#include <upcxx/upcxx.hpp>

namespace ak = atl::kokkos;
using space = Kokkos::DefaultExecutionSpace;
constexpr auto kind = ak::kind_of<space>;
using matrix = Kokkos::View<double**, space>;
using shared_row = ak::shared_view<double*, kind>;

constexpr int rows = 20, columns = 300, steps = 50;
constexpr double q = 0.2, wave = 2 * 3.14159265358979323846;

/// Shared memory for a row: in the device segment, or in the shared heap.
template <class Allocator>
shared_row make_row([[maybe_unused]] Allocator& gpu) {
  if constexpr (kind == upcxx::memory_kind::host) {
    return shared_row(columns);
  } else {
    return shared_row(gpu, columns);
  }
}

int arrivals = 0;

double diffuse() {
  int const me = upcxx::rank_me();
  int const n = upcxx::rank_n();
  double error = 0;
  // For the rows, where Kokkos computes on a device.
  auto gpu = upcxx::make_gpu_allocator(1 << 20, ak::device_id());
  {
    auto const low = make_row(gpu), high = make_row(gpu);            // what we send: first and last row
    auto const low_halo = make_row(gpu), high_halo = make_row(gpu);  // what comes from left and right
    upcxx::dist_object<decltype(low.global())> low_halos(low_halo.global()), high_halos(high_halo.global());
    auto const to_left = high_halos.fetch((me + n - 1) % n).wait();
    auto const to_right = low_halos.fetch((me + 1) % n).wait();

    // A cosine around the ring; each step makes it smaller by the same factor.
    matrix now("now", rows, columns), next("next", rows, columns);
    Kokkos::parallel_for(
        rows, KOKKOS_LAMBDA(int i) {
          for (int j = 0; j < columns; ++j) now(i, j) = std::cos(wave * (me * rows + i) / (n * rows));
        });
    space const stream;
    for (int step = 1; step <= steps; ++step) {
      // A row of a matrix is a stride apart on GPUs: kernels of the stream pack it.
      // copy() waits for the stream.
      Kokkos::deep_copy(stream, low.view(), Kokkos::subview(now, 0, Kokkos::ALL()));
      Kokkos::deep_copy(stream, high.view(), Kokkos::subview(now, rows - 1, Kokkos::ALL()));
      auto const told = upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc([] { ++arrivals; });
      auto const sent =
          upcxx::when_all(ak::copy(stream, low, to_left, told), ak::copy(stream, high, to_right, told));
      while (arrivals < 2 * step || !sent.is_ready()) upcxx::progress();

      auto const from = now, to = next;
      auto const below = low_halo.view(), above = high_halo.view();
      Kokkos::parallel_for(
          Kokkos::RangePolicy<space>(stream, 0, columns), KOKKOS_LAMBDA(int j) {
            for (int i = 0; i < rows; ++i) {
              double const left = i > 0 ? from(i - 1, j) : below(j);
              double const right = i + 1 < rows ? from(i + 1, j) : above(j);
              to(i, j) = from(i, j) + q * (left - 2 * from(i, j) + right);
            }
          });
      std::swap(now, next);
      ak::fence(stream);
      upcxx::barrier();  // the halos were read: neighbours may write the next ones
    }

    double const factor = std::pow(1 - 2 * q * (1 - std::cos(wave / (n * rows))), steps);
    auto const result = now;
    Kokkos::parallel_reduce(
        rows,
        KOKKOS_LAMBDA(int i, double& most) {
          for (int j = 0; j < columns; ++j) {
            double const off = result(i, j) - factor * std::cos(wave * (me * rows + i) / (n * rows));
            most = std::fmax(most, std::fabs(off));
          }
        },
        Kokkos::Max<double>(error));
    error = upcxx::reduce_all(error, upcxx::op_fast_max).wait();
  }
  gpu.destroy();
  return error;
}

int main() {
  upcxx::init();
  ak::initialize();  // each rank on a device of its own, if there are as many
  double const error = diffuse();
  bool const right = error < 1e-12;
  if (upcxx::rank_me() == 0) {
    std::printf("%d ranks, %s: largest error %.1e, %s\n", upcxx::rank_n(), space::name(), error,
                right ? "right" : "WRONG");
  }
  Kokkos::finalize();
  upcxx::finalize();
  return right ? 0 : 1;
}
