// The engine's collectives that the installed interface has no names for: scatter, gather, all to all, scan.

#include <atomic>
#include <deque>
#include <thread>

#include <atoll/engine/collectives.hpp>
#include <atoll/engine/team.hpp>
#include <atoll/engine/team_creation.hpp>

#include "../common.hpp"

namespace {

using atl::engine::on_done;
using atl::engine::team_view;
using bytes = std::vector<std::uint8_t>;

constexpr std::size_t segment = std::size_t{64} << 10;
constexpr std::size_t eager = 2048 - 64;

on_done tell(std::atomic<bool>& flag) {
  return {[](void* f) { static_cast<std::atomic<bool>*>(f)->store(true); }, &flag};
}
void wait(std::atomic<bool> const& flag) {
  multirank::spin_until([&] { return flag.load(); });
}
bool engine_progress() {
  upcxx::progress();
  return true;
}

std::vector<std::size_t> sizes_of_blocks() {
  std::vector<std::size_t> all{0, 1, 8, 100};
  for (std::size_t const limit : {eager / 3, eager / 2, eager, segment / 2, segment, 9 * segment}) {
    for (std::size_t const size : {limit - 1, limit, limit + 1}) all.push_back(size);
  }
  return all;
}

/// What `from` has for `to`.
void fill(std::uint8_t* block, std::size_t size, int from, int to, int salt) {
  multirank::fill_pattern(block, size, from * 100 + to, salt);
}
bool holds(std::uint8_t const* block, std::size_t size, int from, int to, int salt) {
  return multirank::first_mismatch(block, size, from * 100 + to, salt) == size;
}

/// Orders show in these products.
struct matrix {
  std::uint32_t a, b, c, d;
  friend bool operator==(matrix const&, matrix const&) = default;
};
matrix times(matrix const& x, matrix const& y) {
  return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}
matrix factor(int rank, std::size_t i) {
  auto const r = static_cast<std::uint32_t>(rank);
  auto const k = static_cast<std::uint32_t>(i);
  return {r + 2, k * 7 + 1, r * k + 3, 2 * r + k + 5};
}
void combine_matrices(void* a, void const* b, std::size_t count, void const*) {
  for (std::size_t i = 0; i < count; ++i) {
    auto& x = static_cast<matrix*>(a)[i];
    x = times(x, static_cast<matrix const*>(b)[i]);
  }
}

}  // namespace

class blocks_test : public multirank::fixture {
 protected:
  void scatter_once(team_view& t, std::size_t size, int root, int salt) {
    auto const tn = static_cast<std::size_t>(t.rank_n);
    bytes all(t.rank_me == root ? size * tn : 0);
    for (int r = 0; t.rank_me == root && r < t.rank_n; ++r)
      fill(all.data() + size * static_cast<std::size_t>(r), size, root, r, salt);
    bytes mine(size + 2, multirank::guard_byte);
    std::atomic<bool> done{false};
    start_scatter(t, all.data(), size, mine.data() + 1, root, tell(done));
    wait(done);
    EXPECT_TRUE(holds(mine.data() + 1, size, root, t.rank_me, salt)) << size << " from " << root;
    EXPECT_EQ(mine.front(), multirank::guard_byte);
    EXPECT_EQ(mine.back(), multirank::guard_byte);
  }
  void gather_once(team_view& t, std::size_t size, int root, int salt) {
    bytes mine(size);
    fill(mine.data(), size, t.rank_me, root, salt);
    bytes all(t.rank_me == root ? size * static_cast<std::size_t>(t.rank_n) + 1 : 0, multirank::guard_byte);
    std::atomic<bool> done{false};
    start_gather(t, mine.data(), size, all.data(), root, tell(done));
    wait(done);
    for (int r = 0; t.rank_me == root && r < t.rank_n; ++r)
      EXPECT_TRUE(holds(all.data() + size * static_cast<std::size_t>(r), size, r, root, salt))
          << size << " of " << r;
    if (t.rank_me == root) {
      EXPECT_EQ(all.back(), multirank::guard_byte);
    }
    EXPECT_TRUE(holds(mine.data(), size, t.rank_me, root, salt));
  }
  struct exchange {
    exchange(std::size_t bytes_of_block, int salt_of_it) : size(bytes_of_block), salt(salt_of_it) {}
    bytes source;
    bytes target;
    std::size_t size;
    int salt;
    std::atomic<bool> done{false};
  };
  static void start(team_view& t, exchange& x) {
    x.source.resize(x.size * static_cast<std::size_t>(t.rank_n));
    x.target.assign(x.source.size() + 1, multirank::guard_byte);
    for (int r = 0; r < t.rank_n; ++r)
      fill(x.source.data() + x.size * static_cast<std::size_t>(r), x.size, t.rank_me, r, x.salt);
    start_all_to_all(t, x.source.data(), x.size, x.target.data(), tell(x.done));
  }
  static bool right(team_view& t, exchange const& x) {
    bool right = x.target.back() == multirank::guard_byte;
    for (int r = 0; r < t.rank_n; ++r)
      right &= holds(x.target.data() + x.size * static_cast<std::size_t>(r), x.size, r, t.rank_me, x.salt);
    return right;
  }
  team_view& world = atl::engine::world_team();
};

