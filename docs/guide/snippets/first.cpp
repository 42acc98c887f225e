// The first program of the guide.
// [first]
#include <cstdio>
#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();

  // Rank 0 puts a counter into its shared memory and tells everyone where it is.
  upcxx::global_ptr<int> sum = me == 0 ? upcxx::new_<int>(0) : nullptr;
  sum = upcxx::broadcast(sum, 0).wait();

  // Every rank has rank 0 add a number to it.
  upcxx::rpc(
      0,
      [](upcxx::global_ptr<int> counter, int value) { *counter.local() += value; },
      sum, me + 1)
      .wait();
  upcxx::barrier();

  // Any rank may read it.
  int const total = upcxx::rget(sum).wait();
  UPCXX_ASSERT_ALWAYS(total == upcxx::rank_n() * (upcxx::rank_n() + 1) / 2);
  std::printf("rank %d of %d reads %d\n", me, upcxx::rank_n(), total);

  upcxx::barrier();  // everybody has read: rank 0 may give the memory back
  if (me == 0) upcxx::delete_(sum);
  upcxx::finalize();
}
// [/first]
