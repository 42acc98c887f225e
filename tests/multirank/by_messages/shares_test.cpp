// Large reductions for all over several hosts, of which each combines a share: every element, sizes around each limit, and
// what a head sends.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "engine/collectives/shares.hpp"
#include "several_hosts.hpp"

namespace {

/// Of a size that divides neither a segment nor a chunk.
struct triple {
  std::uint32_t sum, least, bits;
  friend bool operator==(triple const&, triple const&) = default;
};
struct combine_triples {
  triple operator()(triple const& x, triple const& y) const {
    return {x.sum + y.sum, std::min(x.least, y.least), x.bits ^ y.bits};
  }
};
triple value_of(int rank, std::size_t i) {
  auto const r = static_cast<std::uint32_t>(rank);
  auto const k = static_cast<std::uint32_t>(i);
  return {(r + 3) * (k + 1), (r * 7919 + k * 31) % 10007, (k * 2654435761U) >> (r % 16)};
}
std::vector<triple> values_of(int rank, std::size_t count) {
  std::vector<triple> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = value_of(rank, i);
  return all;
}
std::vector<triple> results_of(int n, std::size_t count) {
  std::vector<triple> all = values_of(0, count);
  for (int r = 1; r < n; ++r) {
    for (std::size_t i = 0; i < count; ++i) all[i] = combine_triples{}(all[i], value_of(r, i));
  }
  return all;
}

/// Longer than two segments.
struct large_value {
  std::uint32_t words[33'001];
};

}  // namespace

class shares_test : public several_hosts::fixture {};

TEST_F(shares_test, every_element_of_sizes_around_every_limit) {
  std::size_t const segment = (std::size_t{64} << 10) / sizeof(triple);
  std::size_t const chunk = (std::size_t{512} << 10) / sizeof(triple);
  std::vector<std::size_t> counts{1365, 1366, 1367, 3000};
  for (std::size_t const limit :
       {segment, static_cast<std::size_t>(used_) * segment, chunk, 2 * chunk, 4 * chunk}) {
    for (std::size_t const count : {limit, limit + 1, limit + 2}) counts.push_back(count);
  }
  counts.push_back(13 * chunk + 4321);
  // A bad network takes its time.
  if (std::getenv("ATOLL_SIM_NETWORK") != nullptr)
    std::erase_if(counts, [&](auto c) { return c > chunk + 2; });
  for (std::size_t const count : counts) {
    std::vector<triple> const source = values_of(me, count);
    std::vector<triple> in_place = source;
    std::vector<triple> apart(count + 1, triple{1, 2, 3});
    auto first = upcxx::reduce_all(source.data(), apart.data(), count, combine_triples{});
    upcxx::reduce_all(in_place.data(), in_place.data(), count, combine_triples{}).wait();
    first.wait();
    std::vector<triple> const expected = results_of(n, count);
    EXPECT_TRUE(in_place == expected) << count;
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), apart.begin())) << count;
    EXPECT_EQ(apart[count], (triple{1, 2, 3})) << count;
    EXPECT_TRUE(source == values_of(me, count)) << count;
  }
}

TEST_F(shares_test, fewer_elements_than_hosts) {
  auto const add = [](large_value const& x, large_value const& y) {
    large_value sum;
    for (std::size_t k = 0; k < std::size(sum.words); ++k) sum.words[k] = x.words[k] + y.words[k];
    return sum;
  };
  auto const un = static_cast<std::uint32_t>(n);
  for (std::size_t count = 1; count <= static_cast<std::size_t>(used_) + 1; count += count == 1 ? 1 : 3) {
    std::vector<large_value> values(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t k = 0; k < 33'001; ++k)
        values[i].words[k] = (k + i) * (static_cast<std::uint32_t>(me) + 1);
    }
    upcxx::reduce_all(values.data(), values.data(), count, add).wait();
    std::size_t wrong = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t k = 0; k < 33'001; ++k)
        wrong += values[i].words[k] != (k + i) * (un * (un + 1) / 2) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0U) << count;
  }
}

