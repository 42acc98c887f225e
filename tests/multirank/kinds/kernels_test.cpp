// Communication by kernels: played by threads of the host on simulated devices, and, compiled for CUDA, on GPUs.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <atoll/graph.hpp>
#include <atoll/stream_reduction.cuh>

#include "multirank/kinds/stream_fixture.hpp"

namespace {

template <class T>
using any_ptr = upcxx::global_ptr<T, upcxx::memory_kind::any>;
using atl::device_team;
using words_ptr = gpu_ptr<std::uint64_t>;
namespace on = atl::device;

constexpr std::size_t most_ranks = 8;
constexpr std::size_t count = 1000;

/// A pointer of each rank.
template <class Pointer>
struct pointers {
  Pointer of[most_ranks];
};

// Kernels. Each is a small program of its own.

struct put_to_all {
  ATOLL_ANYWHERE void operator()(device_team team, int const* from, pointers<any_ptr<int>> to,
                                 pointers<words_ptr> news) const {
    auto const block = on::this_block();
    for (int r = 0; r < team.rank_n(); ++r) {
      // Odd sizes and places: pieces of all sizes.
      team.put_signal(block, from + 1, to.of[r] + 1 + team.rank_me() * static_cast<int>(count), count - 3,
                      news.of[r], 1, atl::signal_op::add);
    }
  }
};

struct count_one {
  ATOLL_ANYWHERE void operator()(int* value) const { ++*value; }
};

struct wait_then_read {
  ATOLL_ANYWHERE void operator()(device_team team, std::uint64_t const* news, int const* all,
                                 int* wrong) const {
    if (!team.wait(on::this_block(), news, static_cast<std::uint64_t>(team.rank_n()))) return;
    if (on::this_block().rank() != 0) return;
    for (int r = 0; r < team.rank_n(); ++r) {
      for (std::size_t i = 0; i < count; ++i) {
        bool const outside = i == 0 || i + 2 >= count;
        int const expected = outside ? -1 : 1000000 * r + static_cast<int>(i);
        if (all[r * static_cast<int>(count) + static_cast<int>(i)] != expected) ++*wrong;
      }
    }
  }
};

template <class Scope>
struct get_all {
  ATOLL_ANYWHERE void operator()(device_team team, pointers<any_ptr<int>> from, int* into) const {
    for (int r = 0; r < team.rank_n(); ++r)
      team.get(Scope{}, from.of[r], into + r * static_cast<int>(count), count);
  }
};

struct strided {
  ATOLL_ANYWHERE void operator()(device_team team, int const* from, gpu_ptr<int> to, words_ptr news) const {
    // 10 rows of 7, 20 apart here and 31 apart there.
    team.put_strided(on::this_block(), from, 20, to, 31, 7, 10);
    team.quiet(on::this_block());
    team.signal(on::this_block(), news, 5);
  }
};

/// 10 rows of 7 of each rank, every other one; what is between them stays.
struct strided_of_all {
  ATOLL_ANYWHERE void operator()(device_team team, pointers<any_ptr<int const>> from, int* into) const {
    for (int r = 0; r < team.rank_n(); ++r)
      team.get_strided(on::this_block(), from.of[r] + 3, 20, into + 250 * r, 24, 7, 10);
  }
};

struct values_around {
  ATOLL_ANYWHERE void operator()(device_team team, gpu_ptr<double> to, gpu_ptr<short> small,
                                 words_ptr their_news, std::uint64_t const* news) const {
    if (on::this_grid().rank() != 0) return;
    team.put(1.5 * team.rank_me(), to);
    team.put(static_cast<short>(team.rank_me()), small);
    team.fence();
    team.put_signal(2.5 * team.rank_me(), to + 1, their_news, 7);
    team.wait(on::this_thread(), news, 7, atl::signal_cmp::equal);
  }
};

struct values_from_all {
  ATOLL_ANYWHERE void operator()(device_team team, pointers<any_ptr<double const>> numbers,
                                 pointers<any_ptr<short>> small, double* found, short* small_found) const {
    auto const block = on::this_block();
    for (int r = static_cast<int>(block.rank()); r < team.rank_n(); r += static_cast<int>(block.size())) {
      found[r] = team.get(numbers.of[r] + 1);
      small_found[r] = team.get(small.of[r] + 3);
    }
  }
};

struct stamps_around {
  ATOLL_ANYWHERE void operator()(device_team team, gpu_ptr<atl::stamped> theirs, atl::stamped const* mine,
                                 std::uint64_t* sum) const {
    std::uint64_t total = 0;
    // The next one is written when this one was read, since the ring is as long as all of them.
    for (std::uint64_t i = 1; i <= 50; ++i) {
      if (team.rank_me() == 0) team.put_stamped(i * 10, i, theirs);
      std::uint64_t const x = team.wait_stamped<std::uint64_t>(mine, i);
      total += x;
      if (team.rank_me() != 0) team.put_stamped(x + 1, i, theirs);
    }
    *sum = total;
  }
};

struct signals_in_turn {
  ATOLL_ANYWHERE void operator()(device_team team, pointers<words_ptr> rows, std::uint64_t* mine,
                                 std::uint64_t* seen) const {
    // To everybody's row, in the own place.
    auto const me = team.rank_me();
    for (int r = 0; r < team.rank_n(); ++r) team.signal(on::this_thread(), rows.of[r] + me, 3);
    auto const n = static_cast<std::size_t>(team.rank_n());
    seen[0] = team.wait_any(mine, n, 3) < n ? 1 : 0;
    std::size_t which[most_ranks];
    seen[1] = team.wait_some(mine, n, 3, which);
    team.wait_all(on::this_thread(), mine, n, 3);
    seen[2] = team.wait_some(mine, n, 3, which);
    seen[3] = team.test(mine, 4) ? 1 : 0;
    seen[4] = team.fetch(mine + me);
    seen[5] = team.reset(mine + me);
    seen[6] = team.fetch(mine + me);
  }
};

struct barriers {
  ATOLL_ANYWHERE void operator()(device_team team, words_ptr counter, std::uint64_t* wrong,
                                 std::uint64_t rounds) const {
    auto const grid = on::this_grid();
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      if (grid.rank() == 0) team.fetch_add(counter, 1);
      team.barrier(grid);
      // Nobody leaves before the last has come.
      if (grid.rank() == 0 && team.load(counter) < i * static_cast<std::uint64_t>(team.rank_n())) ++*wrong;
      team.barrier(grid);
      if (grid.rank() == 0 && team.load(counter) > (i + 1) * static_cast<std::uint64_t>(team.rank_n()))
        ++*wrong;
    }
  }
};

