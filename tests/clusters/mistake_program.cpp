// Makes a mistake that ends the job, and answers SIGABRT with exit(), as programs do that log and leave.
//   mistake_program RANK  that rank's; -1: all make it

#include <csignal>
#include <cstdlib>
#include <upcxx/upcxx.hpp>

int main(int count, char** words) {
  std::signal(SIGABRT, [](int) { std::exit(3); });
  upcxx::init();
  int const who = count > 1 ? std::atoi(words[1]) : -1;
  upcxx::barrier();
  if (who < 0 || who == upcxx::rank_me()) upcxx::rpc_ff(upcxx::rank_n() + 5, [] {});
  for (;;) upcxx::progress();
}
