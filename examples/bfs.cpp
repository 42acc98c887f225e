// Breadth-first search of a graph whose vertices are dealt out to the ranks.
//
// Level by level: each rank looks at its part of the frontier, collects the neighbours by owner and sends
// them as views; owners keep those that are new. A reduction tells when no rank has any.
//
//   atoll run -n 4 ./bfs [vertices]

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

using vertex = long;

/// The graph: each vertex has a few neighbours, near ones and far ones.
template <class Visit>
void for_each_neighbour(vertex v, vertex n, Visit visit) {
  visit((2 * v + 1) % n);
  visit((3 * v + 5) % n);
  visit((v + 1) % n);
}

struct part {
  std::vector<int> level;  // of my vertices, -1 where unknown
  std::vector<vertex> next;
};

std::vector<int> serial_search(vertex n) {
  std::vector<int> level(static_cast<std::size_t>(n), -1);
  std::vector<vertex> frontier{0};
  level[0] = 0;
  for (int depth = 1; !frontier.empty(); ++depth) {
    std::vector<vertex> next;
    for (vertex const v : frontier) {
      for_each_neighbour(v, n, [&](vertex w) {
        if (level[static_cast<std::size_t>(w)] != -1) return;
        level[static_cast<std::size_t>(w)] = depth;
        next.push_back(w);
      });
    }
    frontier.swap(next);
  }
  return level;
}

}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  vertex const n = argc > 1 ? std::atol(argv[1]) : 50000;
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  auto const owner = [ranks](vertex v) { return static_cast<std::size_t>(v % ranks); };

  upcxx::dist_object<part> mine(part{std::vector<int>(static_cast<std::size_t>(n / ranks + 1), -1), {}});
  std::vector<vertex> frontier;
  if (me == 0) {
    mine->level[0] = 0;
    frontier.push_back(0);
  }

  int depth = 0;
  long reached = 1;
  for (long size = 1; size > 0;) {
    ++depth;
    std::vector<std::vector<vertex>> outgoing(static_cast<std::size_t>(ranks));
    for (vertex const v : frontier) {
      for_each_neighbour(v, n, [&](vertex w) { outgoing[owner(w)].push_back(w); });
    }
    upcxx::promise<> sent;
    for (int r = 0; r < ranks; ++r) {
      auto const& list = outgoing[static_cast<std::size_t>(r)];
      if (list.empty()) continue;
      upcxx::rpc(
          r, upcxx::operation_cx::as_promise(sent),
          [](upcxx::dist_object<part>& here, upcxx::view<vertex> found, int level) {
            for (vertex const w : found) {
              int& known = here->level[static_cast<std::size_t>(w / upcxx::rank_n())];
              if (known != -1) continue;
              known = level;
              here->next.push_back(w);
            }
          },
          mine, upcxx::make_view(list), depth);
    }
    sent.finalize().wait();
    upcxx::barrier();  // everybody's lists have arrived
    frontier.clear();
    frontier.swap(mine->next);
    size = upcxx::reduce_all(static_cast<long>(frontier.size()), upcxx::op_fast_add).wait();
    reached += size;
  }

  std::vector<int> const expected = serial_search(n);
  bool correct = true;
  for (vertex v = me; v < n; v += ranks) {
    correct =
        correct && mine->level[static_cast<std::size_t>(v / ranks)] == expected[static_cast<std::size_t>(v)];
  }
  correct = upcxx::reduce_all(correct, upcxx::op_fast_bit_and).wait();
  if (me == 0) {
    std::printf("%ld of %ld vertices reached in %d levels on %d ranks: %s\n", reached, n, depth - 1, ranks,
                correct ? "correct" : "WRONG");
  }
  upcxx::barrier();
  upcxx::finalize();
  return correct ? 0 : 1;
}
