// Barriers and reductions of all ranks.

#include <upcxx/upcxx.hpp>
#include <vector>

#include "suites.hpp"

namespace atl::bench {
namespace {

void reduce_values(group& g) {
  auto const ranks = static_cast<std::uint64_t>(g.config().ranks);
  auto const me = static_cast<std::uint64_t>(g.config().rank);
  if (upcxx::reduce_all(me + 1, upcxx::op_fast_add).wait() != ranks * (ranks + 1) / 2)
    wrong_data("reduce_all");
  row const r{.suite = "allreduce",
              .key = "allreduce",
              .name = "reduce_all of a value",
              .peer = "allreduce",
              .bytes = 8};
  g.symmetric(r, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) keep(upcxx::reduce_all(i, upcxx::op_fast_add).wait());
  });
}

void reduce_arrays(group& g, std::size_t bytes) {
  std::size_t const count = bytes / sizeof(double);
  if (count == 0) return;
  std::vector<double> const from(count, g.config().rank + 1.0);
  std::vector<double> to(count, 0.0);
  upcxx::reduce_all(from.data(), to.data(), count, upcxx::op_fast_add).wait();
  double const expected = g.config().ranks * (g.config().ranks + 1) / 2.0;
  for (double const v : to) {
    if (v != expected) wrong_data("reduce_all of an array");
  }
  row const r{.suite = "allreduce",
              .key = "allreduce.array",
              .name = "reduce_all of an array",
              .peer = "allreduce",
              .bytes = bytes,
              .show = "bandwidth",
              .most = 1 << 16};
  g.symmetric(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      upcxx::reduce_all(from.data(), to.data(), count, upcxx::op_fast_add).wait();
    }
  });
}

}  // namespace

void run_barrier(group& g, suite_options const&) {
  row r{.suite = "barrier", .key = "barrier", .name = "barrier", .peer = "barrier"};
  g.symmetric(r, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) upcxx::barrier();
  });
  r.key = "barrier_async";
  r.name = "barrier_async().wait()";
  r.peer = "";
  g.symmetric(r, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) upcxx::barrier_async().wait();
  });
}

void run_allreduce(group& g, suite_options const& options) {
  reduce_values(g);
  for (std::size_t const bytes : options.sizes) {
    if (g.config().ranks == 2 || bytes <= most_bytes_of_many) reduce_arrays(g, bytes);
  }
}

}  // namespace atl::bench
