// Each rank has a connection to each other one: a descriptor each, where the network is TCP. With the word "first" all call rank 0 only, whose program
// has opened as many files as it may.

#include <fcntl.h>

#include <string_view>

#include <upcxx/upcxx.hpp>

int served = 0;

int main(int count, char** words) {
  upcxx::init();
  bool const first = count > 1 && std::string_view(words[1]) == "first";
  if (first && upcxx::rank_me() == 0) {
    while (::open("/dev/null", O_RDONLY) >= 0) {
    }
    while (served < upcxx::rank_n() - 1) upcxx::progress();
  }
  int answers = 0;
  int wanted = 0;
  for (int distance = 1; distance < upcxx::rank_n(); ++distance) {
    int const to = (upcxx::rank_me() + distance) % upcxx::rank_n();
    if (first && to != 0) continue;
    ++wanted;
    answers += upcxx::rpc(to, [] { return ++served, 1; }).wait();
  }
  bool const all = answers == wanted;
  upcxx::barrier();
  upcxx::finalize();
  return all ? 0 : 1;
}
