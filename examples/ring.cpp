// A token goes around the ring of ranks by remote procedure calls; each rank writes its mark into memory that
// rank 0 owns by a one-sided put.
//
//   atoll run -n 4 ./ring [laps]

#include <cstdio>
#include <cstdlib>

#include <upcxx/upcxx.hpp>

namespace {

int laps = 10;
int hops_seen = 0;
bool finished = false;
upcxx::global_ptr<int> marks;  // on rank 0: how often each rank had the token

void stop() { finished = true; }

void pass(int hop) {
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  ++hops_seen;
  // The put must be complete before the token moves on; the callback itself must not wait, so it chains.
  upcxx::rput(hops_seen, marks + me).then([=] {
    if (hop + 1 < laps * ranks) {
      upcxx::rpc_ff((me + 1) % ranks, pass, hop + 1);
    } else {
      for (int r = 0; r < ranks; ++r) {
        upcxx::rpc_ff(r, stop);
      }
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  if (argc > 1) {
    laps = std::atoi(argv[1]);
  }
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  if (me == 0) {
    marks = upcxx::new_array<int>(static_cast<std::size_t>(ranks));
  }
  marks = upcxx::broadcast(marks, 0).wait();
  upcxx::barrier();

  if (me == 0) {
    upcxx::rpc_ff(0, pass, 0);
  }
  while (!finished) {
    upcxx::progress();
  }
  upcxx::barrier();

  int errors = 0;
  if (me == 0) {
    for (int r = 0; r < ranks; ++r) {
      errors += marks.local()[r] != laps ? 1 : 0;
    }
    std::printf("%d laps over %d ranks: %s\n", laps, ranks,
                errors == 0 ? "every rank had the token every time" : "WRONG");
    upcxx::delete_array(marks);
  }
  errors = upcxx::reduce_all(errors, upcxx::op_fast_add).wait();
  upcxx::finalize();
  return errors == 0 ? 0 : 1;
}
