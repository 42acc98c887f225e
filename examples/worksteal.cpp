// Work stealing: counts the nodes of an unbalanced tree. A rank without work takes half of another's.
//
// All work begins on rank 0. An atomic counter of tasks that are not done tells when all is over: a task adds
// its children before it takes itself away.
//
//   atoll run -n 4 ./worksteal [depth]

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

struct task {
  std::uint64_t seed;
  int depth;
};

/// The tree: how many children a node has looks random, but depends on the node only.
std::vector<task> children_of(task const& t) {
  std::uint64_t const hash = (t.seed ^ t.seed >> 29) * 0xbf58476d1ce4e5b9u;
  std::uint64_t const count = t.depth <= 0 ? 0 : (hash >> 40) % 4;
  std::vector<task> children;
  for (std::uint64_t i = 0; i < count; ++i) {
    children.push_back({hash + i * 0x9e3779b97f4a7c15u, t.depth - 1});
  }
  return children;
}

std::vector<task> roots(int depth) {
  std::vector<task> all;
  for (std::uint64_t i = 1; i <= 50; ++i) all.push_back({i * 7919, depth});
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  int const depth = argc > 1 ? std::atoi(argv[1]) : 14;
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();

  using queue = std::deque<task>;
  upcxx::dist_object<queue> mine(queue{});
  if (me == 0) {
    for (task const& t : roots(depth)) mine->push_back(t);
  }
  upcxx::atomic_domain<std::int64_t> atomics({upcxx::atomic_op::add, upcxx::atomic_op::load});
  upcxx::global_ptr<std::int64_t> open =
      me == 0 ? upcxx::new_<std::int64_t>(static_cast<std::int64_t>(mine->size())) : nullptr;
  open = upcxx::broadcast(open, 0).wait();

  std::mt19937 random(static_cast<unsigned>(me));
  long done = 0;
  long stolen = 0;
  for (;;) {
    while (!mine->empty()) {
      task const t = mine->back();  // the youngest: the oldest are the largest, and go to thieves
      mine->pop_back();
      std::vector<task> const children = children_of(t);
      atomics.add(open, static_cast<std::int64_t>(children.size()) - 1, std::memory_order_relaxed).wait();
      mine->insert(mine->end(), children.begin(), children.end());
      if (++done % 16 == 0) upcxx::progress();  // thieves may come in
    }
    if (atomics.load(open, std::memory_order_relaxed).wait() == 0) break;
    if (ranks == 1) continue;
    int const victim = (me + 1 + static_cast<int>(random() % static_cast<unsigned>(ranks - 1))) % ranks;
    std::vector<task> const loot = upcxx::rpc(
                                       victim,
                                       [](upcxx::dist_object<queue>& theirs) {
                                         auto const half = static_cast<std::ptrdiff_t>(theirs->size() / 2);
                                         std::vector<task> taken(theirs->begin(), theirs->begin() + half);
                                         theirs->erase(theirs->begin(), theirs->begin() + half);
                                         return taken;
                                       },
                                       mine)
                                       .wait();
    stolen += static_cast<long>(loot.size());
    mine->insert(mine->end(), loot.begin(), loot.end());
  }

  long expected = 0;
  for (std::vector<task> stack = roots(depth); !stack.empty(); ++expected) {
    task const t = stack.back();
    stack.pop_back();
    for (task const& child : children_of(t)) stack.push_back(child);
  }
  long const total = upcxx::reduce_all(done, upcxx::op_fast_add).wait();
  long const moved = upcxx::reduce_all(stolen, upcxx::op_fast_add).wait();
  if (me == 0) {
    std::printf("%ld nodes on %d ranks, %ld of them stolen: %s\n", total, ranks, moved,
                total == expected ? "correct" : "WRONG");
  }
  upcxx::barrier();
  atomics.destroy();
  if (me == 0) upcxx::delete_(open);
  upcxx::finalize();
  return total == expected ? 0 : 1;
}
