// Gets that are waited for, one after the other: from own memory, from the neighbour's,
// and arrays of all sizes.

#include <cstring>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "harness/pattern.hpp"
#include "suites.hpp"

namespace atl::bench {
namespace {

using word = std::uint64_t;

void get_words(group& g) {
  auto const own = upcxx::new_<word>(static_cast<word>(g.config().rank) + 41);
  auto const neighbour = upcxx::broadcast(own, 1).wait();
  g.meet();
  if (g.first() && upcxx::rget(own).wait() != 41) wrong_data("rget of 8 bytes from own memory");
  if (g.first() && upcxx::rget(neighbour).wait() != 42)
    wrong_data("rget of 8 bytes from the neighbour's memory");

  auto const get_and_wait = [](upcxx::global_ptr<word> from) {
    return [from](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) keep(upcxx::rget(from).wait());
    };
  };
  auto const load = [](upcxx::global_ptr<word> from) {
    return [at = address_if_local(from)](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) keep(*static_cast<word volatile*>(at));
    };
  };
  row r{.suite = "get", .key = "get.own", .name = "rget().wait(), own memory", .bytes = 8, .limit = "load"};
  served_on(g, r, address_if_local(own), get_and_wait(own), load(own));
  r.key = "get.neighbour";
  r.name = "rget().wait(), neighbour's memory";
  r.peer = "get";
  served_on(g, r, address_if_local(neighbour), get_and_wait(neighbour), load(neighbour));
  g.meet();
  upcxx::delete_(own);
}

void get_arrays(group& g, std::size_t bytes) {
  auto const own = upcxx::new_array<char>(bytes);
  auto const there = upcxx::broadcast(own, 1).wait();
  fill_pattern(own.local(), bytes, g.config().rank);
  std::vector<char> to(bytes);
  g.meet();
  if (g.first()) {
    upcxx::rget(there, to.data(), bytes).wait();
    check_pattern(to.data(), bytes, 1, "rget of an array");
  }
  row const r{.suite = "get",
              .key = "get.array",
              .name = "rget of an array",
              .peer = "get",
              .bytes = bytes,
              .show = "bandwidth",
              .limit = "memcpy"};
  char const* const source = address_if_local(there);
  served_on(
      g, r, source,
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) upcxx::rget(there, to.data(), bytes).wait();
      },
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          std::memcpy(to.data(), source, bytes);
          asm volatile("" : : "r"(to.data()) : "memory");
        }
      });
  g.meet();
  upcxx::delete_array(own);
}

}  // namespace

void run_get(group& g, suite_options const& options) {
  get_words(g);
  for (std::size_t const bytes : options.sizes) get_arrays(g, bytes);
}

}  // namespace atl::bench
