// Ranks in a ring: synchronisation with the two neighbours only, and ghost exchange,
// which does it with the data.

#include <atoll/array.hpp>
#include <atoll/neighbors.hpp>
#include <cstring>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "suites.hpp"

namespace atl::bench {
namespace {

constexpr std::ptrdiff_t side = 32;  // cells of a box

void synchronise(group& g, neighbors& around) {
  row const r{.suite = "neighbors", .key = "neighbors.sync", .name = "neighbors::sync in a ring"};
  g.symmetric(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) around.sync();
  });
}

/// Boxes stand on each other, the first on the last: two faces go out and two come in. Fields alternate.
void exchange(group& g, neighbors& around) {
  auto const me = static_cast<std::ptrdiff_t>(g.config().rank);
  auto const ranks = static_cast<std::ptrdiff_t>(g.config().ranks);
  domain<3> const interior{{0, 0, side * me}, {side, side, side * (me + 1)}};
  constexpr std::ptrdiff_t field = (side + 2) * (side + 2) * (side + 2);
  auto const memory = upcxx::new_array<double>(2 * field);
  array<double, 3> const box(memory, interior.grow(1));
  for (point<3> const& p : interior) box[p] = box.moved(field)[p] = static_cast<double>(p[2]);
  domain<3> const period{{0, 0, 0}, {0, 0, side * ranks}};  // in the last dimension only
  ghost_exchange<double, 3> halo({&box, 1}, 1, shape::faces, period);
  halo.run();
  if (box(0, 0, side * (me + 1)) != static_cast<double>(side * (me + 1) % (side * ranks))) {
    wrong_data("ghost_exchange");
  }
  std::size_t const bytes = 2 * side * side * sizeof(double);
  row r{.suite = "neighbors",
        .key = "ghosts.faces",
        .name = "ghost_exchange, two faces of 32^3 doubles",
        .bytes = bytes,
        .show = "bandwidth",
        .limit = "none"};
  g.symmetric(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      std::ptrdiff_t const at = (i & 1U) != 0 ? field : 0;
      halo.run(at, at);
    }
  });

  // The same bytes in one piece, to one neighbour.
  auto const landing = upcxx::new_array<double>(bytes / sizeof(double));
  upcxx::dist_object<upcxx::global_ptr<double>> all(landing);
  auto const there = all.fetch((g.config().rank + 1) % g.config().ranks).wait();
  std::vector<double> const mine(bytes / sizeof(double), 1.0);
  upcxx::barrier();
  r.key = "ghosts.memcpy";
  r.name = "memcpy of the same bytes, and sync";
  // Between hosts nobody can: then it is not measured, on any rank.
  if (on_one_host()) {
    g.symmetric(r, [&, to = there.local()](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        std::memcpy(to, mine.data(), bytes);
        around.sync();
      }
    });
  }
  upcxx::barrier();
  upcxx::delete_array(landing);
  upcxx::delete_array(memory);
}

}  // namespace

void run_neighbors(group& g, suite_options const&) {
  int const ranks = g.config().ranks;
  std::vector<int> const ring{(g.config().rank + 1) % ranks, (g.config().rank + ranks - 1) % ranks};
  neighbors around(ring);
  synchronise(g, around);
  exchange(g, around);
  around.destroy();
}

}  // namespace atl::bench
