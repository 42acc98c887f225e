// Talks all the time, for tests that harm the network meanwhile.
//   traffic_program FILE  in each round every rank puts to its right neighbour, calls a rank far away, and adds up, and checks what has come
//
// Rank 0 says the number of each round that has passed. The round in which it finds FILE is the last.

#include <unistd.h>

#include <cstdio>
#include <upcxx/upcxx.hpp>
#include <vector>

int main(int count, char** words) {
  upcxx::init();
  char const* const file = count > 1 ? words[1] : "/";
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  constexpr std::size_t length = 20'000;  // many frames
  upcxx::dist_object<upcxx::global_ptr<int>> slots(upcxx::new_array<int>(length));
  auto const right = slots.fetch((me + 1) % ranks).wait();
  int const left = (me + ranks - 1) % ranks;
  bool good = true;
  bool last = false;
  for (int round = 0; !last; ++round) {
    std::vector<int> const mine(length, 1000 * round + me);
    upcxx::rput(mine.data(), right, length).wait();
    upcxx::barrier();
    for (std::size_t i = 0; i < length; ++i) good = good && (*slots).local()[i] == 1000 * round + left;
    int const answer =
        upcxx::rpc((me + ranks / 2) % ranks, [](int asked) { return asked + upcxx::rank_me(); }, round)
            .wait();
    good = good && answer == round + (me + ranks / 2) % ranks;
    int const sum = upcxx::reduce_all(me + round, upcxx::op_fast_add).wait();
    good = good && sum == ranks * (ranks - 1) / 2 + ranks * round;
    last = upcxx::broadcast(me == 0 && access(file, F_OK) == 0, 0).wait();
    if (!good) std::fprintf(stderr, "rank %d: round %d: wrong\n", me, round);
    if (me == 0) {
      std::printf("round %d\n", round);
      std::fflush(stdout);
    }
  }
  upcxx::barrier();
  upcxx::delete_array(*slots);
  upcxx::finalize();
  return good ? 0 : 1;
}
