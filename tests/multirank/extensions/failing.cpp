// Programs that make one mistake each with the extensions; the first argument names it.

#include <atoll/array.hpp>
#include <atoll/neighbors.hpp>
#include <upcxx/upcxx.hpp>

#include <cstring>
#include <utility>
#include <vector>

namespace {

using atl::array;
using atl::domain;
using atl::point;

struct mistake {
  char const* name;
  void (*make)();
};

constexpr mistake mistakes[] = {
    {"not_mutual",
     [] {
       std::vector<int> list{0};
       if (upcxx::rank_me() == 0) list = {1};  // rank 2 lists rank 0, which does not list it
       atl::neighbors around(list);
     }},
    {"no_such_rank",
     [] {
       std::vector<int> const list{upcxx::rank_n()};
       atl::neighbors around(list);
     }},
    {"destroyed_twice",
     [] {
       atl::neighbors around({});
       around.destroy();
       around.destroy();
     }},
    {"waited_after_move",
     [] {
       atl::neighbors around({});
       auto const moved = std::move(around);
       around.wait();  // NOLINT: the mistake
     }},
    {"tested_after_destroy",
     [] {
       atl::neighbors around({});
       around.destroy();
       if (around.test()) around.destroy();
     }},
    {"negative_ghosts", [] { atl::ghost_exchange<int, 2> halo({}, -1); }},
    {"no_interior",
     [] {
       auto const box = atl::make_array<int>(domain<2>{{0, 0}, {5, 4}});
       atl::ghost_exchange<int, 2> halo({&box.view(), 1}, 2);
     }},
    {"of_another_rank",
     [] {
       auto const mine = atl::make_array<int>(domain<1>{{0}, {4}});
       array<int, 1> const first(upcxx::broadcast(mine.view().data(), 0).wait(), domain<1>{{0}, {4}});
       atl::transfer<int, 1> t({&first, 1}, {});
     }},
    {"too_large_a_grid",
     [] {
       atl::dist_array<int, 2> a(domain<2>{{0, 0}, {5, 4}}, {.grid = point<2>{2, 2}});
     }},
    {"negative_grid",
     [] {
       atl::dist_array<int, 2> a(domain<2>{{0, 0}, {5, 4}}, {.grid = point<2>{-1, -1}});
     }},
    {"negative_depth",
     [] {
       atl::dist_array<int, 1> a(domain<1>{{0}, {5}}, {.depth = -1});
     }},
    {"outside",
     [] {
       auto const mine = atl::make_array<int>(domain<2>{{0, -1}, {4, 4}});
       mine[{3, 4}] = 1;
     }},
    {"started_twice",
     [] {
       auto const mine = atl::make_array<int>(domain<1>{{upcxx::rank_me()}, {upcxx::rank_me() + 1}});
       auto const theirs = atl::make_array<int>(domain<1>{{0}, {3}});
       atl::transfer<int, 1> t({&mine.view(), 1}, {&theirs.view(), 1});
       t.start();
       if (upcxx::rank_me() == 1) t.start();
       t.finish();
     }},
    {"assigned_under_way",
     [] {
       auto const mine = atl::make_array<int>(domain<1>{{upcxx::rank_me()}, {upcxx::rank_me() + 1}});
       auto const theirs = atl::make_array<int>(domain<1>{{0}, {3}});
       atl::transfer<int, 1> t({&mine.view(), 1}, {&theirs.view(), 1});
       t.start();
       if (upcxx::rank_me() == 1) t = {};
       t.finish();
     }},
};

}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  for (mistake const& m : mistakes) {
    if (argc < 2 || std::strcmp(m.name, argv[1]) != 0) continue;
    m.make();
    upcxx::barrier();
    upcxx::finalize();
    return 0;
  }
  return 2;
}
