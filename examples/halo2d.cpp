// A relaxation on a two-dimensional grid: each rank owns a square and puts its edges into its neighbours'
// halos, rows as arrays and columns as strided transfers.
//
// No barrier in the loop: every put tells its target when it is in place, and the two copies of the grid
// alternate, since a neighbour may be one step ahead.
//
//   atoll run -n 4 ./halo2d [edge of a rank's square] [steps]

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <upcxx/upcxx.hpp>

namespace {
int arrived[2] = {0, 0};  // edges that have arrived, by parity of the step
}

int main(int argc, char** argv) {
  upcxx::init();
  std::ptrdiff_t const n = argc > 1 ? std::atoi(argv[1]) : 32;
  int const steps = argc > 2 ? std::atoi(argv[2]) : 100;
  int const ranks = upcxx::rank_n();
  int const me = upcxx::rank_me();

  int columns = 1;  // of ranks: the most square grid
  for (int c = 1; c * c <= ranks; ++c) {
    if (ranks % c == 0) columns = c;
  }
  int const rows = ranks / columns;
  int const my_row = me / columns;
  int const my_column = me % columns;

  std::ptrdiff_t const width = n + 2;  // with halos
  using pointer = upcxx::global_ptr<double>;
  upcxx::dist_object<pointer> grids(upcxx::new_array<double>(static_cast<std::size_t>(2 * width * width)));
  double* const mine = grids->local();
  auto const cell = [=](int parity, std::ptrdiff_t y, std::ptrdiff_t x) {
    return (parity * width + y) * width + x;
  };
  // Each step replaces a cell by the mean of its four neighbours plus 1: from x + 2y at the start follows
  // x + 2y + step for ever.
  auto const solution = [=](std::ptrdiff_t y, std::ptrdiff_t x, int step) {
    return static_cast<double>(my_column * n + x) + 2.0 * static_cast<double>(my_row * n + y) + step;
  };

  struct direction {
    int dy, dx;
    pointer grid;
  };
  direction neighbours[4] = {{-1, 0, {}}, {1, 0, {}}, {0, -1, {}}, {0, 1, {}}};
  int present = 0;
  for (direction& d : neighbours) {
    int const y = my_row + d.dy;
    int const x = my_column + d.dx;
    if (y < 0 || y >= rows || x < 0 || x >= columns) continue;
    d.grid = grids.fetch(y * columns + x).wait();
    ++present;
  }
  for (std::ptrdiff_t y = 0; y < width; ++y) {
    for (std::ptrdiff_t x = 0; x < width; ++x) {
      bool const inside = y > 0 && y <= n && x > 0 && x <= n;
      mine[cell(0, y, x)] = inside ? solution(y, x, 0) : -1e9;
      mine[cell(1, y, x)] = -1e9;
    }
  }
  upcxx::barrier();

  std::ptrdiff_t const stride[1] = {width * static_cast<std::ptrdiff_t>(sizeof(double))};
  std::size_t const extent[1] = {static_cast<std::size_t>(n)};
  for (int step = 0; step < steps; ++step) {
    int const now = step % 2;
    auto const notify = upcxx::remote_cx::as_rpc([](int parity) { ++arrived[parity]; }, now);
    for (direction const& d : neighbours) {
      // My edge on that side, and the halo on the opposite side of the neighbour.
      std::ptrdiff_t const from_y = d.dy > 0 ? n : 1, to_y = d.dy > 0 ? 0 : d.dy < 0 ? n + 1 : 1;
      std::ptrdiff_t const from_x = d.dx > 0 ? n : 1, to_x = d.dx > 0 ? 0 : d.dx < 0 ? n + 1 : 1;
      if (d.grid == nullptr) {  // the edge of the world: its values are known
        for (std::ptrdiff_t i = 1; i <= n; ++i) {
          std::ptrdiff_t const y = d.dy > 0 ? n + 1 : d.dy < 0 ? 0 : i;
          std::ptrdiff_t const x = d.dx > 0 ? n + 1 : d.dx < 0 ? 0 : i;
          mine[cell(now, y, x)] = solution(y, x, step);
        }
      } else if (d.dy != 0) {
        upcxx::rput(mine + cell(now, from_y, 1), d.grid + cell(now, to_y, 1), extent[0], notify);
      } else {
        upcxx::rput_strided<1>(mine + cell(now, 1, from_x), stride, d.grid + cell(now, 1, to_x), stride,
                               extent, notify);
      }
    }
    while (arrived[now] < present) {
      upcxx::progress();
    }
    arrived[now] -= present;
    for (std::ptrdiff_t y = 1; y <= n; ++y) {
      for (std::ptrdiff_t x = 1; x <= n; ++x) {
        mine[cell(1 - now, y, x)] = 1 + 0.25 * (mine[cell(now, y - 1, x)] + mine[cell(now, y + 1, x)] +
                                                mine[cell(now, y, x - 1)] + mine[cell(now, y, x + 1)]);
      }
    }
  }

  double error = 0;
  for (std::ptrdiff_t y = 1; y <= n; ++y) {
    for (std::ptrdiff_t x = 1; x <= n; ++x) {
      error = std::fmax(error, std::abs(mine[cell(steps % 2, y, x)] - solution(y, x, steps)));
    }
  }
  error = upcxx::reduce_all(error, upcxx::op_fast_max).wait();
  bool const correct = error < 1e-6;
  if (me == 0) {
    std::printf("%d steps on %d x %d ranks: largest error %.1e (%s)\n", steps, rows, columns, error,
                correct ? "correct" : "WRONG");
  }
  upcxx::barrier();
  upcxx::delete_array(*grids);
  upcxx::finalize();
  return correct ? 0 : 1;
}
