// The smallest program that needs init, shared memory, one-sided access and RPC; built outside the tree.

#include <atoll/neighbors.hpp>
#include <iostream>
#include <upcxx/upcxx.hpp>
#include <vector>

int greetings(int from);  // in greet.cpp, so that two files of one program include the library
bool ghosts_come();       // and the extensions

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  upcxx::dist_object<upcxx::global_ptr<int>> slot(upcxx::new_<int>(-1));
  int const right = (me + 1) % ranks;
  upcxx::rput(me, slot.fetch(right).wait()).wait();
  int const answer = upcxx::rpc(right, greetings, me).wait();
  std::vector<int> const neighbours{right, (me + ranks - 1) % ranks};
  atl::sync_neighbors(neighbours);
  bool const good = *slot->local() == (me + ranks - 1) % ranks && answer == me + 1000 && ghosts_come();
  int const all_good = upcxx::reduce_all(good ? 1 : 0, upcxx::op_fast_min).wait();
  if (me == 0) {
    std::cout << "hello from " << ranks << " ranks, " << (all_good ? "all well" : "something is WRONG")
              << std::endl;
  }
  upcxx::delete_(*slot);
  upcxx::finalize();
  return all_good ? 0 : 1;
}
