// A program that waits for nothing: every call that it sent before finalize runs, and every reply arrives.
// Several periods of the library, more data than queues and transit memory hold.

#include <cstdio>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {
long arrived = 0;
}

int main() {
  constexpr int calls = 500;
  for (int period = 0; period < 3; ++period) {
    arrived = 0;
    upcxx::init();
    upcxx::intrank_t const next = (upcxx::rank_me() + 1) % upcxx::rank_n();
    std::vector<char> const payload(30'000, 1);
    for (int i = 0; i < calls; ++i) {
      upcxx::rpc_ff(
          next, [](upcxx::view<char> v) { arrived += *v.begin(); },
          upcxx::make_view(payload.begin(), payload.end()));
    }
    upcxx::future<int> const answer = upcxx::rpc(next, [] { return 42; });
    upcxx::finalize();
    if (arrived != calls || !answer.is_ready()) {
      std::fprintf(stderr, "period %d: %ld of %d calls ran; the reply %s\n", period, arrived, calls,
                   answer.is_ready() ? "arrived" : "is missing");
      return 1;
    }
  }
  return 0;
}
