// What communication allocates, and what a flood that the target cannot keep up with takes.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "allocations.hpp"
#include "harness/private_memory.hpp"
#include "suites.hpp"

namespace atl::bench {
namespace {

constexpr double mebi = 1024.0 * 1024.0;

template <class Operation>
void count_allocations(group& g, std::string const& key, std::string const& name, std::uint64_t n,
                       Operation const& operation) {
  if (g.first()) {
    for (int i = 0; i < 1000; ++i) operation(i);
    start_counting_allocations();
    for (std::uint64_t i = 0; i < n; ++i) operation(i);
    g.print_value("memory", key, "allocations in " + std::to_string(n) + " " + name,
                  static_cast<double>(stop_counting_allocations()), "");
  }
  g.meet();
}

void allocations_of_transfers(group& g, suite_options const& options) {
  if (!can_count_allocations()) return;
  std::uint64_t const n = options.quick ? 10'000 : 1'000'000;
  auto const own = upcxx::new_array<std::uint64_t>(8);
  auto const there = upcxx::broadcast(own, 1).wait();
  std::uint64_t buffer[8] = {};
  g.meet();
  count_allocations(g, "allocations.put", "rput().wait()", n,
                    [&](std::uint64_t i) { upcxx::rput(i, there).wait(); });
  count_allocations(g, "allocations.get", "rget().wait()", n,
                    [&](std::uint64_t) { keep(upcxx::rget(there).wait()); });
  count_allocations(g, "allocations.array", "rput and rget of arrays", n, [&](std::uint64_t) {
    upcxx::rput(buffer, there, 8).wait();
    upcxx::rget(there, buffer, 8).wait();
  });
  count_allocations(g, "allocations.ready", "ready futures and thens on them", n, [](std::uint64_t i) {
    keep(upcxx::make_future(i).then([](std::uint64_t v) { return v + 1; }).wait());
    upcxx::make_future().then([] {}).wait();
  });
  g.meet();
  upcxx::delete_array(own);
}

// ---- flood
// ---------------------------------------------------------------------------------------------------

struct flood_state {
  std::uint64_t served = 0;
  std::uint64_t sum = 0;
  double peak = 0;
  std::chrono::microseconds service{0};
};
flood_state flood;

/// A callee that is slower than its callers.
void serve_slowly(std::uint64_t index, upcxx::view<char> data) {
  auto const until = std::chrono::steady_clock::now() + flood.service;
  if (data.size() == 0 || data.begin()[0] != static_cast<char>(index) ||
      data.begin()[data.size() - 1] != static_cast<char>(index + 1)) {
    wrong_data("large rpcs from both sides");
  }
  while (std::chrono::steady_clock::now() < until) {
  }
  ++flood.served;
  flood.sum += index;
  flood.peak = std::max(flood.peak, private_memory());
}

void flood_both_ways(group& g, suite_options const& options) {
  std::size_t const bytes = std::size_t{512} << 10;
  std::uint64_t const calls = options.quick ? 200 : 2000;
  flood = {};
  flood.service = std::chrono::microseconds(options.quick ? 20 : 200);
  int const target = 1 - g.config().rank;
  std::vector<char> data(bytes, 'x');
  upcxx::barrier();
  double const before = private_memory();
  auto const start = std::chrono::steady_clock::now();
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < calls; ++i) {
    data.front() = static_cast<char>(i);
    data.back() = static_cast<char>(i + 1);
    for (;;) {
      try {
        upcxx::rpc_ff(target, serve_slowly, i, upcxx::make_view(data));
        break;
      } catch (upcxx::bad_shared_alloc const&) {
        ++refused;
        upcxx::progress();
      }
    }
    flood.peak = std::max(flood.peak, private_memory());
  }
  while (flood.served < calls) upcxx::progress();
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  upcxx::barrier();
  bool const right = flood.sum == calls * (calls - 1) / 2;
  double const lost = upcxx::reduce_all(right ? 0.0 : 1.0, upcxx::op_fast_add).wait();
  double const peak = upcxx::reduce_all(flood.peak - before, upcxx::op_fast_max).wait();
  double const all_refused = upcxx::reduce_all(static_cast<double>(refused), upcxx::op_fast_add).wait();
  std::string const what = std::to_string(calls) + " rpcs of 512 KiB each way: ";
  g.print_value("memory", "flood.lost", what + "ranks that lost any", lost, "");
  g.print_value("memory", "flood.peak", what + "private memory taken, at most", peak / mebi, "MiB");
  g.print_value("memory", "flood.sent", what + "data sent", static_cast<double>(calls * bytes) * 2 / mebi,
                "MiB");
  g.print_value("memory", "flood.refused", what + "injections that threw and were repeated", all_refused, "");
  g.print_value("memory", "flood.seconds", what + "time", seconds, "s");
}

}  // namespace

void run_memory(group& g, suite_options const& options) {
  allocations_of_transfers(g, options);
  flood_both_ways(g, options);
}

}  // namespace atl::bench
