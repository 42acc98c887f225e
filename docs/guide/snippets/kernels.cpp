// Snippets of the page on communication by kernels. ATOLL_SIM_DEVICES=1 gives every machine a device.
#include <atoll/stream_reduction.cuh>

// [kernel]
#include <atoll/device.cuh>
#include <upcxx/upcxx.hpp>

constexpr auto kind = upcxx::gpu_default_device::kind;
template <class T>
using gpu_ptr = upcxx::global_ptr<T, kind>;
constexpr std::size_t cells = 100;

/// What a rank's kernel needs: own memory by address, that of others by global pointer.
struct places {
  double *plane, *ghost;
  std::uint64_t *news, *credit;
  gpu_ptr<double> their_ghost;  // of the right neighbour
  gpu_ptr<std::uint64_t> their_news;
  gpu_ptr<std::uint64_t> their_credit;  // of the left one
};

struct exchange {
  ATOLL_ANYWHERE void operator()(atl::device_team team, places at,
                                 std::uint64_t steps) const {
    auto const block = atl::device::this_block();
    for (std::uint64_t step = 1; step <= steps; ++step) {
      for (std::size_t i = block.rank(); i < cells; i += block.size())
        at.plane[i] += 1;
      block.sync();  // each thread sends what others wrote
      team.put_signal(block, at.plane, at.their_ghost, cells, at.their_news, step);
      if (!team.wait(block, at.news, step)) return;  // given up
      // ... the left one's plane has come: work on at.ghost ...
      team.signal(block, at.their_credit, step);  // it may be overwritten
      if (!team.wait(block, at.credit, step)) return;
    }
  }
};
// [/kernel]

// [stamped]
/// A number goes around the ring, from kernel to kernel.
struct pass_on {
  ATOLL_ANYWHERE void operator()(atl::device_team team, atl::stamped const* mine,
                                 gpu_ptr<atl::stamped> theirs,
                                 double* result) const {
    if (atl::device::this_block().rank() != 0) return;
    if (team.rank_me() == 0) team.put_stamped(1.0, 1, theirs);
    double const x = team.wait_stamped<double>(mine, 1);
    if (team.rank_me() != 0) team.put_stamped(x + 1, 1, theirs);
    *result = x;
  }
};
// [/stamped]

// [together]
struct sum_up {
  ATOLL_ANYWHERE void operator()(atl::device_team team, double* values) const {
    auto const grid = atl::device::this_grid();
    double const sum =
        team.reduce_all(grid, values[0], [](double a, double b) { return a + b; });
    team.barrier(grid);
    if (grid.rank() == 0) values[1] = sum;
  }
};
// [/together]

// [atomics]
/// Each block takes numbers from one counter of the job.
struct take_work {
  ATOLL_ANYWHERE void operator()(atl::device_team team, gpu_ptr<std::uint64_t> next,
                                 gpu_ptr<std::uint64_t> done,
                                 std::uint64_t all) const {
    if (atl::device::this_block().rank() != 0) return;
    bool given_up = false;
    while (team.fetch_add(next, 1, &given_up) < all && !given_up) {
      // ... the work of that number ...
      team.signal(atl::device::this_thread(), done, 1, atl::signal_op::add);
    }
  }
};
// [/atomics]

// [notice]
struct tell {
  ATOLL_ANYWHERE void operator()(atl::device_team team, std::int32_t rank) const {
    if (atl::device::this_grid().rank() == 0) team.notify(rank, 7, 42);
  }
};
// [/notice]

/// A pointer of another rank.
template <class T>
T of_rank(int rank, T const& mine) {
  upcxx::dist_object<T> all(mine);
  T const theirs = all.fetch(rank).wait();
  upcxx::barrier();
  return theirs;
}

