// Calls between all ranks, also where many share a core: every rank calls all others in turn.

#include <upcxx/upcxx.hpp>

#include "suites.hpp"

namespace atl::bench {
namespace {

std::uint64_t calls_here = 0;

/// `n` calls, the first to the next rank; returns when all have been answered.
void call_everybody(std::uint64_t n) {
  auto const ranks = static_cast<std::uint64_t>(upcxx::rank_n());
  auto const me = static_cast<std::uint64_t>(upcxx::rank_me());
  upcxx::promise<> all;
  for (std::uint64_t i = 0; i < n; ++i) {
    auto const target = static_cast<upcxx::intrank_t>((me + 1 + i % (ranks - 1)) % ranks);
    upcxx::rpc(
        target, upcxx::operation_cx::as_promise(all), [](std::uint64_t v) { calls_here += v; },
        std::uint64_t{1});
  }
  all.finalize().wait();
}

}  // namespace

void run_alltoall(group& g, suite_options const&) {
  auto const others = static_cast<std::uint64_t>(upcxx::rank_n() - 1);
  calls_here = 0;
  upcxx::barrier();
  call_everybody(3 * others);
  upcxx::barrier();  // all calls were answered before it
  if (calls_here != 3 * others) wrong_data("calls between all ranks");
  row const r{.suite = "alltoall",
              .key = "rpc.alltoall",
              .name = "rpc to all others in turn, answers at the end",
              .bytes = 8,
              .show = "rate",
              .least = 64,
              .most = 1 << 13};
  g.symmetric(r, call_everybody);
}

}  // namespace atl::bench