struct reductions {
  ATOLL_ANYWHERE void operator()(device_team team, double* sums, std::int64_t* least) const {
    bool given_up = false;
    for (int i = 0; i < 20; ++i) {
      sums[i] = team.reduce_all(
          on::this_thread(), 0.1 * (team.rank_me() + 1) + i, [](double a, double b) { return a + b; },
          &given_up);
      if (given_up) return;
      least[i] = team.reduce_all(on::this_thread(), std::int64_t{10} * i - team.rank_me(),
                                 [](std::int64_t a, std::int64_t b) { return a < b ? a : b; });
    }
  }
};

struct reduction_by_all {
  ATOLL_ANYWHERE void operator()(device_team team, std::uint64_t* sums) const {
    auto const grid = on::this_grid();
    auto const sum =
        team.reduce_all(grid, std::uint64_t{1}, [](std::uint64_t a, std::uint64_t b) { return a + b; });
    if (on::this_block().rank() == 0) sums[on::block::index()] = sum;
  }
};

struct additions {
  ATOLL_ANYWHERE void operator()(device_team team, words_ptr word, std::uint64_t times) const {
    if (on::this_block().rank() != 0) return;
    for (std::uint64_t i = 0; i < times; ++i) {
      team.fetch_add(word, 1);
      team.signal(on::this_thread(), word + 1, 2, atl::signal_op::add);
      for (;;) {  // a third way
        std::uint64_t const x = team.load(word + 2);
        if (team.compare_exchange(word + 2, x, x + 3) == x) break;
      }
    }
    team.exchange(word + 3, 77);
  }
};

struct notices {
  ATOLL_ANYWHERE void operator()(device_team team, int n) const {
    if (on::this_grid().rank() != 0) return;
    for (int r = 0; r < n; ++r) {
      team.notify(r, 4, static_cast<std::uint64_t>(team.rank_me()) * 100);
      team.notify(r, 5, 1);
    }
  }
};

struct many_notices {
  ATOLL_ANYWHERE void operator()(device_team team, int rank, int n) const {
    if (on::this_grid().rank() != 0) return;
    for (int i = 1; i <= n; ++i) team.notify(rank, 4, static_cast<std::uint64_t>(i));
  }
};

struct flood {
  ATOLL_ANYWHERE void operator()(device_team team, gpu_ptr<std::uint64_t> to, std::uint64_t n,
                                 words_ptr news) const {
    if (on::this_block().rank() != 0) return;
    auto const blocks = on::block::count();
    for (std::uint64_t i = on::block::index(); i < n; i += blocks)
      team.put(i + 1, to + static_cast<std::ptrdiff_t>(i));
    team.quiet(on::this_thread());
    team.signal(on::this_thread(), news, 1, atl::signal_op::add);
  }
};

}  // namespace