TEST_F(shares_test, all_ranks_get_the_same_bits) {
  for (std::size_t const count : {std::size_t{2100}, std::size_t{30'001}, std::size_t{150'007}}) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = 1.0 / (me * 3.7 + static_cast<double>(i) + 1.1);
    for (int again = 0; again < 2; ++again) {
      std::vector<double> sums(count);
      if (me == again % n) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      upcxx::reduce_all(values.data(), sums.data(), count, upcxx::op_fast_add).wait();
      std::uint64_t hash = count;
      for (double const v : sums) hash = hash * 0x9E3779B97F4A7C15ULL + std::bit_cast<std::uint64_t>(v);
      EXPECT_EQ(upcxx::reduce_all(hash, upcxx::op_fast_min).wait(), hash) << count;
      EXPECT_EQ(upcxx::reduce_all(hash, upcxx::op_fast_max).wait(), hash) << count;
      static std::uint64_t first;
      if (again == 0) first = hash;
      EXPECT_EQ(hash, first) << "another order than before";
    }
  }
}

// Who stands for a host sends each share but one up, and each but one to all; down a tree, its root sends the whole array
// to each of its children.
TEST_F(shares_test, a_head_sends_twice_all_shares_but_its_own) {
  std::size_t const of_share = 4000;
  std::size_t const count = of_share * static_cast<std::size_t>(used_);
  std::vector<double> values(count, me + 1.0);
  crossing([&] { upcxx::reduce_all(values.data(), values.data(), count, upcxx::op_fast_add).wait(); });
  EXPECT_EQ(values, std::vector<double>(count, n * (n + 1) / 2.0));
  EXPECT_EQ(bytes_between_hosts(), leads() ? 2 * (count - of_share) * sizeof(double) : 0);
}

TEST_F(shares_test, many_are_open_while_one_is_late) {
  constexpr std::uint32_t count = 12;
  upcxx::team reversed = upcxx::world().split(0, -me);
  std::vector<std::vector<triple>> arrays;
  std::vector<upcxx::future<>> done;
  std::size_t const size = 60'000;
  std::vector<triple> const mine = values_of(me, size);
  if (me == n / 2) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  for (std::uint32_t i = 0; i < count; ++i) {
    arrays.push_back(mine);
    done.push_back(upcxx::reduce_all(arrays.back().data(), arrays.back().data(), size, combine_triples{},
                                     i % 2 == 0 ? upcxx::world() : reversed));
    if (i == 3 && me == n - 1) multirank::poll(500);
  }
  for (auto f = done.rbegin(); f != done.rend(); ++f) f->wait();
  std::vector<triple> const expected = results_of(n, size);
  for (std::vector<triple> const& a : arrays) EXPECT_TRUE(a == expected);
  reversed.destroy();
}

// Of all ways to divide arrays among hosts.
TEST(shares, are_each_element_once) {
  for (std::int32_t const hosts : {2, 3, 5, 8, 13}) {
    for (std::size_t const count : {std::size_t{1}, std::size_t{4}, std::size_t{7}, std::size_t{1000}}) {
      atl::engine::shares const all{hosts, count};
      std::size_t together = 0;
      for (std::int32_t h = 0; h < hosts; ++h) {
        atl::engine::stretch const one = all.of(h, 1);
        EXPECT_EQ(one.begin, together);
        together += one.count;
        EXPECT_LE(one.count, (count + static_cast<std::size_t>(hosts) - 1) / static_cast<std::size_t>(hosts));
        // Around the end, and counted from before the front.
        atl::engine::stretch const others = all.of(h + 1 - hosts, hosts - 1);
        EXPECT_EQ(others.count, count - one.count);
        EXPECT_EQ(others.begin, (one.begin + one.count) % count);
      }
      EXPECT_EQ(together, count);
    }
  }
}
