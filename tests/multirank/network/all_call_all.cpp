// Each rank has a connection to each other one: a descriptor each, where the network is TCP.

#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int answers = 0;
  for (int distance = 1; distance < upcxx::rank_n(); ++distance) {
    int const to = (upcxx::rank_me() + distance) % upcxx::rank_n();
    answers += upcxx::rpc(to, [] { return 1; }).wait();
  }
  bool const all = answers == upcxx::rank_n() - 1;
  upcxx::barrier();
  upcxx::finalize();
  return all ? 0 : 1;
}