class kernels_test : public stream_fixture {
 protected:
  void SetUp() override {
    stream_fixture::SetUp();
    if (IsSkipped()) return;
    team_.emplace(atl::make_device_team(gpu_, upcxx::world(), 60));
    stream_.emplace(atl::make_stream(gpu_));
  }
  void TearDown() override {
    stream_.reset();
    if (team_) team_->destroy();
    stream_fixture::TearDown();
  }

  template <class Pointer>
  static auto of_ranks(Pointer const& mine) {
    pointers<Pointer> all{};
    auto const each = of_all(mine);
    std::copy_n(each.begin(), std::min(each.size(), most_ranks), all.of);
    return all;
  }
  template <class Kernel, class... Args>
  void run(on::grid_shape shape, Kernel kernel, Args... args) {
    on::launch(*team_, *stream_, shape, kernel, *team_, args...);
    atl::wait(*stream_);
  }
  template <class T>
  T* here(gpu_ptr<T> p) const {
    return team_->local(p);
  }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(upcxx::rank_n()); }

  bool const sharing_ = std::getenv("ATOLL_GPU_SHARING") == nullptr;
  std::optional<device_team> team_;
  std::optional<atl::owned_stream> stream_;
};

TEST_F(kernels_test, reach_what_their_device_reaches) {
  auto const mine = filled<int>(4, 0);
  auto const heap = upcxx::new_array<int>(4);
  ASSERT_NE(team_->local(mine), nullptr);
  EXPECT_EQ(team_->local(mine + 3), team_->local(mine) + 3);
  EXPECT_NE(team_->local(heap), nullptr);
  EXPECT_EQ(team_->local(mine, mib), nullptr);  // beyond the segment's end
  for (auto const& theirs : of_all(mine)) {
    bool const shared = sharing_ && upcxx::local_team().from_world(theirs.where(), -1) >= 0;
    EXPECT_EQ(team_->local(theirs) != nullptr, shared || theirs.where() == me);
  }
  upcxx::barrier();
  upcxx::delete_array(heap);
}

TEST_F(kernels_test, are_captured_and_launched_again_and_again) {
  auto const value = filled(1, 0);
  auto const launch = [&](bool apart) {
    on::launch(*team_, *stream_, {1, 1, 0, apart}, count_one{}, team_->local(value));
  };
  launch(false);  // before it is captured, so that its code is there
  atl::graph const twice = atl::capture(*stream_, [&] {
    launch(true);
    launch(false);
  });
  for (int i = 0; i < 5; ++i) twice.launch(*stream_);
  atl::wait(*stream_);
  EXPECT_EQ(content(value, 1), std::vector<int>{11});
}

TEST_F(kernels_test, put_with_signal_to_all) {
  for (bool const heaps : {false, true}) {
    auto const from = filled<int>(count, 0);
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), 1000000 * me);
    upcxx::copy(values.data(), from, count).wait();
    auto const gpu_target = filled<int>(count * ranks(), -1);
    auto const heap = upcxx::new_array<int>(count * ranks());
    std::fill_n(heap.local(), count * ranks(), -1);
    auto const news = filled<std::uint64_t>(1, 0);
    auto const wrong = filled<int>(1, 0);
    auto const targets = of_ranks(heaps ? any_ptr<int>(heap) : any_ptr<int>(gpu_target));
    auto const signals = of_ranks(news);
    run({1, 64}, put_to_all{}, here(from), targets, signals);
    run({1, 64}, wait_then_read{}, here(news), heaps ? team_->local(heap) : here(gpu_target), here(wrong));
    EXPECT_EQ(content(wrong, 1)[0], 0);
    upcxx::barrier();
    upcxx::delete_array(heap);
  }
}

TEST_F(kernels_test, get_from_all) {
  auto const mine = filled<int>(count, me);
  auto const heap = upcxx::new_array<int>(count);
  std::fill_n(heap.local(), count, 100 + me);
  upcxx::barrier();
  auto const check = [&](auto scope, any_ptr<int> source, int more) {
    auto const into = filled<int>(count * ranks(), -1);
    auto const all = of_ranks(source);
    run({1, 64}, get_all<decltype(scope)>{}, all, here(into));
    auto const found = content(into, count * ranks());
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], more + static_cast<int>(i / count)) << i;
  };
  check(on::block{}, mine, 0);
  check(on::block{}, heap, 100);
  upcxx::barrier();
  upcxx::delete_array(heap);
}

TEST_F(kernels_test, put_strided_rows) {
  auto const from = filled<int>(200, 0);
  std::vector<int> values(200);
  std::iota(values.begin(), values.end(), 1000 * me);
  upcxx::copy(values.data(), from, 200).wait();
  auto const to = filled<int>(400, -1);
  auto const news = filled<std::uint64_t>(1, 0);
  auto const all = of_all(to);
  auto const signals = of_all(news);
  auto const next = right_index();
  run({1, 96}, strided{}, here(from), all[next], signals[next]);
  atl::wait(*stream_, news, 5);
  atl::wait(*stream_);
  auto const found = content(to, 400);
  for (int i = 0; i < 400; ++i) {
    bool const inside = i / 31 < 10 && i % 31 < 7;
    ASSERT_EQ(found[static_cast<std::size_t>(i)], inside ? 1000 * left + i / 31 * 20 + i % 31 : -1) << i;
  }
  upcxx::barrier();
}

