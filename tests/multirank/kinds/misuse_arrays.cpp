// Misuse of arrays on devices; see misuse.cpp.

#include <cstring>
#include <utility>
#include <vector>

#include <atoll/array.hpp>
#include <atoll/irregular.hpp>
#include <atoll/strided.hpp>
#include <upcxx/upcxx.hpp>

void misuse_arrays(char const* what) {
  auto const is = [what](char const* name) { return std::strcmp(what, name) == 0; };
  constexpr auto kind = upcxx::gpu_default_device::kind;
  using boxes = std::vector<atl::array<int, 1, kind>>;
  auto gpu = upcxx::make_gpu_allocator(1 << 20);
  atl::domain<1> const where{{0}, {100}};
  auto const mine = atl::make_array<int>(gpu, where);
  upcxx::dist_object<atl::array<int, 1, kind>> all(mine.view());
  auto const theirs = all.fetch((upcxx::rank_me() + 1) % upcxx::rank_n()).wait();
  upcxx::barrier();
  if (is("array_theirs")) (void)theirs.data_handle();
  if (is("array_of_another_rank")) {
    // Rank 0 alone is wrong.
    boxes const wrong{upcxx::rank_me() == 0 ? theirs : mine.view()};
    atl::transfer<int, 1, kind> t(boxes{}, wrong);
  }
  if (is("array_beyond")) {
    auto const strided = atl::make_array<int>(gpu, atl::domain<2>{{0, 0}, {10, 10}});
    atl::array<int, 2, kind> const longer(strided.view().data(), {{0, 0}, {10, 90}});
    atl::copy(longer.restrict_to({{3, 0}, {5, 90}}),
              atl::array<int, 2, kind>(mine.view().data(), {{0, 0}, {10, 10}}).translate({0, 80}))
        .wait();
  }
  constexpr std::ptrdiff_t row = 10 * sizeof(int);
  auto const first = mine.view().data();
  if (is("array_strided_null"))
    atl::copy_strided<1>(decltype(first)(), {{row}}, first, {{row}}, {{0}}).wait();
  if (is("array_strided_beyond")) atl::copy_strided<1>(first + 9, {{row}}, first, {{4}}, {{99}}).wait();
  if (is("array_strided_overlaps")) atl::copy_strided<1>(first, {{row}}, first + 1, {{2}}, {{3}}).wait();
  using runs = std::vector<std::pair<decltype(first), std::size_t>>;
  runs const ten{{first, 10}};
  auto const copy_lists = [](runs const& from, runs const& to) {
    atl::copy_irregular(from.begin(), from.end(), to.begin(), to.end()).wait();
  };
  if (is("array_listed_totals")) copy_lists(ten, {{first + 50, 5}, {first + 60, 4}});
  if (is("array_listed_owners")) copy_lists(ten, {{first + 50, 5}, {theirs.data(), 5}});
  if (is("array_listed_null")) copy_lists(ten, {{first + 50, 10}, {nullptr, 0}});
  boxes const one{mine.view()};
  atl::ghost_exchange<int, 1, kind> halo(one, 1, atl::shape::all, where.shrink(1));
  auto const s = atl::make_stream(gpu);
  if (is("array_without_signals")) halo.run(s);
  halo.use_streams(gpu);
  if (is("array_started_twice")) {
    halo.start();
    halo.run(s);
  }
}
