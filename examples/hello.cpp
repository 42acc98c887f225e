// Every rank greets; rank 0 collects what the others say.
//
//   atoll run -n 4 ./hello

#include <cstdio>
#include <string>
#include <vector>

#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();

  // One value on each rank, which the others can fetch.
  upcxx::dist_object<std::string> greeting("hello from rank " + std::to_string(me) + " of " +
                                           std::to_string(ranks));
  if (me == 0) {
    for (int r = 0; r < ranks; ++r) {
      std::printf("%s\n", greeting.fetch(r).wait().c_str());
    }
  }
  upcxx::barrier();  // nobody leaves while rank 0 still fetches

  int const sum = upcxx::reduce_all(me, upcxx::op_fast_add).wait();
  bool const correct = sum == ranks * (ranks - 1) / 2;
  if (me == 0) {
    std::printf("sum of all ranks: %d (%s)\n", sum, correct ? "correct" : "WRONG");
  }
  upcxx::finalize();
  return correct ? 0 : 1;
}