TEST_F(blocks_test, scatter_from_every_root) {
  int salt = 0;
  for (std::size_t const size : sizes_of_blocks()) {
    for (int root = 0; root<n; root += size> eager ? n / 2 + 1 : 1) scatter_once(world, size, root, ++salt);
  }
  for (int i = 0; i < 100; ++i) scatter_once(world, 8, i % n, i);
}

TEST_F(blocks_test, gather_to_every_root) {
  int salt = 0;
  for (std::size_t const size : sizes_of_blocks()) {
    for (int root = 0; root<n; root += size> eager ? n / 2 + 1 : 1) gather_once(world, size, root, ++salt);
  }
  for (int i = 0; i < 100; ++i) gather_once(world, 8, i % n, i);
}

TEST_F(blocks_test, all_to_all_of_every_size) {
  int salt = 0;
  for (std::size_t const size : sizes_of_blocks()) {
    exchange x(size, ++salt);
    start(world, x);
    wait(x.done);
    EXPECT_TRUE(right(world, x)) << size;
  }
}

TEST_F(blocks_test, scans_keep_the_order_of_ranks) {
  for (std::size_t const size : sizes_of_blocks()) {
    std::size_t const count = size / sizeof(matrix);
    std::vector<matrix> source(count);
    for (std::size_t i = 0; i < count; ++i) source[i] = factor(me, i);
    std::vector<matrix> target(count + 1, matrix{1, 2, 3, 4});
    std::vector<matrix> in_place = source;
    std::atomic<bool> first{false};
    std::atomic<bool> second{false};
    start_scan(world, source.data(), target.data(), count, sizeof(matrix), &combine_matrices, nullptr,
               tell(first));
    start_scan(world, in_place.data(), in_place.data(), count, sizeof(matrix), &combine_matrices, nullptr,
               tell(second));
    wait(second);
    wait(first);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      matrix expected = factor(0, i);
      for (int r = 1; r <= me; ++r) expected = times(expected, factor(r, i));
      wrong += target[i] != expected || in_place[i] != expected ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0U) << count;
    EXPECT_EQ(target[count], (matrix{1, 2, 3, 4}));
  }
}

TEST_F(blocks_test, many_are_open_and_end_in_any_order) {
  std::deque<exchange> open;
  for (int i = 0; i < 30; ++i) {
    open.emplace_back(static_cast<std::size_t>(i) * 3000, i);
    start(world, open.back());
  }
  for (auto x = open.rbegin(); x != open.rend(); ++x) {
    wait(x->done);
    EXPECT_TRUE(right(world, *x));
  }
}

TEST_F(blocks_test, threads_start_them_over_teams_of_their_own) {
  team_view* const other = atl::engine::split_team(world, 0, -me, &engine_progress);
  auto const work = [&](team_view& t, std::atomic<int>& wrong) {
    for (int i = 0; i < 50; ++i) {
      exchange x(static_cast<std::size_t>(i) * 700, i);
      start(t, x);
      wait(x.done);
      wrong += right(t, x) ? 0 : 1;
    }
  };
  std::atomic<int> wrong{0};
  std::thread second([&] { work(*other, wrong); });
  work(world, wrong);
  second.join();
  EXPECT_EQ(wrong, 0);
  atl::engine::destroy_team(*other, &engine_progress);
}
