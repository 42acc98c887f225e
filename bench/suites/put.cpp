// Puts that are waited for, one after the other: to own memory, to the neighbour's, and arrays of all sizes.

#include <cstring>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "harness/pattern.hpp"
#include "suites.hpp"

namespace atl::bench {
namespace {

using word = std::uint64_t;

upcxx::global_ptr<word> one_word_each(group& g, upcxx::global_ptr<word>& own) {
  own = upcxx::new_<word>(0);
  auto const neighbour = upcxx::broadcast(own, 1).wait();
  g.meet();
  return neighbour;
}

void check_words(group& g, upcxx::global_ptr<word> own, upcxx::global_ptr<word> neighbour) {
  word const mark = 0x0123456789abcdefU;
  if (g.first()) {
    upcxx::rput(mark, own).wait();
    if (*own.local() != mark) wrong_data("rput of 8 bytes to own memory");
    upcxx::rput(mark + 1, neighbour).wait();
  }
  g.meet();
  if (!g.first() && *own.local() != mark + 1) wrong_data("rput of 8 bytes to the neighbour's memory");
  g.meet();
}

void put_words(group& g) {
  upcxx::global_ptr<word> own;
  auto const neighbour = one_word_each(g, own);
  check_words(g, own, neighbour);

  auto const put_and_wait = [](upcxx::global_ptr<word> to) {
    return [to](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) upcxx::rput(i, to).wait();
    };
  };
  auto const store = [](upcxx::global_ptr<word> to) {
    return [at = address_if_local(to)](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) *static_cast<word volatile*>(at) = i;
    };
  };
  row r{.suite = "put", .key = "put.own", .name = "rput().wait(), own memory", .bytes = 8, .limit = "store"};
  served_on(g, r, address_if_local(own), put_and_wait(own), store(own));
  r.key = "put.neighbour";
  r.name = "rput().wait(), neighbour's memory";
  r.peer = "put";
  word* const there = address_if_local(neighbour);
  served_on(g, r, there, put_and_wait(neighbour), store(neighbour));

  r.key = "put.flood";
  r.name = "rput into a promise, waited for at the end";
  r.peer = "";
  r.show = "rate";
  served_on(
      g, r, there,
      [&](std::uint64_t n) {
        upcxx::promise<> all;
        for (std::uint64_t i = 0; i < n; ++i) upcxx::rput(i, neighbour, upcxx::operation_cx::as_promise(all));
        all.finalize().wait();
      },
      store(neighbour));
  g.meet();
  upcxx::delete_(own);
}

void put_arrays(group& g, std::size_t bytes) {
  auto const own = upcxx::new_array<char>(bytes);
  auto const there = upcxx::broadcast(own, 1).wait();
  std::vector<char> from(bytes);
  fill_pattern(from.data(), bytes, 0);
  std::memset(own.local(), 0, bytes);
  g.meet();
  if (g.first()) upcxx::rput(from.data(), there, bytes).wait();
  g.meet();
  if (!g.first()) check_pattern(own.local(), bytes, 0, "rput of an array");

  row const r{.suite = "put",
              .key = "put.array",
              .name = "rput of an array",
              .peer = "put",
              .bytes = bytes,
              .show = "bandwidth",
              .limit = "memcpy"};
  char* const target = address_if_local(there);
  served_on(
      g, r, target,
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) upcxx::rput(from.data(), there, bytes).wait();
      },
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          std::memcpy(target, from.data(), bytes);
          asm volatile("" : : : "memory");
        }
      });
  g.meet();
  upcxx::delete_array(own);
}

}  // namespace

void run_put(group& g, suite_options const& options) {
  put_words(g);
  for (std::size_t const bytes : options.sizes) put_arrays(g, bytes);
}

}  // namespace atl::bench
