// Snippets of the page on arrays and neighbours.
#include <vector>

#include <atoll/array.hpp>
#include <atoll/neighbors.hpp>
#include <upcxx/upcxx.hpp>

namespace {

void domains() {
  // [domains]
  atl::domain<2> const box{{0, 0}, {8, 8}};            // upper bounds are exclusive
  atl::domain<2> const ghosts = box.border(0, +1, 2);  // {{8, 0}, {10, 8}}
  atl::domain<2> const next = box + atl::point{8, 0};  // the box beside it
  UPCXX_ASSERT_ALWAYS((next & ghosts) == ghosts);
  atl::domain<2> const corner = box.region({1, 1}, -1);  // {{7, 7}, {8, 8}}
  std::size_t visited = 0;
  for (atl::point<2> const& p : box.shrink(1)) visited += box.contains(p) ? 1 : 0;
  // [/domains]
  UPCXX_ASSERT_ALWAYS(visited == 36 && corner.size() == 1);
}

void copies() {
  int const me = upcxx::rank_me();
  int const right = (me + 1) % upcxx::rank_n();
  // [copy]
  // Every rank has ten columns of a long array; dimension 0 is contiguous.
  auto const columns = [](int rank) {
    return atl::domain<2>{{0, 10 * rank}, {6, 10 * rank + 10}};
  };
  auto const mine = atl::make_array<double>(columns(me).grow({0, 1}));
  for (atl::point<2> const& p : columns(me))
    mine[p] = 100 * me + static_cast<double>(p[1]);

  upcxx::dist_object<atl::array<double, 2>> all(mine.view());
  atl::array<double, 2> const theirs = all.fetch(right).wait();
  upcxx::barrier();
  // Of the neighbour's array, the column that is one of my ghosts.
  if (right > me) {
    atl::copy(theirs.restrict_to(columns(right)), mine).wait();
    UPCXX_ASSERT_ALWAYS(mine(2, 10 * right) == 100.0 * right + 10 * right);
  }
  // [/copy]
  upcxx::barrier();
}

void ghosts() {
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  // [halo]
  // Two boxes on each rank, with one layer of ghosts, and two fields in each.
  atl::domain<3> const whole{{0, 0, 0}, {8, 8, 16 * ranks}};
  std::vector<atl::array<double, 3>> boxes;
  std::ptrdiff_t const field = 10 * 10 * 10;  // elements from one to the next
  for (int b = 0; b < 2; ++b) {
    int const k = 8 * (2 * me + b);
    atl::domain<3> const interior{{0, 0, k}, {8, 8, k + 8}};
    boxes.emplace_back(upcxx::new_array<double>(2 * field), interior.grow(1));
  }
  atl::ghost_exchange<double, 3> halo(boxes, 1, atl::shape::faces, whole);
  for (int step = 0; step < 10; ++step) {
    std::ptrdiff_t const from = step % 2 == 0 ? 0 : field;
    for (auto const& box : boxes) {
      box.moved(from)[box.lower() + atl::point{1, 1, 1}] = step;
    }
    halo.run(from, from);
    // The ghosts of this field may be read until the next run.
    for (auto const& box : boxes) {
      atl::point<3> const above = box.lower() + atl::point{1, 1, 9};
      UPCXX_ASSERT_ALWAYS(box.moved(from)[above] == step);
    }
  }
  // [/halo]
  upcxx::barrier();
  for (auto const& box : boxes) upcxx::delete_array(box.data());
}

void distributed() {
  // [distributed]
  atl::dist_array<int, 2> a(atl::domain<2>{{0, 0}, {20, 30}}, {.depth = 1});
  for (atl::point<2> const& p : a.block()) a.local()[p] = upcxx::rank_me();
  a.ghosts().run();
  atl::point<2> const last{19, 29};
  UPCXX_ASSERT_ALWAYS(a.rget(last).wait() == a.owner(last));
  // [/distributed]
  upcxx::barrier();
}

void synchronise() {
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  upcxx::dist_object<upcxx::global_ptr<int>> cells(upcxx::new_array<int>(2));
  auto const right = cells.fetch((me + 1) % ranks).wait();
  // [neighbors]
  std::vector<int> const ring{(me + 1) % ranks, (me + ranks - 1) % ranks};
  atl::neighbors around(ring);
  for (int step = 0; step < 100; ++step) {
    upcxx::rput(step, right + step % 2).wait();
    around.sync();  // the left neighbour has written my word of this step
    UPCXX_ASSERT_ALWAYS(cells->local()[step % 2] == step);
  }
  around.destroy();
  // [/neighbors]
  upcxx::delete_array(*cells);
}

}  // namespace

int main() {
  upcxx::init();
  domains();
  copies();
  ghosts();
  distributed();
  synchronise();
  upcxx::finalize();
}
