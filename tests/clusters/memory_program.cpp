// Says how much private memory a rank has that has met all others: "64 ranks, 16 on a host: 5804 KiB each".

#include <cstdio>
#include <fstream>
#include <string>
#include <upcxx/upcxx.hpp>

/// KiB that this process has written to and shares with nobody.
static long private_memory() {
  std::ifstream file("/proc/self/smaps_rollup");
  long found = 0;
  for (std::string word; file >> word;) {
    if (word == "Private_Dirty:") file >> found;
  }
  return found;
}

int main() {
  upcxx::init();
  upcxx::barrier();
  long const all = upcxx::reduce_one(private_memory(), upcxx::op_fast_add, 0).wait();
  if (upcxx::rank_me() == 0) {
    std::printf("%d ranks, %d on a host: %ld KiB each\n", upcxx::rank_n(), upcxx::local_team().rank_n(),
                all / upcxx::rank_n());
  }
  upcxx::finalize();
}
