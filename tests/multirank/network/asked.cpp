// The first thing that any rank of a job says to another: a call from the first to the last one, which says nothing before it is asked.

#include <upcxx/upcxx.hpp>

namespace {
bool asked = false;
}

int main() {
  upcxx::init();
  if (upcxx::rank_me() == 0) upcxx::rpc(upcxx::rank_n() - 1, [] { asked = true; }).wait();
  if (upcxx::rank_me() == upcxx::rank_n() - 1) {
    while (!asked) upcxx::progress();
  }
  upcxx::finalize();
}