TEST_F(kernels_test, get_strided_rows) {
  // Of devices, and of the heaps.
  auto const from = filled<int>(200, 0);
  auto const heap = upcxx::new_array<int>(200);
  std::vector<int> values(200);
  std::iota(values.begin(), values.end(), 1000 * me);
  upcxx::copy(values.data(), from, 200).wait();
  std::copy(values.begin(), values.end(), heap.local());
  auto const room = 250 * static_cast<std::size_t>(n);
  for (bool const on_heap : {false, true}) {
    auto const into = filled<int>(room, -1);
    any_ptr<int const> const mine = on_heap ? any_ptr<int const>(heap) : any_ptr<int const>(from);
    run({1, 96}, strided_of_all{}, of_ranks(mine), here(into));
    auto const found = content(into, room);
    for (int i = 0; i < static_cast<int>(room); ++i) {
      int const place = i % 250;
      bool const inside = place / 24 < 10 && place % 24 < 7;
      ASSERT_EQ(found[static_cast<std::size_t>(i)],
                inside ? 1000 * (i / 250) + 3 + place / 24 * 20 + place % 24 : -1)
          << i;
    }
    upcxx::barrier();
  }
  upcxx::delete_array(heap);
}

TEST_F(kernels_test, put_values) {
  auto const numbers = filled<double>(2, -1);
  auto const small = filled<short>(4, -1);
  auto const news = filled<std::uint64_t>(1, 0);
  auto const next = right_index();
  run({1, 1}, values_around{}, of_all(numbers)[next], of_all(small)[next], of_all(news)[next], here(news));
  EXPECT_EQ(content(numbers, 2), (std::vector<double>{1.5 * left, 2.5 * left}));
  EXPECT_EQ(content(small, 4), (std::vector<short>{static_cast<short>(left), -1, -1, -1}));
  upcxx::barrier();
}

TEST_F(kernels_test, get_values) {
  auto const numbers = filled<double>(2, 1.5 * me);
  // Of the heap, and beside what must not be taken for it.
  auto const small = upcxx::new_array<short>(5);
  for (int i = 0; i < 5; ++i) small.local()[i] = static_cast<short>(i == 3 ? me : -7);
  auto const found = filled<double>(most_ranks, -1);
  auto const small_found = filled<short>(most_ranks, -1);
  upcxx::barrier();
  run({1, 32}, values_from_all{}, of_ranks<any_ptr<double const>>(numbers), of_ranks<any_ptr<short>>(small),
      here(found), here(small_found));
  for (std::size_t r = 0; r < ranks(); ++r) {
    EXPECT_EQ(content(found, most_ranks)[r], 1.5 * static_cast<double>(r));
    EXPECT_EQ(content(small_found, most_ranks)[r], static_cast<short>(r));
  }
  upcxx::barrier();
  upcxx::delete_array(small);
}

TEST_F(kernels_test, stamped_values_go_around) {
  auto const pair = filled<atl::stamped>(1, {0, 0});
  auto const sum = filled<std::uint64_t>(1, 0);
  run({1, 1}, stamps_around{}, of_all(pair)[right_index()], here(pair), here(sum));
  // Rank 0's come back to it when they have been everywhere.
  auto const more = static_cast<std::uint64_t>(me == 0 ? upcxx::rank_n() - 1 : me - 1);
  EXPECT_EQ(content(sum, 1)[0], 10U * 50 * 51 / 2 + 50 * more);
  upcxx::barrier();
}

TEST_F(kernels_test, signals_are_waited_for_in_all_ways) {
  auto const row = filled<std::uint64_t>(most_ranks, 0);
  auto const seen = filled<std::uint64_t>(8, 99);
  run({1, 1}, signals_in_turn{}, of_ranks(row), here(row), here(seen));
  auto const found = content(seen, 8);
  EXPECT_EQ(found[0], 1U);
  EXPECT_GE(found[1], 1U);
  EXPECT_LE(found[1], ranks());
  EXPECT_EQ(found[2], ranks());
  EXPECT_EQ(found[3], 0U);
  EXPECT_EQ(found[4], 3U);
  EXPECT_EQ(found[5], 3U);
  EXPECT_EQ(found[6], 0U);
  upcxx::barrier();
}

