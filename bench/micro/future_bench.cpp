// What do futures cost when nothing has to be waited for, and when something has?
//
// Prints nanoseconds per operation; run on a quiet core. The goals are in docs/design/futures.md.

#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <upcxx/future.hpp>

namespace {

using upcxx::future;
using upcxx::make_future;
using upcxx::promise;
using upcxx::when_all;

void ready_empty(benchmark::State& state) {
  for (auto _ : state) {
    future<> f = make_future();
    benchmark::DoNotOptimize(f);
    f.wait();
  }
}
BENCHMARK(ready_empty);

void copy_ready_empty(benchmark::State& state) {
  future<> f = make_future();
  for (auto _ : state) {
    benchmark::DoNotOptimize(f);
    future<> copy = f;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(copy_ready_empty);

void ready_int(benchmark::State& state) {
  int value = 5;
  for (auto _ : state) {
    benchmark::DoNotOptimize(value);
    future<int> f = make_future(value);
    benchmark::DoNotOptimize(f);
    benchmark::DoNotOptimize(f.result());
  }
}
BENCHMARK(ready_int);

void then_on_ready_int(benchmark::State& state) {
  future<int> f = make_future(5);
  for (auto _ : state) {
    benchmark::DoNotOptimize(f);
    future<int> g = f.then([](int v) { return v + 1; });
    benchmark::DoNotOptimize(g);
  }
}
BENCHMARK(then_on_ready_int);

void then_on_ready_empty(benchmark::State& state) {
  future<> f = make_future();
  int runs = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(f);
    f.then([&] { benchmark::DoNotOptimize(++runs); });
  }
}
BENCHMARK(then_on_ready_empty);

void when_all_of_ready_empty(benchmark::State& state) {
  future<> all = make_future();
  future<> f = make_future();
  for (auto _ : state) {
    benchmark::DoNotOptimize(f);
    all = when_all(all, f);
    benchmark::DoNotOptimize(all);
  }
}
BENCHMARK(when_all_of_ready_empty);

void promise_fulfilled(benchmark::State& state) {
  for (auto _ : state) {
    promise<int> p;
    future<int> f = p.get_future();
    benchmark::DoNotOptimize(f);
    p.fulfill_result(1);
    benchmark::DoNotOptimize(f.result());
  }
}
BENCHMARK(promise_fulfilled);

void then_on_unready_int(benchmark::State& state) {
  for (auto _ : state) {
    promise<int> p;
    future<int> f = p.get_future().then([](int v) { return v + 1; });
    p.fulfill_result(1);
    benchmark::DoNotOptimize(f.result());
  }
}
BENCHMARK(then_on_unready_int);

void when_all_of_two_unready(benchmark::State& state) {
  for (auto _ : state) {
    promise<int> p;
    promise<int> q;
    future<int, int> f = when_all(p.get_future(), q.get_future());
    p.fulfill_result(1);
    q.fulfill_result(1);
    benchmark::DoNotOptimize(f.result());
  }
}
BENCHMARK(when_all_of_two_unready);

// Per link of a chain that is built, becomes ready and ends.
void chain_of_then(benchmark::State& state) {
  auto const links = state.range(0);
  for (auto _ : state) {
    promise<int> p;
    future<int> f = p.get_future();
    for (std::int64_t i = 0; i < links; ++i) {
      f = f.then([](int v) { return v + 1; });
    }
    p.fulfill_result(0);
    benchmark::DoNotOptimize(f.result());
  }
  state.SetItemsProcessed(state.iterations() * links);
}
BENCHMARK(chain_of_then)->Arg(1000)->Arg(1'000'000);

}  // namespace

BENCHMARK_MAIN();
