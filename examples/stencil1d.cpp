// Heat in a rod: each rank owns a piece of it and puts its edge cells into its neighbours' halos.
//
// No barrier in the time loop: every put tells its target by a remote completion, and halos alternate between
// two buffers by the parity of the step, since a neighbour may be one step ahead.
//
//   atoll run -n 4 ./stencil1d [cells per rank] [steps]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {
int arrived[2] = {0, 0};  // halo values that have arrived, by parity
}

int main(int argc, char** argv) {
  upcxx::init();
  int const cells = argc > 1 ? std::atoi(argv[1]) : 1000;
  int const steps = argc > 2 ? std::atoi(argv[2]) : 2000;
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  if (cells < 2) {
    if (me == 0) std::fprintf(stderr, "stencil1d: a rank takes at least 2 cells\n");
    upcxx::finalize();
    return 2;
  }
  int const left = me > 0 ? me - 1 : -1;
  int const right = me + 1 < ranks ? me + 1 : -1;
  int const neighbours = (left >= 0 ? 1 : 0) + (right >= 0 ? 1 : 0);

  // Halos live in shared memory: [parity][0: from the left, 1: from the right].
  upcxx::dist_object<upcxx::global_ptr<double>> halos(upcxx::new_array<double>(4));
  double* const mine = halos->local();
  upcxx::global_ptr<double> const at_left = left >= 0 ? halos.fetch(left).wait() : nullptr;
  upcxx::global_ptr<double> const at_right = right >= 0 ? halos.fetch(right).wait() : nullptr;

  // One hot piece, insulated ends: the total of all cells must stay.
  auto const size = static_cast<std::size_t>(cells);
  std::vector<double> now(size, me == 0 ? 100.0 : 0.0);
  std::vector<double> next(size);
  upcxx::barrier();

  for (int step = 0; step < steps; ++step) {
    int const parity = step % 2;
    auto const notify = upcxx::remote_cx::as_rpc([](int p) { ++arrived[p]; }, parity);
    if (left >= 0) {
      upcxx::rput(now.front(), at_left + (2 * parity + 1), notify);
    }
    if (right >= 0) {
      upcxx::rput(now.back(), at_right + (2 * parity + 0), notify);
    }
    for (std::size_t i = 1; i + 1 < size; ++i) {  // needs no halo: overlaps the communication
      next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
    }
    while (arrived[parity] < neighbours) {
      upcxx::progress();
    }
    arrived[parity] -= neighbours;
    double const from_left = left >= 0 ? mine[2 * parity] : now.front();
    double const from_right = right >= 0 ? mine[2 * parity + 1] : now.back();
    next.front() = now.front() + 0.25 * (from_left - 2 * now.front() + now[1]);
    next.back() = now.back() + 0.25 * (now[size - 2] - 2 * now.back() + from_right);
    std::swap(now, next);
  }

  double total = 0;
  for (double const t : now) {
    total += t;
  }
  total = upcxx::reduce_all(total, upcxx::op_fast_add).wait();
  bool const correct = std::abs(total - 100.0 * cells) < 1e-6 * 100.0 * cells;
  if (me == 0) {
    std::printf("%d steps of %d cells on %d ranks: total heat %.6f (%s)\n", steps, cells * ranks, ranks,
                total, correct ? "conserved" : "WRONG");
  }
  upcxx::barrier();
  upcxx::delete_array(*halos);
  upcxx::finalize();
  return correct ? 0 : 1;
}
