// Kokkos Views over global memory, and copies from and to them: shared heaps, and devices. The latter are
// CUDA's if Kokkos computes there; else simulated ones, whose Views are made and copied, but never touched.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "multirank/kokkos/kokkos_fixture.hpp"

namespace {

using upcxx::memory_kind;
constexpr auto device = memory_kind::cuda_device;
using device_space = atl::kokkos::kokkos_space<device>::type;
using device_matrix = atl::kokkos::shared_view<int**, device, Kokkos::LayoutRight>;
using allocator = upcxx::device_allocator<upcxx::cuda_device>;

int arrivals;

KOKKOS_INLINE_FUNCTION int value(int rank, int i, int j) { return rank * 10000 + i * 100 + j; }

template <class View>
void fill(View const& view, int rank) {
  for (int i = 0; i < static_cast<int>(view.extent(0)); ++i) {
    for (int j = 0; j < static_cast<int>(view.extent(1)); ++j) view(i, j) = value(rank, i, j);
  }
}
template <class View>
int wrong(View const& view, int rank, int first_row = 0, int first_column = 0) {
  int found = 0;
  for (int i = 0; i < static_cast<int>(view.extent(0)); ++i) {
    for (int j = 0; j < static_cast<int>(view.extent(1)); ++j) {
      found += view(i, j) != value(rank, first_row + i, first_column + j) ? 1 : 0;
    }
  }
  return found;
}

/// Views that kernels of Kokkos' default space work on.
using kernel_space = Kokkos::DefaultExecutionSpace;
constexpr auto kernel_kind = atl::kokkos::kind_of<kernel_space>;
template <class DataType>
using kernel_view = atl::kokkos::shared_view<DataType, kernel_kind>;

template <class DataType, class... Extents>
kernel_view<DataType> make_kernel_view([[maybe_unused]] allocator& gpu, Extents... extents) {
  if constexpr (kernel_kind == memory_kind::host) {
    return kernel_view<DataType>(extents...);
  } else {
    return kernel_view<DataType>(gpu, extents...);
  }
}

struct fill_rows {
  kernel_view<int**>::view_type view;
  int rank;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const {
    for (int j = 0; j < static_cast<int>(view.extent(1)); ++j) view(i, j) = value(rank, i, j);
  }
};
struct count_wrong_in_row {
  kernel_view<int*>::view_type view;
  int rank, row;
  KOKKOS_INLINE_FUNCTION void operator()(int j, int& found) const {
    found += view(j) != value(rank, row, j) ? 1 : 0;
  }
};

using pair = std::pair<int, int>;

}  // namespace

TEST_F(kokkos_test, views_over_shared_memory_are_shared_with_peers) {
  atl::kokkos::shared_view<int**> mine(6, 5);
  fill(mine.view(), me);
  upcxx::dist_object<upcxx::global_ptr<int>> all(mine.global_ptr());
  auto const theirs = all.fetch(right).wait();
  upcxx::barrier();
  if (theirs.is_local()) {
    auto const right_view = atl::kokkos::make_view<int const**>(theirs, 6, 5);
    static_assert(decltype(right_view)::traits::memory_traits::is_unmanaged);
    EXPECT_EQ(wrong(right_view, right), 0);
  }
  auto const left_first = atl::kokkos::make_view<int**, Kokkos::LayoutLeft>(mine.global_ptr(), 5, 6);
  EXPECT_EQ(left_first.stride(0), 1u);
  EXPECT_EQ(&atl::kokkos::make_view<int*>(mine.global_ptr(), 30)(7), &mine.view()(1, 2));
  Kokkos::LayoutStride const columns(5, 1, 6, 5);
  EXPECT_EQ((&atl::kokkos::make_view<int**, Kokkos::LayoutStride>(mine.global_ptr(), columns)(3, 2)),
            &mine.view()(2, 3));
  auto const part = Kokkos::subview(mine.view(), pair(2, 4), pair(1, 3));
  EXPECT_EQ(atl::kokkos::global_ptr_of(part), mine.global_ptr() + 11);
  auto moved = std::move(mine);
  EXPECT_FALSE(mine.global_ptr());  // NOLINT
  EXPECT_EQ(moved.view()(1, 1), value(me, 1, 1));
  upcxx::barrier();
}

TEST_F(kokkos_test, owners_that_outlive_their_heap_leave_the_next_one_alone) {
  std::optional<atl::kokkos::shared_view<int*>> some(std::in_place, 1000);
  upcxx::experimental::destroy_heap();
  upcxx::experimental::restore_heap();
  auto const other = upcxx::new_array<int>(1000);  // where the other was
  auto const used = upcxx::shared_segment_used();
  some.reset();
  EXPECT_EQ(upcxx::shared_segment_used(), used);
  upcxx::delete_array(other);
  upcxx::barrier();
}

