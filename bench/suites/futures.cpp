// Futures, local calls and progress with nothing to do: what a program pays for the way things are said.

#include <cstddef>
#include <upcxx/upcxx.hpp>
#include <utility>

#include "suites.hpp"

namespace atl::bench {
namespace {

row row_of(char const* key, char const* name) {
  return {.suite = "futures", .key = key, .name = name, .limit = "none"};
}

template <class Operation>
void each(group& g, char const* key, char const* name, Operation operation) {
  g.served(row_of(key, name), [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) operation(static_cast<int>(i));
  });
}

void ready(group& g) {
  each(g, "future.ready", "make_future(int), its result", [](int i) {
    upcxx::future<int> const f = upcxx::make_future(i);
    keep(f);
    keep(f.result());
  });
  upcxx::future<int> const five = upcxx::make_future(5);
  each(g, "then.ready", "then on a ready future", [&](int) {
    keep(five);
    keep(five.then([](int v) { return v + 1; }));
  });
  each(g, "then.ready_chain8", "eight thens in a row, from a ready future", [](int i) {
    upcxx::future<int> f = upcxx::make_future(i);
    for (int k = 0; k < 8; ++k) f = f.then([](int v) { return v + 1; });
    keep(f.result());
  });
}

void pending(group& g) {
  each(g, "then.pending", "then on a pending future, then its fulfilment", [](int i) {
    upcxx::promise<int> p;
    upcxx::future<int> const f = p.get_future().then([](int v) { return v + 1; });
    p.fulfill_result(i);
    keep(f.result());
  });
  each(g, "then.pending_chain8", "eight thens in a row, then the fulfilment", [](int i) {
    upcxx::promise<int> p;
    upcxx::future<int> f = p.get_future();
    for (int k = 0; k < 8; ++k) f = f.then([](int v) { return v + 1; });
    p.fulfill_result(i);
    keep(f.result());
  });
}

template <std::size_t... I>
void conjoin(group& g, char const* key, char const* name, std::index_sequence<I...>) {
  each(g, key, name, [](int i) {
    upcxx::promise<int> p[sizeof...(I)];
    upcxx::future<> const all =
        upcxx::when_all(p[I].get_future()...).then([](auto const&... v) { keep((v + ...)); });
    (p[I].fulfill_result(i), ...);
    keep(all.is_ready());
  });
}

}  // namespace

void run_futures(group& g, suite_options const&) {
  ready(g);
  pending(g);
  upcxx::future<int> const one = upcxx::make_future(1);
  each(g, "when_all.ready2", "when_all of two ready futures", [&](int) {
    keep(one);
    keep(upcxx::when_all(one, one));
  });
  conjoin(g, "when_all.pending2", "when_all of two pending futures, then their fulfilment",
          std::make_index_sequence<2>());
  conjoin(g, "when_all.pending8", "when_all of eight pending futures, then their fulfilment",
          std::make_index_sequence<8>());
  each(g, "progress.idle", "progress() with nothing to do", [](int) { upcxx::progress(); });
  each(g, "lpc.self", "lpc to oneself, waited for",
       [](int i) { keep(upcxx::current_persona().lpc([i] { return i; }).wait()); });
}

}  // namespace atl::bench
