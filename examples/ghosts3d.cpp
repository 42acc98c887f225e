// Jacobi iteration in three dimensions on a distributed array. The ghost exchange is one line; there is no
// barrier in the time loop, since data and its flag travel together.
//
//   atoll run -n 4 ./ghosts3d [cells per side] [steps]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <atoll/array.hpp>
#include <upcxx/upcxx.hpp>

namespace {
/// A wave that every step of the iteration makes smaller by the same factor.
double wave(atl::point<3> const& p, double side) {
  double const turn = 2 * 3.14159265358979323846 / side;
  return std::cos(turn * static_cast<double>(p[0])) * std::cos(turn * static_cast<double>(p[1])) *
         std::sin(turn * static_cast<double>(p[2]));
}
}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  int const side = argc > 1 ? std::atoi(argv[1]) : 24;
  int const steps = argc > 2 ? std::atoi(argv[2]) : 50;
  if (side < 1 || steps < 0) {
    if (upcxx::rank_me() == 0)
      std::fprintf(stderr, "ghosts3d: takes at least 1 cell per side, and 0 steps\n");
    upcxx::finalize();
    return 2;
  }
  bool right = true;
  {
    atl::domain<3> const cube{{0, 0, 0}, {side, side, side}};
    atl::distribution<3> how;
    how.depth = 1;
    how.which = atl::shape::faces;
    how.periodic[0] = how.periodic[1] = how.periodic[2] = true;
    atl::dist_array<double, 3> a(cube, how);
    atl::dist_array<double, 3> b(cube, how);

    atl::array<double, 3> now = a.local();
    atl::array<double, 3> next = b.local();
    for (atl::point<3> const& p : a.block()) now[p] = wave(p, side);

    auto* halo = &a.ghosts();
    auto* other_halo = &b.ghosts();
    for (int step = 0; step < steps; ++step) {
      halo->run();
      for (atl::point<3> const& p : a.block()) {
        double sum = 0;
        for (int d = 0; d < 3; ++d) sum += now[p - atl::point<3>::unit(d)] + now[p + atl::point<3>::unit(d)];
        next[p] = sum / 6;
      }
      std::swap(now, next);
      std::swap(halo, other_halo);
    }

    double const factor = std::pow(std::cos(2 * 3.14159265358979323846 / side), steps);
    double error = 0;
    for (atl::point<3> const& p : a.block()) {
      double const off = std::fabs(now[p] - factor * wave(p, side));
      right = right && off < 1e-12;  // which is false for what is not a number
      error = std::fmax(error, off);
    }
    error = upcxx::reduce_all(error, upcxx::op_fast_max).wait();
    right = upcxx::reduce_all(right, upcxx::op_fast_bit_and).wait();
    if (upcxx::rank_me() == 0) {
      std::printf("%d x %d x %d blocks, %d steps, largest error %.1e %s\n", static_cast<int>(a.grid()[0]),
                  static_cast<int>(a.grid()[1]), static_cast<int>(a.grid()[2]), steps, error,
                  right ? "(right)" : "WRONG");
    }
    upcxx::barrier();  // nobody writes into our ghosts any more
  }
  upcxx::finalize();
  return right ? 0 : 1;
}