TEST_F(kokkos_test, owners_free_what_they_hold_and_say_when_there_is_no_room) {
  auto const before = upcxx::shared_segment_used();
  {
    atl::kokkos::shared_view<double***> some(4, 5, 6);
    EXPECT_GT(upcxx::shared_segment_used(), before);
    some = atl::kokkos::shared_view<double***>(1, 1, 0);
    EXPECT_EQ(some.view().size(), 0u);
  }
  EXPECT_EQ(upcxx::shared_segment_used(), before);
  EXPECT_THROW(atl::kokkos::shared_view<double*>(std::size_t{1} << 40), upcxx::bad_shared_alloc);
  auto gpu = upcxx::make_gpu_allocator(1 << 20, atl::kokkos::device_id());
  {
    device_matrix const some(gpu, 10, 10);
    EXPECT_GE(gpu.segment_used(), 400u);
    EXPECT_EQ(atl::kokkos::global_ptr_of(some.view(), gpu), some.global_ptr());
    EXPECT_EQ(atl::kokkos::global_ptr_of(Kokkos::subview(some.view(), 3, Kokkos::ALL()), gpu),
              some.global_ptr() + 30);
    EXPECT_THROW(device_matrix(gpu, 1024, 1024), upcxx::bad_shared_alloc);
  }
  EXPECT_EQ(gpu.segment_used(), 0u);
  gpu.destroy();
}

TEST_F(kokkos_test, host_views_of_any_shape_arrive_at_the_neighbour) {
  atl::kokkos::shared_view<int**> mine(6, 5);
  Kokkos::deep_copy(mine.view(), -1);
  upcxx::dist_object<atl::kokkos::global_view<int, 2>> all(mine.global());
  auto const theirs = all.fetch(right).wait();
  Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> other("other", 6, 5), back("back", 6, 5);
  fill(other, me);
  arrivals = 0;
  upcxx::barrier();
  // Another layout; remote completion runs over there.
  atl::kokkos::copy(Kokkos::DefaultHostExecutionSpace(), other, theirs,
                    upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc([] { ++arrivals; }))
      .wait();
  multirank::spin_until([] { return arrivals == 1; });
  EXPECT_EQ(wrong(mine.view(), left), 0);
  atl::kokkos::copy(theirs, back).wait();
  EXPECT_EQ(wrong(back, me), 0);
  upcxx::barrier();
  // A column goes to flat memory, in the order of its addresses, and comes back as a row.
  std::vector<int> flat(6, 0);
  atl::kokkos::copy(Kokkos::subview(mine.view(), Kokkos::ALL(), 3), flat.data()).wait();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(flat[static_cast<std::size_t>(i)], value(left, i, 3));
  atl::kokkos::copy(flat.data(), Kokkos::subview(mine.view(), 2, pair(0, 5))).wait();
  EXPECT_EQ(mine.view()(2, 4), value(left, 4, 3));
  EXPECT_EQ(mine.view()(3, 4), value(left, 3, 4));
  // Nothing at all is announced, too.
  atl::kokkos::copy(Kokkos::subview(other, pair(0, 0), pair(0, 5)),
                    Kokkos::subview(back, pair(0, 0), pair(0, 5)),
                    upcxx::remote_cx::as_rpc([] { ++arrivals; }));
  multirank::spin_until([] { return arrivals == 2; });
  // Here, where the memory is nobody's.
  atl::kokkos::global_view<int, 2> const nowhere{nullptr, {0, 5}, {5, 1}};
  atl::kokkos::copy(Kokkos::subview(other, pair(0, 0), pair(0, 5)), nowhere,
                    upcxx::remote_cx::as_rpc([] { ++arrivals; }));
  multirank::spin_until([] { return arrivals == 3; });
  upcxx::barrier();
}

