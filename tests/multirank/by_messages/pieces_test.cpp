// Collectives by messages move arrays in segments: sizes around every limit, every byte and element checked;
// operations whose order shows; members that come late.

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <atoll/engine/collectives.hpp>
#include <atoll/engine/team.hpp>
#include <upcxx/experimental/collectives.hpp>

#include "../common.hpp"

namespace {

constexpr std::size_t segment = std::size_t{64} << 10;
constexpr std::size_t window = 8;
constexpr std::size_t eager = 2048 - 64;

/// Around the limits: what goes ahead unasked, one segment, what is under way at most.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all{0, 1, 7};
  for (std::size_t const limit : {eager, std::size_t{2048}, segment, 2 * segment, window * segment,
                                  (window + 1) * segment, 2 * window * segment}) {
    for (std::size_t const size : {limit - 1, limit, limit + 1}) all.push_back(size);
  }
  all.push_back(3 * window * segment + 12345);
  return all;
}

/// Products of these show the order of their factors, and no bit of it is lost.
struct matrix {
  std::uint32_t a, b, c, d;
  friend bool operator==(matrix const&, matrix const&) = default;
};
matrix operator*(matrix const& x, matrix const& y) {
  return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}
matrix factor(int rank, std::size_t i) {
  auto const r = static_cast<std::uint32_t>(rank);
  auto const k = static_cast<std::uint32_t>(i);
  return {r + 2, k * 7 + 1, r * k + 3, 2 * r + k + 5};
}
matrix product(int n, int root, std::size_t i) {
  matrix m = factor(root, i);
  for (int k = 1; k < n; ++k) m = m * factor((root + k) % n, i);
  return m;
}
struct times {
  matrix operator()(matrix const& x, matrix const& y) const { return x * y; }
};

/// Can all look into each other's memory?
bool on_one_host() { return upcxx::local_team().rank_n() == upcxx::rank_n(); }

/// Between hosts, also those that ranks are told of (several_hosts.cpp), values are combined in another order.
bool combines_in_order() { return on_one_host() && std::getenv("PRETENDED_HOSTS") == nullptr; }

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// The engine's gather has no public face.
void gather_all(void const* mine, std::size_t bytes, void* all) {
  std::atomic<bool> done{false};
  atl::engine::start_gather_all(
      atl::engine::world_team(), mine, bytes, all,
      {[](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &done});
  multirank::spin_until([&] { return done.load(); });
}

}  // namespace

using by_messages = multirank::fixture;

TEST_F(by_messages, broadcasts_of_sizes_around_every_limit) {
  constexpr std::size_t guard = 64;
  int salt = 0;
  for (std::size_t const size : sizes()) {
    for (int const root : {0, n - 1, n / 2}) {
      ++salt;
      std::vector<std::uint8_t> buffer(size + 2 * guard, multirank::guard_byte);
      if (me == root) multirank::fill_pattern(buffer.data() + guard, size, root, salt);
      upcxx::broadcast(buffer.data() + guard, size, root).wait();
      EXPECT_TRUE(multirank::holds_only(buffer.data(), buffer.size(), guard, size, root, salt))
          << size << " from " << root;
    }
  }
}

TEST_F(by_messages, reductions_keep_the_order_of_ranks) {
  if (!combines_in_order()) GTEST_SKIP() << "several hosts";
  for (std::size_t const bytes : sizes()) {
    std::size_t const count = bytes / sizeof(matrix);
    std::vector<matrix> source(count);
    for (std::size_t i = 0; i < count; ++i) source[i] = factor(me, i);
    int const root = static_cast<int>(bytes % static_cast<std::size_t>(n));
    std::vector<matrix> one(count + 1, matrix{1, 2, 3, 4});
    std::vector<matrix> all(count + 1, matrix{1, 2, 3, 4});
    auto first = upcxx::reduce_one(source.data(), me == root ? one.data() : nullptr, count, times{}, root);
    auto second = upcxx::reduce_all(source.data(), all.data(), count, times{});
    std::vector<matrix> in_place = source;
    upcxx::reduce_all(in_place.data(), in_place.data(), count, times{}).wait();
    first.wait();
    second.wait();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      matrix const expected = product(n, 0, i);
      wrong += all[i] != expected || in_place[i] != expected ? 1 : 0;
      if (me == root) wrong += one[i] != product(n, root, i) ? 1 : 0;
      wrong += source[i] != factor(me, i) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0U) << count << " elements";
    EXPECT_EQ(all[count], (matrix{1, 2, 3, 4}));
    EXPECT_EQ(one[count], (matrix{1, 2, 3, 4}));
  }
}

