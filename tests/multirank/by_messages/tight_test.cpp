// Collectives by messages whose arrays are many times as large as the memory that messages may take: nothing
// throws, nothing stands still, and what has not come yet keeps nobody from going on elsewhere.

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "../common.hpp"

namespace {

constexpr std::size_t large = std::size_t{20} << 20;

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

bool is(std::vector<std::uint32_t> const& values, std::uint32_t first, std::uint32_t step) {
  std::uint32_t expected = first;
  for (std::uint32_t const v : values) {
    if (v != expected) return false;
    expected += step;
  }
  return true;
}

std::vector<std::uint32_t> numbers(std::size_t bytes, std::uint32_t first) {
  std::vector<std::uint32_t> v(bytes / sizeof(std::uint32_t));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = first + static_cast<std::uint32_t>(i);
  return v;
}

}  // namespace

using tight = multirank::fixture;

TEST_F(tight, arrays_larger_than_message_memory) {
  for (int root = 0; root < n; root += std::max(1, n - 1)) {
    std::vector<std::uint32_t> values =
        me == root ? numbers(large, 17) : std::vector<std::uint32_t>(large / 4);
    upcxx::broadcast(values.data(), values.size(), root).wait();
    EXPECT_TRUE(is(values, 17, 1));
  }
  std::vector<std::uint32_t> const source = numbers(large, static_cast<std::uint32_t>(me));
  std::vector<std::uint32_t> sum(source.size());
  upcxx::reduce_all(source.data(), sum.data(), sum.size(), upcxx::op_fast_add).wait();
  auto const un = static_cast<std::uint32_t>(n);
  EXPECT_TRUE(is(sum, un * (un - 1) / 2, un));
  std::fill(sum.begin(), sum.end(), 0);
  upcxx::reduce_one(source.data(), me == n - 1 ? sum.data() : nullptr, sum.size(), upcxx::op_fast_add, n - 1)
      .wait();
  if (me == n - 1) {
    EXPECT_TRUE(is(sum, un * (un - 1) / 2, un));
  }
}

TEST_F(tight, late_members_hold_up_nobody_else) {
  // Over the world, with a member that comes late; over the others meanwhile.
  bool const late = me == n - 1;
  upcxx::team others = upcxx::world().split(late ? 1 : 0, me);
  std::vector<std::uint32_t> first = me == 0 ? numbers(large, 3) : std::vector<std::uint32_t>(large / 4);
  std::vector<std::uint32_t> const source = numbers(large, static_cast<std::uint32_t>(me));
  std::vector<std::uint32_t> sum(source.size());
  if (late) sleep_ms(300);
  auto one = upcxx::broadcast(first.data(), first.size(), 0);
  auto two = upcxx::reduce_all(source.data(), sum.data(), sum.size(), upcxx::op_fast_add);
  for (std::uint32_t i = 0; i < 20; ++i) {
    std::vector<std::uint32_t> values =
        others.rank_me() == 0 ? numbers(1 << 20, i) : std::vector<std::uint32_t>(1 << 18);
    upcxx::broadcast(values.data(), values.size(), 0, others).wait();
    EXPECT_TRUE(is(values, i, 1));
  }
  one.wait();
  two.wait();
  auto const un = static_cast<std::uint32_t>(n);
  EXPECT_TRUE(is(first, 3, 1));
  EXPECT_TRUE(is(sum, un * (un - 1) / 2, un));
  others.destroy();
}