TEST_F(kokkos_test, boxes_of_device_views_arrive_whole_before_their_notification) {
  auto gpu = upcxx::make_gpu_allocator(1 << 20, atl::kokkos::device_id());
  {
    device_matrix mine(gpu, 8, 9);
    upcxx::dist_object<upcxx::global_ptr<int, device>> all(mine.global_ptr());
    auto const theirs = all.fetch(right).wait();
    Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> source("source", 8, 9), back("back", 8, 9);
    fill(source, me);
    atl::kokkos::copy(Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace>("none", 8, 9), mine).wait();
    arrivals = 0;
    upcxx::barrier();
    // A box of 4 x 5, by rows, into the neighbour's device; all forms of completion.
    auto const target = atl::kokkos::global_view<int, 2, device>{theirs + 2 * 9 + 3, {4, 5}, {9, 1}};
    auto const box = Kokkos::subview(source, pair(1, 5), pair(2, 7));
    upcxx::promise<> done;
    bool queued = false;
    auto const future =
        atl::kokkos::copy(Kokkos::DefaultExecutionSpace(), box, target,
                          upcxx::operation_cx::as_future() | upcxx::operation_cx::as_promise(done) |
                              upcxx::operation_cx::as_lpc(upcxx::current_persona(), [&] { queued = true; }) |
                              upcxx::remote_cx::as_rpc([](int sender) { arrivals += 100 + sender; }, me));
    upcxx::when_all(future, done.finalize()).wait();
    multirank::spin_until([&] { return arrivals != 0 && queued; });
    EXPECT_EQ(arrivals, 100 + left);
    atl::kokkos::copy(mine, back).wait();
    EXPECT_EQ(wrong(Kokkos::subview(back, pair(2, 6), pair(3, 8)), left, 1, 2), 0);
    EXPECT_EQ(back(1, 3), 0);
    EXPECT_EQ(back(2, 2), 0);
    EXPECT_EQ(back(5, 8), 0);
    // Back from there into another layout, while the call waits.
    Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> turned("turned", 4, 5);
    upcxx::barrier();
    auto const fetched =
        atl::kokkos::copy(target, turned, upcxx::source_cx::as_blocking() | upcxx::operation_cx::as_future());
    EXPECT_EQ(wrong(turned, me, 1, 2), 0);
    fetched.wait();
    // Whole Views of different layouts, there and back: what is contiguous on the device is one copy.
    Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> whole("whole", 8, 9), again("again", 8, 9);
    fill(whole, me);
    upcxx::barrier();
    auto const all_of_it = atl::kokkos::global_view<int, 2, device>{theirs, {8, 9}, {9, 1}};
    arrivals = 0;
    upcxx::barrier();
    auto const sent = atl::kokkos::copy(
        whole, all_of_it, upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc([] { ++arrivals; }));
    multirank::spin_until([&] { return arrivals == 1 && sent.is_ready(); });
    atl::kokkos::copy(mine, again).wait();
    EXPECT_EQ(wrong(again, left), 0);
    upcxx::barrier();
    fill(whole, -1);
    atl::kokkos::copy(all_of_it, whole).wait();
    EXPECT_EQ(wrong(whole, me), 0);
    // Device to device, flat to a column.
    device_matrix column(gpu, 8, 2);
    atl::kokkos::copy(target.data,
                      atl::kokkos::global_view_of(Kokkos::subview(column.view(), pair(0, 5), 1), gpu))
        .wait();
    int held[16];
    atl::kokkos::copy(column, &held[0]).wait();
    EXPECT_EQ(held[2 * 3 + 1], value(me, 2, 6));
    upcxx::barrier();
  }
  gpu.destroy();
}

TEST_F(kokkos_test, parts_of_views_of_others_are_copied) {
  auto gpu = upcxx::make_gpu_allocator(1 << 20, atl::kokkos::device_id());
  {
    device_matrix mine(gpu, 8, 9);
    Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> source("source", 8, 9);
    fill(source, me);
    atl::kokkos::copy(source, mine).wait();
    upcxx::dist_object<atl::kokkos::global_view<int, 2, device>> all(mine.global());
    auto const theirs = all.fetch(right).wait();
    upcxx::barrier();
    auto const box = atl::kokkos::subview(theirs, pair(2, 6), Kokkos::pair<int, int>(3, 8));
    EXPECT_EQ(box.extents, (std::array<std::size_t, 2>{4, 5}));
    Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> part("part", 4, 5);
    atl::kokkos::copy(box, part).wait();
    EXPECT_EQ(wrong(part, right, 2, 3), 0);
    // Of a part a column, and of that an element.
    auto const column = atl::kokkos::subview(box, Kokkos::ALL, 4);
    static_assert(std::is_same_v<decltype(column), atl::kokkos::global_view<int, 1, device> const>);
    Kokkos::View<int*, Kokkos::HostSpace> values("values", 4);
    atl::kokkos::copy(column, values).wait();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(values(i), value(right, 2 + i, 7));
    int one = 0;
    upcxx::copy(atl::kokkos::subview(column, 3).data, &one, 1).wait();
    EXPECT_EQ(one, value(right, 5, 7));
    auto const nothing = atl::kokkos::subview(theirs, pair(8, 8), Kokkos::ALL());
    EXPECT_EQ(nothing.extents[0], 0U);
    upcxx::barrier();
    // Into a part: what is beside it stays.
    atl::kokkos::copy(values, atl::kokkos::subview(theirs, pair(0, 4), 0)).wait();
    upcxx::barrier();
    atl::kokkos::copy(mine, source).wait();
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(source(i, 0), i < 4 ? value(me, 2 + i, 7) : value(me, i, 0));
      EXPECT_EQ(source(i, 1), value(me, i, 1));
    }
    upcxx::barrier();
  }
  gpu.destroy();
}