TEST_F(by_messages, small_reductions_of_every_size) {
  if (!combines_in_order()) GTEST_SKIP() << "several hosts";
  for (std::size_t count = 1; count <= 2 * eager / sizeof(matrix); count += count < 20 ? 1 : 13) {
    std::vector<matrix> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = factor(me, i);
    upcxx::reduce_all(values.data(), values.data(), count, times{}).wait();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(values[i], product(n, 0, i)) << count;
  }
}

TEST_F(by_messages, sums_of_floating_numbers_have_equal_bits_everywhere) {
  for (std::size_t const count :
       {std::size_t{1}, std::size_t{40}, std::size_t{300}, std::size_t{30'000}, std::size_t{90'001}}) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = 1.0 / (me * 3.7 + static_cast<double>(i) + 1.1);
    upcxx::reduce_all(values.data(), values.data(), count, upcxx::op_fast_add).wait();
    std::uint64_t hash = count;
    for (double const v : values) hash = hash * 0x9E3779B97F4A7C15ull + std::bit_cast<std::uint64_t>(v);
    EXPECT_EQ(upcxx::rpc(
                  0, [](std::uint64_t h) { return h; }, hash)
                  .wait(),
              hash);
    EXPECT_EQ(upcxx::broadcast(hash, 0).wait(), hash) << count;
  }
}