TEST_F(kernels_test, barriers_hold_all_back) {
  auto const counter = filled<std::uint64_t>(1, 0);
  auto const wrong = filled<std::uint64_t>(1, 0);
  auto const of_first = of_all(counter)[0];
  run({2, 32}, barriers{}, of_first, here(wrong), std::uint64_t{20});
  EXPECT_EQ(content(wrong, 1)[0], 0U);
  upcxx::barrier();
}

TEST_F(kernels_test, reductions_are_the_same_everywhere) {
  auto const sums = filled<double>(20, -1);
  auto const least = filled<std::int64_t>(20, -1);
  run({1, 1}, reductions{}, here(sums), here(least));
  auto const found = content(sums, 20);
  for (int i = 0; i < 20; ++i) {
    auto const k = static_cast<std::size_t>(i);
    EXPECT_NEAR(found[k], 0.1 * n * (n + 1) / 2 + i * n, 1e-12 * (1 + i * n));
    EXPECT_EQ(content(least, 20)[k], 10 * i - upcxx::rank_n() + 1);
    EXPECT_EQ(upcxx::broadcast(found[k], 0).wait(), found[k]);  // the same bits
  }
  auto const by_block = filled<std::uint64_t>(3, 0);
  run({3, 32}, reduction_by_all{}, here(by_block));
  EXPECT_EQ(content(by_block, 3), std::vector<std::uint64_t>(3, ranks()));
  upcxx::barrier();
}

TEST_F(kernels_test, additions_of_all_blocks_count) {
  constexpr std::uint64_t times = 20;
  auto const word = filled<std::uint64_t>(4, 0);
  auto const of_last = of_all(word).back();
  run({3, 32}, additions{}, of_last, times);
  run({1, 1}, barriers{}, of_all(word)[0], here(word + 3), std::uint64_t{0});  // all is there: signals, too
  upcxx::barrier();
  if (me == upcxx::rank_n() - 1) {
    // Signals of ranks whose devices do not add natively may still be on their way.
    std::uint64_t const all = 3 * times * ranks();
    while (content(word, 2)[1] < 2 * all) upcxx::progress();
    EXPECT_EQ(content(word, 4), (std::vector<std::uint64_t>{all, 2 * all, 3 * all, 77}));
  }
  upcxx::barrier();
}

TEST_F(kernels_test, hosts_hear_of_notices) {
  int calls = 0;
  int others = 0;  // which may come before or after
  std::uint64_t sum = 0;
  team_->on_notice(4, [&](std::int32_t from, std::uint64_t argument) {
    EXPECT_EQ(argument, static_cast<std::uint64_t>(from) * 100);
    sum += argument;
    ++others;
  });
  team_->on_notice(5, [&](std::int32_t, std::uint64_t argument) { calls += static_cast<int>(argument); });
  upcxx::barrier();
  run({2, 32}, notices{}, upcxx::rank_n());
  while (calls < upcxx::rank_n() || others < upcxx::rank_n()) upcxx::progress();
  EXPECT_EQ(sum, 100 * ranks() * (ranks() - 1) / 2);
  upcxx::barrier();
}

/// Whoever is told makes no progress before all have left.
TEST_F(kernels_test, notices_do_not_wait_for_those_before_them) {
  if (upcxx::local_team().rank_n() != upcxx::rank_n()) GTEST_SKIP() << "ranks of other hosts need progress";
  constexpr int each = 100;
  std::uint64_t sum = 0;
  team_->on_notice(4, [&](std::int32_t, std::uint64_t argument) { sum += argument; });
  upcxx::dist_object<upcxx::global_ptr<std::uint64_t>> have_left(upcxx::new_<std::uint64_t>(0));
  auto const theirs = have_left.fetch(me + 1 < upcxx::rank_n() ? me + 1 : me).wait();
  upcxx::barrier();
  if (bool const is_told = me % 2 == 1; is_told) {
    std::atomic_ref const word(*have_left->local());
    while (word.load() == 0) std::this_thread::yield();
    while (sum < each * (each + 1) / 2) upcxx::progress();
  } else if (me + 1 < upcxx::rank_n()) {
    run({1, 32}, many_notices{}, me + 1, each);
    std::atomic_ref(*theirs.local()).store(1);
  }
  upcxx::barrier();
  upcxx::delete_(*have_left);
}

/// What is called lives until it has returned.
TEST_F(kernels_test, a_notice_may_give_another_call_for_its_number) {
  int later = 0;
  int wrong = 0;
  team_->on_notice(4, [](std::int32_t, std::uint64_t) {});
  team_->on_notice(5, [&, own = std::vector<int>(100, 7)](std::int32_t, std::uint64_t) {
    team_->on_notice(5, [&](std::int32_t, std::uint64_t) { ++later; });
    wrong += static_cast<int>(own.size()) - static_cast<int>(std::count(own.begin(), own.end(), 7));
  });
  upcxx::barrier();
  for (int i = 0; i < 2; ++i) run({1, 32}, notices{}, upcxx::rank_n());
  while (later < 2 * upcxx::rank_n() - 1) upcxx::progress();
  EXPECT_EQ(later, 2 * upcxx::rank_n() - 1);
  EXPECT_EQ(wrong, 0);
  upcxx::barrier();
}