namespace {

/// Copies the elements of a View, or whatever gives them.
template <class From>
struct take_elements {
  From from;
  typename kernel_view<int*>::view_type into;
  int columns;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const {
    for (int j = 0; j < columns; ++j) into(i * columns + j) = from(i, j);
  }
};
template <class View>
struct add_to_elements {
  View view;
  int more;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const {
    for (int j = 0; j < static_cast<int>(view.extent(1)); ++j) view(i, j) += more;
  }
};

}  // namespace

TEST_F(kokkos_test, kernels_use_elements_of_views_of_others) {
  auto gpu = upcxx::make_gpu_allocator(1 << 20, atl::kokkos::device_id());
  auto team = atl::make_device_team(gpu, upcxx::world(), 60);
  // `reach`: makes a View for kernels.
  auto const check = [&](auto const& mine, auto const& reach) {
    auto const taken = make_kernel_view<int*>(gpu, 12);
    Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> copied("copied", 6, 7);
    fill(copied, me);
    atl::kokkos::copy(copied, mine).wait();
    upcxx::dist_object all(mine.global());
    auto const theirs = atl::kokkos::subview(all.fetch(right).wait(), pair(1, 5), pair(3, 6));
    upcxx::barrier();
    auto const there = reach(theirs);
    // Neither devices nor processors reach what is on another host.
    EXPECT_EQ(there.data() != nullptr, upcxx::local_team_contains(right));
    kernel_space const stream;
    if (there.data() != nullptr) {
      Kokkos::parallel_for(Kokkos::RangePolicy<kernel_space>(stream, 0, 4),
                           take_elements<std::remove_const_t<decltype(there)>>{there, taken.view(), 3});
      stream.fence();
      int found[12];
      atl::kokkos::copy(taken, &found[0]).wait();
      for (int k = 0; k < 12; ++k) EXPECT_EQ(found[k], value(right, 1 + k / 3, 3 + k % 3));
    }
    upcxx::barrier();
    if (there.data() != nullptr) {
      Kokkos::parallel_for(Kokkos::RangePolicy<kernel_space>(stream, 0, 4),
                           add_to_elements<std::remove_const_t<decltype(there)>>{there, 1000000});
      stream.fence();
    }
    upcxx::barrier();
    atl::kokkos::copy(mine, copied).wait();
    int const more = upcxx::local_team_contains(left) ? 1000000 : 0;
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 7; ++j) {
        bool const inside = i >= 1 && i < 5 && j >= 3 && j < 6;
        EXPECT_EQ(copied(i, j), value(me, i, j) + (inside ? more : 0)) << i << ", " << j;
      }
    }
    upcxx::barrier();
  };
  auto const by_team = [&](auto const& where) { return atl::kokkos::kernel_view(team, where); };
  check(device_matrix(gpu, 6, 7), by_team);
  check(atl::kokkos::shared_view<int**>(6, 7), by_team);
  if constexpr (kernel_kind == memory_kind::host) {
    check(atl::kokkos::shared_view<int**>(6, 7),
          [](auto const& where) { return atl::kokkos::kernel_view(where); });
  }
  team.destroy();
  gpu.destroy();
}

namespace {

/// Turns a part of a View round, element by element.
struct transpose_elements {
  template <class From, class To>
  ATOLL_ANYWHERE void operator()(atl::device_team team, From from, To to) const {
    auto const block = atl::device::this_block();
    auto const rows = static_cast<int>(from.extent(0));
    auto const columns = static_cast<int>(from.extent(1));
    for (int k = static_cast<int>(block.rank()); k < rows * columns; k += static_cast<int>(block.size()))
      to.put(from.get(k / columns, k % columns), k % columns, k / columns);
    team.quiet(block);
  }
};

}  // namespace

