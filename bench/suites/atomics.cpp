// Atomic operations that are waited for, one after the other, beside the processor's own.

#include <atomic>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "suites.hpp"

namespace atl::bench {
namespace {

using word = std::uint64_t;
using upcxx::atomic_op;
using domain = upcxx::atomic_domain<word>;
constexpr auto relaxed = std::memory_order_relaxed;

/// One operation through the library and the same through std::atomic_ref.
struct operation {
  char const* key;
  char const* name;
  void (*library)(domain const&, upcxx::global_ptr<word>, std::uint64_t);
  void (*processor)(std::atomic_ref<word>, std::uint64_t);
};

constexpr operation operations[] = {
    {"load", "load",
     [](domain const& d, upcxx::global_ptr<word> p, std::uint64_t n) {
       for (std::uint64_t i = 0; i < n; ++i) keep(d.load(p, relaxed).wait());
     },
     [](std::atomic_ref<word> w, std::uint64_t n) {
       for (std::uint64_t i = 0; i < n; ++i) keep(w.load(relaxed));
     }},
    {"store", "store",
     [](domain const& d, upcxx::global_ptr<word> p, std::uint64_t n) {
       for (std::uint64_t i = 0; i < n; ++i) d.store(p, i, relaxed).wait();
     },
     [](std::atomic_ref<word> w, std::uint64_t n) {
       for (std::uint64_t i = 0; i < n; ++i) w.store(i, relaxed);
     }},
    {"fetch_add", "fetch_add",
     [](domain const& d, upcxx::global_ptr<word> p, std::uint64_t n) {
       for (std::uint64_t i = 0; i < n; ++i) keep(d.fetch_add(p, 1, relaxed).wait());
     },
     [](std::atomic_ref<word> w, std::uint64_t n) {
       for (std::uint64_t i = 0; i < n; ++i) keep(w.fetch_add(1, relaxed));
     }},
    {"fetch_add_into", "fetch_add into memory",
     [](domain const& d, upcxx::global_ptr<word> p, std::uint64_t n) {
       word before = 0;
       for (std::uint64_t i = 0; i < n; ++i) {
         d.fetch_add(p, 1, &before, relaxed).wait();
         keep(before);
       }
     },
     [](std::atomic_ref<word> w, std::uint64_t n) {
       for (std::uint64_t i = 0; i < n; ++i) keep(w.fetch_add(1, relaxed));
     }},
    {"compare_exchange", "compare_exchange",
     [](domain const& d, upcxx::global_ptr<word> p, std::uint64_t n) {
       for (std::uint64_t i = 0; i < n; ++i) keep(d.compare_exchange(p, i, i + 1, relaxed).wait());
     },
     [](std::atomic_ref<word> w, std::uint64_t n) {
       for (std::uint64_t i = 0; i < n; ++i) {
         word expected = i;
         keep(w.compare_exchange_strong(expected, i + 1, relaxed));
       }
     }},
};

void check(group& g, domain const& d, upcxx::global_ptr<word> first) {
  constexpr word rounds = 1000;
  for (word i = 0; i < rounds; ++i) d.fetch_add(first, 1, relaxed).wait();
  upcxx::barrier();
  if (g.first() && d.load(first, relaxed).wait() != rounds * static_cast<word>(g.config().ranks)) {
    wrong_data("fetch_add by all ranks on one word");
  }
}

}  // namespace

void run_atomics(group& g, suite_options const&) {
  domain d({atomic_op::load, atomic_op::store, atomic_op::fetch_add, atomic_op::compare_exchange});
  auto const own = upcxx::new_<word>(0);
  check(g, d, upcxx::broadcast(own, 0).wait());
  auto const neighbour = upcxx::broadcast(own, 1).wait();
  g.meet();
  for (auto const& [to, where, whose] : {std::tuple{own, ".own", ", own memory"},
                                         std::tuple{neighbour, ".neighbour", ", neighbour's memory"}}) {
    for (operation const& o : operations) {
      row const r{.suite = "atomics",
                  .key = std::string("atomics.") + o.key + where,
                  .name = std::string(o.name) + whose,
                  .bytes = sizeof(word),
                  .limit = "processor"};
      word* const cell = address_if_local(to);
      served_on(
          g, r, cell, [&](std::uint64_t n) { o.library(d, to, n); },
          [&](std::uint64_t n) { o.processor(std::atomic_ref(*cell), n); });
    }
  }
  d.destroy();
  upcxx::delete_(own);
}

}  // namespace atl::bench