TEST_F(tight, many_large_ones_are_open_at_once) {
  constexpr std::uint32_t count = 24;
  constexpr std::size_t bytes = std::size_t{1} << 20;
  std::vector<std::vector<std::uint32_t>> down;
  std::vector<std::vector<std::uint32_t>> up;
  std::vector<upcxx::future<>> done;
  auto const un = static_cast<std::uint32_t>(n);
  for (std::uint32_t i = 0; i < count; ++i) {
    int const root = static_cast<int>(i) % n;
    down.push_back(me == root ? numbers(bytes, i) : std::vector<std::uint32_t>(bytes / 4));
    up.push_back(numbers(bytes, i + static_cast<std::uint32_t>(me)));
    if (i % 8 == 5 && me == root) sleep_ms(10);
    done.push_back(upcxx::broadcast(down[i].data(), down[i].size(), root));
    done.push_back(upcxx::reduce_all(up[i].data(), up[i].data(), up[i].size(), upcxx::op_fast_add));
    if (i % 3 == 0) upcxx::progress();
  }
  for (auto& f : done) f.wait();
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_TRUE(is(down[i], i, 1)) << i;
    EXPECT_TRUE(is(up[i], un * i + un * (un - 1) / 2, un)) << i;
  }
}

// Channels for flat collectives come to an end: the further teams have messages.
TEST_F(tight, teams_beyond_the_channels) {
  constexpr std::uint32_t count = 20;
  std::vector<std::unique_ptr<upcxx::team>> teams;
  for (std::uint32_t i = 0; i < count; ++i)
    teams.push_back(std::make_unique<upcxx::team>(upcxx::world().split(0, i % 2 == 0 ? me : -me)));
  std::vector<std::uint32_t> values =
      teams[count - 3]->rank_me() == 0 ? numbers(large, 9) : std::vector<std::uint32_t>(large / 4);
  upcxx::broadcast(values.data(), values.size(), 0, *teams[count - 3]).wait();
  EXPECT_TRUE(is(values, 9, 1));
  // On all of them at once, waited for from the last to the first.
  std::vector<std::vector<std::uint32_t>> sums;
  std::vector<upcxx::future<>> done;
  for (std::uint32_t i = 0; i < count; ++i) {
    sums.push_back(numbers(std::size_t{3} << 18, i + static_cast<std::uint32_t>(me)));
    done.push_back(
        upcxx::reduce_all(sums[i].data(), sums[i].data(), sums[i].size(), upcxx::op_fast_add, *teams[i]));
  }
  auto const un = static_cast<std::uint32_t>(n);
  for (std::uint32_t i = count; i-- > 0;) {
    done[i].wait();
    EXPECT_TRUE(is(sums[i], un * i + un * (un - 1) / 2, un)) << i;
  }
  for (auto& t : teams) t->destroy();
}

// Each waits in collectives of its own order over several teams: what is kept for one may not hold up another.
TEST_F(tight, reductions_over_teams_with_late_members_do_not_block_each_other) {
  if (n < 3) GTEST_SKIP() << "needs three ranks";
  constexpr std::uint32_t count = 12;
  std::vector<std::unique_ptr<upcxx::team>> teams;
  for (std::uint32_t i = 0; i < count; ++i)
    teams.push_back(std::make_unique<upcxx::team>(upcxx::world().split(0, me)));
  upcxx::team last = upcxx::world().split(0, -me);
  std::vector<std::vector<std::uint32_t>> sums;
  std::vector<upcxx::future<>> done;
  // The last child of rank 0 starts these only when another collective is complete that it takes all others for.
  bool const late = me == n - 1;
  auto const start = [&] {
    for (std::uint32_t i = 0; i < count; ++i) {
      sums.push_back(numbers(std::size_t{2} << 20, i + static_cast<std::uint32_t>(me)));
      done.push_back(
          upcxx::reduce_all(sums[i].data(), sums[i].data(), sums[i].size(), upcxx::op_fast_add, *teams[i]));
    }
  };
  std::vector<std::uint32_t> other = numbers(std::size_t{4} << 20, static_cast<std::uint32_t>(me));
  if (!late) start();
  upcxx::reduce_all(other.data(), other.data(), other.size(), upcxx::op_fast_add, last).wait();
  if (late) start();
  for (auto& f : done) f.wait();
  auto const un = static_cast<std::uint32_t>(n);
  EXPECT_TRUE(is(other, un * (un - 1) / 2, un));
  for (std::uint32_t i = 0; i < count; ++i) EXPECT_TRUE(is(sums[i], un * i + un * (un - 1) / 2, un)) << i;
  last.destroy();
  for (auto& t : teams) t->destroy();
}