TEST_F(kernels_test, more_is_asked_for_than_the_mailbox_holds) {
  constexpr std::uint64_t values = 3000;
  auto const numbers = filled<std::uint64_t>(values, 0);
  auto const news = filled<std::uint64_t>(1, 0);
  auto const next = right_index();
  run({3, 32}, flood{}, of_all(numbers)[next], values, of_all(news)[next]);
  atl::wait(*stream_, news, 3);
  atl::wait(*stream_);
  auto const found = content(numbers, values);
  for (std::size_t i = 0; i < values; ++i) ASSERT_EQ(found[i], i + 1);
  upcxx::barrier();
}

TEST_F(kernels_test, teams_of_some_ranks) {
  auto split = upcxx::world().split(me % 2, me);
  auto team = atl::make_device_team(gpu_, split, 60);
  auto half = std::move(split);  // it still has that team's ranks
  auto const sums = filled<double>(20, -1);
  auto const least = filled<std::int64_t>(20, -1);
  on::launch(team, *stream_, {1, 1}, reductions{}, team, here(sums), here(least));
  atl::wait(*stream_);
  EXPECT_EQ(content(least, 20)[0], 1 - half.rank_n());
  team.destroy();
  half.destroy();
}

/// Of GPUs nobody knows, but what threads play must not go on in memory that is somebody else's.
TEST_F(kernels_test, a_team_does_not_end_before_kernels_that_are_played) {
  if (!team_->is_played()) GTEST_SKIP() << "the program waits for its streams";
  auto team = atl::make_device_team(gpu_, upcxx::world(), 60);
  auto const sums = filled<double>(20, -1);
  auto const least = filled<std::int64_t>(20, -1);
  on::launch(team, *stream_, {1, 1}, reductions{}, team, team.local(sums), team.local(least));
  team.destroy();
  EXPECT_EQ(content(least, 20)[19], 191 - upcxx::rank_n());
  atl::wait(*stream_);
  upcxx::barrier();
}

TEST_F(kernels_test, as_many_blocks_as_are_there_at_once) {
  auto const by_block = filled<std::uint64_t>(32768, 0);
  int const most = team_->max_blocks(reduction_by_all{}, 32, 0, *team_, here(by_block));
  ASSERT_GE(most, 1);
  ASSERT_LE(most, 32768);
  auto const blocks = static_cast<unsigned>(upcxx::reduce_all(most, upcxx::op_fast_min).wait());
  run({blocks, 32}, reduction_by_all{}, here(by_block));
  EXPECT_EQ(content(by_block, blocks), std::vector<std::uint64_t>(blocks, ranks()));
  upcxx::barrier();
}

/// Two of them that wait for each other, by signals or over other ranks, would wait for ever if each were given all of the device.
TEST_F(kernels_test, ranks_of_different_teams_share_their_device) {
  auto alone = upcxx::world().split(me, 0);
  auto team = atl::make_device_team(gpu_, alone, 60);
  EXPECT_EQ(team.sharers(), team_->sharers());
  auto const uuid = std::hash<std::string>()(upcxx::gpu_default_device::uuid(gpu_.device_id()));
  auto const uuids = of_all(uuid);
  int here = 0;
  for (int r = 0; r < n; ++r)
    here += upcxx::local_team_contains(r) && uuids[static_cast<std::size_t>(r)] == uuid ? 1 : 0;
  EXPECT_EQ(team.sharers(), here);
  auto const most = [](device_team t) {
    return t.max_blocks(reduction_by_all{}, 32, 0, t, static_cast<std::uint64_t*>(nullptr));
  };
  EXPECT_EQ(most(team), most(*team_));
  team.destroy();
  alone.destroy();
}

/// A kernel keeps what it was allowed when somebody asks about less.
TEST_F(kernels_test, memory_of_blocks_is_asked_about_in_any_order) {
  auto const by_block = filled<std::uint64_t>(1, 0);
  constexpr std::size_t much = 64 << 10;
  constexpr std::size_t less = 50 << 10;
  auto const sums = here(by_block);
  ASSERT_GE(team_->max_blocks(reduction_by_all{}, 32, much, *team_, sums), 1);
  ASSERT_GE(team_->max_blocks(reduction_by_all{}, 32, less, *team_, sums), 1);
  run({1, 32, much}, reduction_by_all{}, sums);
  EXPECT_EQ(content(by_block, 1)[0], ranks());
  upcxx::barrier();
}

