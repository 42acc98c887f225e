// C = A * B with matrices dealt out by rows: each rank needs all of B, and gets it block by block.
//
// While one block is being multiplied, the next is on its way. Every rank begins with its own block, so that
// not all ask the same rank at a time.
//
//   atoll run -n 4 ./matmul [rows per rank]

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <upcxx/upcxx.hpp>

int main(int argc, char** argv) {
  upcxx::init();
  auto const rows = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 48);
  auto const ranks = static_cast<std::size_t>(upcxx::rank_n());
  auto const me = static_cast<std::size_t>(upcxx::rank_me());
  std::size_t const n = rows * ranks;

  std::vector<double> a(rows * n);
  std::vector<double> c(rows * n, 0.0);
  upcxx::dist_object<upcxx::global_ptr<double>> blocks(upcxx::new_array<double>(rows * n));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      auto const row = static_cast<double>(me * rows + i);
      a[i * n + j] = row + static_cast<double>(j);
      blocks->local()[i * n + j] = row - static_cast<double>(j);
    }
  }
  std::vector<upcxx::global_ptr<double>> b(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    b[r] = blocks.fetch(static_cast<int>(r)).wait();
  }
  upcxx::barrier();  // all blocks are filled

  std::vector<double> block(rows * n);
  std::vector<double> coming(rows * n);
  upcxx::future<> arrival = upcxx::rget(b[me], coming.data(), coming.size());
  for (std::size_t step = 0; step < ranks; ++step) {
    arrival.wait();
    std::swap(block, coming);
    std::size_t const current = (me + step) % ranks;
    if (step + 1 < ranks) {
      arrival = upcxx::rget(b[(current + 1) % ranks], coming.data(), coming.size());
    }
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < rows; ++k) {
        double const factor = a[i * n + current * rows + k];
        for (std::size_t j = 0; j < n; ++j) {
          c[i * n + j] += factor * block[k * n + j];
        }
      }
    }
  }

  // The sum over k of (i + k)(k - j) has a closed form, and all numbers are whole.
  auto const size = static_cast<double>(n);
  double const sum = size * (size - 1) / 2;
  double const sum_of_squares = size * (size - 1) * (2 * size - 1) / 6;
  long wrong = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      auto const row = static_cast<double>(me * rows + i);
      auto const column = static_cast<double>(j);
      wrong += c[i * n + j] != sum_of_squares + (row - column) * sum - size * row * column;
    }
  }
  wrong = upcxx::reduce_all(wrong, upcxx::op_fast_add).wait();
  if (me == 0) {
    std::printf("product of two matrices of %zu x %zu on %zu ranks: %s\n", n, n, ranks,
                wrong == 0 ? "correct" : "WRONG");
  }
  upcxx::barrier();
  upcxx::delete_array(*blocks);
  upcxx::finalize();
  return wrong == 0 ? 0 : 1;
}
