// Pi by throwing darts, with a work queue: rank 0 hands out blocks of throws to whoever asks, so that fast
// ranks do more of them.
//
//   atoll run -n 4 ./pi [blocks]

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <upcxx/upcxx.hpp>

namespace {

constexpr int throws_per_block = 100000;

struct work_queue {
  int next = 0;
  int end = 0;
  /// The next block, or -1 when nothing is left.
  int take() { return next < end ? next++ : -1; }
};

/// Darts inside the quarter circle; the block's number is the seed, so that the result does not depend
/// on who threw.
long throw_block(int block) {
  std::uint64_t state = 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(block + 1);
  auto uniform = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1.0p-53;
  };
  long inside = 0;
  for (int i = 0; i < throws_per_block; ++i) {
    double const x = uniform();
    double const y = uniform();
    inside += x * x + y * y < 1 ? 1 : 0;
  }
  return inside;
}

}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  int const blocks = argc > 1 ? std::atoi(argv[1]) : 100;
  int const me = upcxx::rank_me();

  upcxx::dist_object<work_queue> queue(work_queue{0, me == 0 ? blocks : 0});
  auto ask = [&queue] {
    return upcxx::rpc(
        0, [](upcxx::dist_object<work_queue>& q) { return q->take(); }, queue);
  };

  long inside = 0;
  int done = 0;
  upcxx::future<int> coming = ask();
  for (int block = coming.wait(); block >= 0; block = coming.wait()) {
    coming = ask();  // the next question travels while this block is thrown
    inside += throw_block(block);
    ++done;
    upcxx::progress();
  }

  long const total_inside = upcxx::reduce_all(inside, upcxx::op_fast_add).wait();
  int const total_done = upcxx::reduce_all(done, upcxx::op_fast_add).wait();
  double const pi =
      4.0 * static_cast<double>(total_inside) / (static_cast<double>(blocks) * throws_per_block);
  bool const correct = total_done == blocks && std::abs(pi - 3.14159265358979) < 0.01;
  if (me == 0) {
    std::printf("pi is about %.5f after %d blocks on %d ranks (%s)\n", pi, total_done, upcxx::rank_n(),
                correct ? "correct" : "WRONG");
  }
  upcxx::barrier();
  upcxx::finalize();
  return correct ? 0 : 1;
}