/// Larger than a segment each, and of a size that does not divide one.
struct large_element {
  std::uint32_t words[25'001];
};

TEST_F(by_messages, elements_larger_than_a_segment) {
  std::vector<large_element> source(5);
  for (std::size_t i = 0; i < source.size(); ++i) {
    for (std::uint32_t k = 0; k < 25'001; ++k)
      source[i].words[k] = k + static_cast<std::uint32_t>(i) * 11 + static_cast<std::uint32_t>(me);
  }
  auto const add = [](large_element const& x, large_element const& y) {
    large_element sum;
    for (int k = 0; k < 25'001; ++k) sum.words[k] = x.words[k] + y.words[k];
    return sum;
  };
  std::vector<large_element> dest(source.size());
  upcxx::reduce_all(source.data(), dest.data(), source.size(), add).wait();
  auto const un = static_cast<std::uint32_t>(n);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    for (std::uint32_t k = 0; k < 25'001; ++k)
      wrong += dest[i].words[k] != un * (k + static_cast<std::uint32_t>(i) * 11) + un * (un - 1) / 2 ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0U);
}

TEST_F(by_messages, gathers_of_sizes_around_every_limit) {
  std::vector<std::size_t> of_blocks{0, 1, 8, 13};
  for (std::size_t const limit : {eager / 4, eager, segment / 4, segment, window * segment / 2}) {
    for (std::size_t const size : {limit - 1, limit, limit + 1}) of_blocks.push_back(size);
  }
  for (std::size_t const size : of_blocks) {
    std::vector<std::uint8_t> mine(size);
    multirank::fill_pattern(mine.data(), size, me, 5);
    std::vector<std::uint8_t> all(size * static_cast<std::size_t>(n) + 1, multirank::guard_byte);
    gather_all(mine.data(), size, all.data());
    for (int r = 0; r < n; ++r) {
      std::size_t const bad =
          multirank::first_mismatch(all.data() + size * static_cast<std::size_t>(r), size, r, 5);
      EXPECT_EQ(bad, size) << "block of rank " << r;
    }
    EXPECT_EQ(all.back(), multirank::guard_byte);
  }
}

TEST_F(by_messages, serialised_objects_of_every_size) {
  if (!combines_in_order()) GTEST_SKIP() << "several hosts";
  auto const text = [](int rank, std::size_t size) {
    std::string s(size, ' ');
    for (std::size_t i = 0; i < size; ++i)
      s[i] = static_cast<char>('a' + (i * 7 + i / 97 + static_cast<std::size_t>(rank)) % 26);
    return s;
  };
  auto const append = [](std::string const& x, std::string const& y) { return x + y; };
  for (std::size_t const size : sizes()) {
    int const root = static_cast<int>(size % static_cast<std::size_t>(n));
    std::string const sent = me == root ? text(root, size) : std::string();
    EXPECT_TRUE(upcxx::experimental::broadcast_nontrivial(sent, root).wait() == text(root, size)) << size;
    std::string together;
    for (int r = 0; r < n; ++r) together += text(r, size);
    EXPECT_TRUE(upcxx::experimental::reduce_all_nontrivial(text(me, size), append).wait() == together)
        << size;
    std::string const one = upcxx::experimental::reduce_one_nontrivial(text(me, size), append, 0).wait();
    if (me == 0) {
      EXPECT_TRUE(one == together) << size;
    }
  }
}

// Nobody goes further ahead of a member than a few collectives: what was sent to it must lie somewhere.
TEST_F(by_messages, nobody_is_far_ahead_of_a_late_member) {
  if (!on_one_host()) GTEST_SKIP() << "looks into others' memory";
  if (n == 1) GTEST_SKIP() << "nobody is late";
  constexpr int count = 3000;
  multirank::shared_array<int> done(1);
  *done.local() = 0;
  upcxx::barrier();
  if (me == n - 1) {
    sleep_ms(150);
    EXPECT_LT(*reinterpret_cast<int volatile*>(done.at(0).local()), 1000);
  }
  for (int i = 0; i < count; ++i) {
    std::array<int, 200> values{};
    values.fill(me == 0 ? i : -1);
    upcxx::broadcast(values.data(), values.size(), 0).wait();
    EXPECT_EQ(values[199], i);
    *reinterpret_cast<int volatile*>(done.local()) = i + 1;
  }
  upcxx::barrier();
  *done.local() = 0;
  upcxx::barrier();
  // The same the other way: everyone sends to the late one.
  if (me == n - 1) {
    sleep_ms(150);
    EXPECT_LT(*reinterpret_cast<int volatile*>(done.at(0).local()), 100);
  }
  for (int i = 0; i < count; ++i) {
    long const sum = upcxx::reduce_one(1L + i, upcxx::op_fast_add, n - 1).wait();
    if (me == n - 1) {
      EXPECT_EQ(sum, (1L + i) * n);
    }
    *reinterpret_cast<int volatile*>(done.local()) = i + 1;
  }
}

TEST_F(by_messages, little_goes_ahead_to_a_late_member) {
  if (!on_one_host()) GTEST_SKIP() << "looks into others' memory";
  if (n == 1) GTEST_SKIP() << "nobody is late";
  constexpr int count = 60;
  multirank::shared_array<int> done(1);
  *done.local() = 0;
  std::vector<std::vector<int>> arrays;
  for (int i = 0; i < count; ++i) arrays.emplace_back(segment / sizeof(int), me == 0 ? i : -1);
  upcxx::barrier();
  // Those that go ahead are complete where they come from, also if nobody waits for one before he starts the next.
  // The root sends to rank 1 itself.
  if (me == 1) {
    sleep_ms(150);
    EXPECT_LE(*reinterpret_cast<int volatile*>(done.at(0).local()), 16);
  }
  std::vector<upcxx::future<>> open;
  for (auto& values : arrays) {
    open.push_back(upcxx::broadcast(values.data(), values.size(), 0).then([&] {
      *reinterpret_cast<int volatile*>(done.local()) = *done.local() + 1;
    }));
  }
  for (auto& f : open) f.wait();
  for (int i = 0; i < count; ++i)
    EXPECT_EQ(arrays[static_cast<std::size_t>(i)], std::vector<int>(segment / sizeof(int), i));
  upcxx::barrier();
}

TEST_F(by_messages, barriers_hold_until_the_last_one_comes) {
  if (!on_one_host()) GTEST_SKIP() << "looks into others' memory";
  multirank::shared_array<int> entered(1);
  *entered.local() = 0;
  upcxx::barrier();
  std::uint32_t random = 12345U + static_cast<std::uint32_t>(me) * 777U;
  for (int i = 1; i <= 60; ++i) {
    random = random * 1664525U + 1013904223U;
    if (random >> 28U == 0) sleep_ms(5);
    if (i % 12 == me + 1) sleep_ms(10);
    reinterpret_cast<std::atomic<int>*>(entered.local())->store(i);
    if (i % 3 == 0) {
      auto done = upcxx::barrier_async();
      done.wait();
    } else {
      upcxx::barrier();
    }
    for (int r = 0; r < n; ++r)
      EXPECT_GE(reinterpret_cast<std::atomic<int>*>(entered.at(r).local())->load(), i) << "rank " << r;
  }
}