TEST_F(kokkos_test, kernels_get_and_put_elements_of_any_rank) {
  auto gpu = upcxx::make_gpu_allocator(1 << 20, atl::kokkos::device_id());
  auto team = atl::make_device_team(gpu, upcxx::world(), 60);
  auto const stream = atl::make_stream(gpu);
  {
    device_matrix mine(gpu, 6, 7);
    Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> source("source", 6, 7);
    fill(source, me);
    atl::kokkos::copy(source, mine).wait();
    atl::kokkos::shared_view<int**> turned(5, 5);
    Kokkos::deep_copy(turned.view(), -1);
    upcxx::dist_object<atl::kokkos::global_view<int, 2, device>> all(mine.global());
    upcxx::dist_object<atl::kokkos::global_view<int, 2>> all_turned(turned.global());
    // Of the right neighbour's device into the left one's heap.
    atl::kokkos::remote_view const from(
        team, atl::kokkos::subview(all.fetch(right).wait(), pair(2, 5), pair(1, 6)));
    atl::kokkos::remote_view const to(
        team, atl::kokkos::subview(all_turned.fetch(left).wait(), Kokkos::ALL, pair(1, 4)));
    EXPECT_EQ(to.extent(1), 3U);
    EXPECT_EQ(from.is_reached(), upcxx::local_team_contains(right));
    upcxx::barrier();
    atl::device::launch(team, stream, {1, 32}, transpose_elements{}, team, from, to);
    atl::wait(stream);
    upcxx::barrier();
    int const owner = (right + 1) % upcxx::rank_n();
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 5; ++j) {
        bool const inside = j >= 1 && j < 4;
        EXPECT_EQ(turned.view()(i, j), inside ? value(owner, 2 + (j - 1), 1 + i) : -1) << i << ", " << j;
      }
    }
    upcxx::barrier();
  }
  team.destroy();
  gpu.destroy();
}

TEST_F(kokkos_test, memory_that_kokkos_allocated_serves_as_a_segment) {
  constexpr std::size_t page = 64 << 10;
  Kokkos::View<char*, device_space> memory("memory", 3 * page);
  auto const begin = reinterpret_cast<std::uintptr_t>(memory.data());
  auto const skipped = (begin + page - 1) / page * page - begin;
  upcxx::cuda_device opened(std::max(0, atl::kokkos::device_id()));
  allocator gpu(opened, page, memory.data() + skipped);
  {
    Kokkos::View<int**, Kokkos::LayoutRight, device_space, Kokkos::MemoryUnmanaged> const view(
        reinterpret_cast<int*>(memory.data() + skipped), 7, 9);
    auto const described = atl::kokkos::global_view_of(Kokkos::subview(view, pair(1, 3), pair(0, 9)), gpu);
    EXPECT_EQ(described.data.where(), me);
    Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> source("source", 2, 9), back("back", 2, 9);
    fill(source, me);
    atl::kokkos::copy(source, described).wait();
    atl::kokkos::copy(described, back).wait();
    EXPECT_EQ(wrong(back, me), 0);
  }
  opened.destroy();
}

TEST_F(kokkos_test, what_kernels_of_an_instance_wrote_is_copied_to_where_kernels_read_it) {
  auto gpu = upcxx::make_gpu_allocator(1 << 20, atl::kokkos::device_id());
  {
    auto const mine = make_kernel_view<int**>(gpu, 6, 500);
    auto const packed = make_kernel_view<int*>(gpu, 500);
    auto const halo = make_kernel_view<int*>(gpu, 500);
    upcxx::dist_object<atl::kokkos::global_view<int, 1, kernel_kind>> halos(halo.global());
    auto const theirs = halos.fetch(right).wait();
    arrivals = 0;
    upcxx::barrier();
    kernel_space const stream;
    for (int round = 1; round <= 3; ++round) {
      Kokkos::parallel_for(Kokkos::RangePolicy<kernel_space>(stream, 0, 6),
                           fill_rows{mine.view(), me + round});
      // On devices a row is a stride apart: a kernel packs it, in the same stream.
      Kokkos::deep_copy(stream, packed.view(), Kokkos::subview(mine.view(), 2, Kokkos::ALL()));
      auto const sent =
          atl::kokkos::copy(stream, packed, theirs,
                            upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc([] { ++arrivals; }));
      multirank::spin_until([&] { return arrivals == round && sent.is_ready(); });
      int wrong = -1;
      Kokkos::parallel_reduce(Kokkos::RangePolicy<kernel_space>(stream, 0, 500),
                              count_wrong_in_row{halo.view(), left + round, 2}, wrong);
      EXPECT_EQ(wrong, 0);
      upcxx::barrier();
    }
  }
  gpu.destroy();
}