/// Data in memory that the device does not reach by the team, a signal that it adds to by itself.
struct add_behind_hosts_data {
  ATOLL_ANYWHERE void operator()(device_team team, int const* from, upcxx::global_ptr<int> to, words_ptr word,
                                 std::uint64_t times) const {
    if (on::this_block().rank() != 0) return;
    to += 11 * static_cast<std::ptrdiff_t>(on::this_block().index());
    for (std::uint64_t i = 0; i < times; ++i) {
      team.put_signal(on::this_thread(), from, to, 10, word, 1, atl::signal_op::add);
      team.put_signal(7, to + 10, word, 1, atl::signal_op::add);
      team.fetch_add(word, 1);
    }
  }
};

TEST_F(kernels_test, additions_behind_data_of_hosts_count) {
  constexpr std::uint64_t times = 30;
  // Each half is a team of its own, which does not know the other's heaps.
  auto half = upcxx::world().split(me % 2, me);
  auto team = atl::make_device_team(gpu_, half, 60);
  auto const from = filled<int>(10, 3);
  auto const heap = upcxx::new_array<int>(2 * 11);
  auto const word = filled<std::uint64_t>(1, 0);
  auto const to = of_all(heap)[right_index()];
  auto const of_first = of_all(word)[static_cast<std::size_t>(half[0])];
  on::launch(team, *stream_, {2, 32}, add_behind_hosts_data{}, team, team.local(from), to, of_first, times);
  atl::wait(*stream_);
  upcxx::barrier();
  if (half.rank_me() == 0) {
    std::uint64_t const all = 2 * 3 * times * static_cast<std::uint64_t>(half.rank_n());
    while (content(word, 1)[0] < all) upcxx::progress();
    EXPECT_EQ(content(word, 1)[0], all);
  }
  upcxx::barrier();
  for (int const block : {0, 1}) {
    EXPECT_EQ(heap.local()[11 * block + 9], 3);
    EXPECT_EQ(heap.local()[11 * block + 10], 7);
  }
  team.destroy();
  half.destroy();
  upcxx::barrier();
  upcxx::delete_array(heap);
}

TEST_F(kernels_test, no_room_for_a_team_on_one_rank_is_an_error_on_all_that_says_how_much) {
  std::size_t const needed = 3072 + 64 * static_cast<std::size_t>(upcxx::local_team().rank_n());
  std::size_t const free = mib - gpu_.segment_used();
  gpu_ptr<char> taken;
  if (me == upcxx::rank_n() - 1) taken = gpu_.allocate<char>(free - needed + 256);
  upcxx::barrier();
  try {
    atl::make_device_team(gpu_).destroy();
    ADD_FAILURE() << "there was room";
  } catch (upcxx::bad_shared_alloc const& problem) {
    int const last = upcxx::rank_n() - 1;
    std::string const wanted = "rank " + std::to_string(last) + " has no room " +
                               (me == last ? "for " + std::to_string(needed) + " B " : "") +
                               "in its device's segment";
    EXPECT_NE(std::string_view(problem.what()).find(wanted), std::string_view::npos) << problem.what();
  }
  if (!taken.is_null()) {
    gpu_.deallocate(taken);
    taken = gpu_.allocate<char>(free - needed - 512);
  }
  atl::make_device_team(gpu_).destroy();
  if (!taken.is_null()) gpu_.deallocate(taken);
}

TEST_F(kernels_test, no_room_for_a_reduction_on_one_rank_is_an_error_on_all) {
  if (upcxx::rank_n() == 1) GTEST_SKIP() << "all ranks or none";
  using reduction = atl::stream_reduction<upcxx::gpu_default_device>;
  auto team = atl::make_device_team(gpu_);
  auto const everybodys = of_all(gpu_.allocate<char>(1));
  bool const reaches = std::all_of(everybodys.begin(), everybodys.end(),
                                   [&](gpu_ptr<char> p) { return team.local(p) != nullptr; });
  bool const by_kernels = upcxx::reduce_all(reaches, upcxx::op_fast_bit_and).wait();
  team.destroy();
  // The last one has just enough for a team, with which hosts make do.
  std::size_t const used = gpu_.segment_used();
  gpu_ptr<char> taken;
  if (me == upcxx::rank_n() - 1) taken = gpu_.allocate<char>(mib - used - (64 << 10));
  upcxx::barrier();
  if (by_kernels) {
    EXPECT_THROW((reduction(gpu_, upcxx::world(), 3000)), upcxx::bad_shared_alloc);
  } else {
    reduction(gpu_, upcxx::world(), 3000).destroy();
  }
  if (!taken.is_null()) gpu_.deallocate(taken);
  EXPECT_EQ(gpu_.segment_used(), used);
  upcxx::barrier();
}

