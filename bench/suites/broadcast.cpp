// Broadcasts of all ranks. The root changes with every one, so that it cannot run ahead of the others.

#include <upcxx/upcxx.hpp>
#include <vector>

#include "harness/pattern.hpp"
#include "suites.hpp"

namespace atl::bench {
namespace {

upcxx::intrank_t root_of(std::uint64_t i) {
  return static_cast<upcxx::intrank_t>(i % static_cast<std::uint64_t>(upcxx::rank_n()));
}

void values(group& g) {
  for (int root = 0; root < upcxx::rank_n(); ++root) {
    if (upcxx::broadcast(upcxx::rank_me() * 10 + 1, root).wait() != root * 10 + 1) wrong_data("broadcast");
  }
  row const r{.suite = "broadcast",
              .key = "broadcast",
              .name = "broadcast of a value",
              .peer = "broadcast",
              .bytes = 8};
  g.symmetric(r, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) keep(upcxx::broadcast(i, root_of(i)).wait());
  });
}

void arrays(group& g, std::size_t bytes) {
  std::vector<char> data(bytes);
  for (int root = 0; root < upcxx::rank_n(); ++root) {
    fill_pattern(data.data(), bytes, upcxx::rank_me());
    upcxx::broadcast(data.data(), bytes, root).wait();
    check_pattern(data.data(), bytes, root, "broadcast of an array");
  }
  row const r{.suite = "broadcast",
              .key = "broadcast.array",
              .name = "broadcast of an array",
              .peer = "broadcast",
              .bytes = bytes,
              .show = "bandwidth",
              .most = 1 << 16};
  g.symmetric(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) upcxx::broadcast(data.data(), bytes, root_of(i)).wait();
  });
}

}  // namespace

void run_broadcast(group& g, suite_options const& options) {
  values(g);
  for (std::size_t const bytes : options.sizes) {
    if (bytes > 8 && (upcxx::rank_n() == 2 || bytes <= most_bytes_of_many)) arrays(g, bytes);
  }
}

}  // namespace atl::bench
