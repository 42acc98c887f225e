// The library, or only its heap, ends and begins again: what was left behind disturbs the next one in nothing.

#include <atoll/array.hpp>
#include <atoll/neighbors.hpp>
#include <cstdio>
#include <optional>
#include <upcxx/upcxx.hpp>
#include <vector>

namespace {

/// All that allocates.
struct everything {
  explicit everything(std::vector<int> const& ring)
      : line(atl::domain<1>{{0}, {4 * upcxx::rank_n()}}, {.depth = 1}), around(ring) {}
  atl::dist_array<int, 1> line;
  atl::neighbors around;
};

bool use(std::optional<everything>& all, int salt) {
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  std::vector<int> const ring{(me + 1) % ranks, (me + ranks - 1) % ranks};
  all.emplace(ring);
  for (int i = 0; i < 5; ++i) {
    atl::sync_neighbors(ring);
    all->around.sync();
    for (atl::point<1> const& p : all->line.block()) all->line.local()[p] = salt + me;
    all->line.ghosts().run();
    if (me != 0 && all->line.local()[all->line.block().lower - atl::point{1}] != salt + me - 1) return false;
  }
  return true;
}

}  // namespace

int main() {
  // They end after the library, or are replaced in its next period, or with its next heap.
  std::optional<everything> first;
  std::optional<everything> second;
  bool good = true;
  for (int period = 0; period < 3; ++period) {
    upcxx::init();
    std::optional<everything>& now = period % 2 == 0 ? first : second;
    good &= use(now, 100 * period);
    upcxx::experimental::destroy_heap();
    upcxx::experimental::restore_heap();
    good &= use(now, 100 * period + 50);
    upcxx::barrier();
    upcxx::finalize();
  }
  if (!good) std::puts("WRONG");
  return good ? 0 : 1;
}