/// So many elements that several blocks share them, whose last one has to know that it is.
TEST_F(kernels_test, arrays_for_several_blocks_are_reduced_in_streams) {
  constexpr std::size_t few = 3000;
  constexpr std::size_t longest = 40'000;
  atl::stream_reduction sums(gpu_, upcxx::world(), few, 60);
  auto const numbers = gpu_.allocate<std::int64_t>(longest);
  for (std::size_t const length : {600, 2000, 3000, 3001, 20'000, 40'000, 700}) {
    std::vector<std::int64_t> values(length);
    for (std::size_t i = 0; i < length; ++i) values[i] = static_cast<std::int64_t>(i) + me;
    upcxx::copy(values.data(), numbers, length).wait();
    // In place, of what the one before has made: one that begins too early is seen.
    std::int64_t factor = 1;
    for (int i = 0; i < 5; ++i, factor *= n) sums.reduce_all(*stream_, numbers, numbers, length, on::plus{});
    atl::wait(*stream_);
    auto const found = content(numbers, length);
    for (std::size_t i = 0; i < length; ++i) {
      std::int64_t const once = static_cast<std::int64_t>(i) * n + static_cast<std::int64_t>(n) * (n - 1) / 2;
      ASSERT_EQ(found[i], once * (factor / n)) << i << " of " << length;
    }
    upcxx::barrier();
  }
  gpu_.deallocate(numbers);
  sums.destroy();
}

TEST_F(kernels_test, arrays_are_reduced_for_one_rank_in_streams) {
  atl::stream_reduction sums(gpu_, upcxx::world(), 100, 60);
  for (std::size_t const length : {1, 99, 101, 4097}) {
    auto const in = filled<std::int64_t>(length, 0);
    auto const out = filled<std::int64_t>(length, -1);
    std::int64_t const all = static_cast<std::int64_t>(n) * (n + 1) / 2;
    for (int root = 0; root < n; ++root) {
      std::vector<std::int64_t> values(length);
      for (std::size_t i = 0; i < length; ++i) values[i] = (me + 1) * static_cast<std::int64_t>(i + 1);
      upcxx::copy(values.data(), in, length).wait();
      bool const mine = me == root;
      sums.reduce_one(*stream_, root, in, mine ? out : gpu_ptr<std::int64_t>(), length, on::plus{});
      // Of what the first one has made at the root, in place.
      sums.reduce_one(*stream_, root, mine ? out : in, mine ? out : in, length, on::greatest{});
      sums.reduce_all(*stream_, in, in, length, on::least{});
      atl::wait(*stream_);
      auto const found = content(out, length);
      auto const kept = content(in, length);
      for (std::size_t i = 0; i < length; ++i) {
        ASSERT_EQ(found[i], me <= root ? all * static_cast<std::int64_t>(i + 1) : -1)
            << i << " of " << length << ", root " << root;
        ASSERT_EQ(kept[i], static_cast<std::int64_t>(i + 1));
      }
      upcxx::barrier();
    }
    gpu_.deallocate(in);
    gpu_.deallocate(out);
  }
  sums.destroy();
}

TEST_F(kernels_test, arrays_are_reduced_in_streams) {
  atl::stream_reduction sums(gpu_, upcxx::world(), 100, 60);
  for (std::size_t const length : {1, 2, 99, 100, 101, 102, 1000, 4097}) {
    for (std::size_t const shift : {0, 1}) {  // not a multiple of 16 bytes
      std::vector<double> values(length);
      for (std::size_t i = 0; i < length; ++i) values[i] = 0.1 * static_cast<double>(i) + me;
      auto const in = gpu_.allocate<double>(length + 1, 16);
      auto const out = gpu_.allocate<double>(length + 1, 16);
      auto const least = gpu_.allocate<int>(length);
      std::vector<int> const places(length, 10 - me);
      upcxx::copy(values.data(), in + static_cast<int>(shift), length).wait();
      upcxx::copy(places.data(), least, length).wait();
      sums.reduce_all(*stream_, in + static_cast<int>(shift), out + static_cast<int>(shift), length,
                      on::plus{});
      sums.reduce_all(*stream_, least, least, length, on::least{});
      // Of what the one before has made.
      sums.reduce_all(*stream_, out + static_cast<int>(shift), out + static_cast<int>(shift), length,
                      on::greatest{});
      atl::wait(*stream_);
      auto const found = content(out + static_cast<int>(shift), length);
      for (std::size_t i = 0; i < length; ++i) {
        double expected = 0.1 * static_cast<double>(i) + 0;
        for (int r = 1; r < n; ++r) expected += 0.1 * static_cast<double>(i) + r;
        ASSERT_EQ(found[i], expected) << i << " of " << length;
      }
      ASSERT_EQ(content(least, length), std::vector<int>(length, 11 - n));
      upcxx::barrier();
      gpu_.deallocate(in);
      gpu_.deallocate(out);
      gpu_.deallocate(least);
    }
  }
  sums.destroy();
}