template <class T>
gpu_ptr<T> zeros(upcxx::device_allocator<upcxx::gpu_default_device>& gpu,
                 std::size_t count) {
  auto const p = gpu.allocate<T>(count, 16);
  T const none[cells] = {};
  upcxx::copy(none, p, count).wait();
  return p;
}

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  int const right = (me + 1) % ranks;
  int const left = (me + ranks - 1) % ranks;
  auto gpu = upcxx::make_gpu_allocator(1 << 20);
  auto const plane = zeros<double>(gpu, cells);
  auto const ghost = zeros<double>(gpu, cells);
  auto const words = zeros<std::uint64_t>(gpu, 4);
  // [team]
  auto team = atl::make_device_team(gpu, upcxx::world(), 60);  // collective, once
  auto const s = atl::make_stream(gpu);  // or the program's own cudaStream_t
  // [/team]
  auto const their_ghost = of_rank(right, ghost);
  auto const right_words = of_rank(right, words);
  auto const left_words = of_rank(left, words);
  // [launch]
  places const at{team.local(plane),     team.local(ghost), team.local(words),
                  team.local(words + 1), their_ghost,       right_words,
                  left_words + 1};
  atl::device::launch(team, s, {1, 128}, exchange{}, team, at, std::uint64_t{10});
  atl::wait(s);  // with progress, which kernels may need
  // [/launch]
  double values[cells];
  upcxx::copy(ghost, values, cells).wait();
  for (double const x : values) UPCXX_ASSERT_ALWAYS(x == 10);

  auto const pair = zeros<atl::stamped>(gpu, 1);
  auto const result = zeros<double>(gpu, 2);
  atl::device::launch(team, s, {1, 32}, pass_on{}, team, team.local(pair),
                      of_rank(right, pair), team.local(result));
  atl::wait(s);
  upcxx::copy(result, values, 1).wait();
  UPCXX_ASSERT_ALWAYS(values[0] == (me == 0 ? ranks : me));

  // [most]
  int const most = team.max_blocks(sum_up{}, 128, 0, team, team.local(result));
  auto const blocks = static_cast<unsigned>(most < 4 ? most : 4);
  atl::device::launch(team, s, {blocks, 128}, sum_up{}, team, team.local(result));
  // [/most]
  atl::wait(s);
  upcxx::copy(result, values, 2).wait();
  UPCXX_ASSERT_ALWAYS(values[1] == (ranks + 1) * ranks / 2.0);

  auto const counters = of_rank(0, words + 2);
  atl::device::launch(team, s, {2, 32}, take_work{}, team, counters, counters + 1,
                      std::uint64_t{50});
  // [counted]
  if (me == 0)
    atl::wait(s, words + 3, 50);  // what follows in s comes after all of it
  atl::wait(s);
  // [/counted]
  upcxx::barrier();
  std::uint64_t numbers[4];
  upcxx::copy(words, numbers, 4).wait();
  UPCXX_ASSERT_ALWAYS(me != 0 || numbers[3] == 50);

  // [hear]
  static bool heard = false;
  team.on_notice(7, [left](std::int32_t from, std::uint64_t argument) {
    heard = from == left && argument == 42;
  });
  upcxx::barrier();  // everybody can be told
  atl::device::launch(team, s, {1, 32}, tell{}, team, right);
  while (!heard) upcxx::progress();
  // [/hear]
  atl::wait(s);

  // [sums]
  atl::stream_reduction sums(gpu, upcxx::world(), cells);  // collective, once
  sums.reduce_all(s, plane, ghost, cells, atl::device::greatest{});
  atl::wait(s);    // or kernels that read what is in `ghost` now
  sums.destroy();  // collective
  // [/sums]
  upcxx::copy(plane, values, cells).wait();
  double found[cells];
  upcxx::copy(ghost, found, cells).wait();
  for (std::size_t i = 0; i < cells; ++i) {
    UPCXX_ASSERT_ALWAYS(found[i] ==
                        upcxx::reduce_all(values[i], upcxx::op_fast_max).wait());
  }

  // [end]
  team.destroy();  // collective, when its kernels have ended, before gpu.destroy()
  // [/end]
  gpu.deallocate(plane);
  gpu.deallocate(ghost);
  gpu.deallocate(words);
  gpu.deallocate(pair);
  gpu.deallocate(result);
  upcxx::barrier();
  gpu.destroy();
  upcxx::finalize();
}
