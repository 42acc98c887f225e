// Large broadcasts and reductions to one over several hosts, which go from host to host.

#include <cstdint>
#include <cstdlib>

#include "several_hosts.hpp"

namespace {

constexpr std::size_t segment_size = std::size_t{64} << 10;

}  // namespace

class chain_test : public several_hosts::fixture {
 protected:
  /// Broadcasts and checks every byte; what this rank sent to other hosts.
  std::size_t broadcast(std::size_t size, int root, int salt) {
    constexpr std::size_t around = 64;
    std::vector<std::uint8_t> buffer(size + 2 * around, multirank::guard_byte);
    if (me == root) multirank::fill_pattern(buffer.data() + around, size, root, salt);
    crossing([&] { upcxx::broadcast(buffer.data() + around, size, root).wait(); });
    EXPECT_TRUE(multirank::holds_only(buffer.data(), buffer.size(), around, size, root, salt))
        << size << " from " << root;
    return bytes_between_hosts();
  }
};

TEST_F(chain_test, every_byte_of_sizes_around_every_limit) {
  int salt = 0;
  for (std::size_t const limit : {4 * segment_size, 5 * segment_size, 9 * segment_size}) {
    for (std::size_t const size : {limit - 1, limit, limit + 1}) {
      ++salt;
      broadcast(size, static_cast<int>(size % static_cast<std::size_t>(n)), salt);
    }
    if (std::getenv("ATOLL_SIM_NETWORK") != nullptr) break;  // a bad one takes its time
  }
}

TEST_F(chain_test, no_head_sends_an_array_twice) {
  std::size_t const size = 12 * segment_size + 100;
  for (int const root : {0, n - 1, n / 2}) {
    std::size_t const sent = broadcast(size, root, 7);
    EXPECT_LE(sent, size);
    EXPECT_EQ(upcxx::reduce_all(sent, upcxx::op_fast_add).wait(), size * static_cast<std::size_t>(used_ - 1));
    if (me == root) {
      EXPECT_EQ(sent, size);
    }
  }
}

// At the root of a binomial tree the arrays of several hosts arrive.
TEST_F(chain_test, one_array_comes_to_the_root) {
  for (std::size_t const count :
       {4 * segment_size / 8, 7 * segment_size / 8 + 1, 14 * segment_size / 8 - 1}) {
    for (int const root : {0, n - 1}) {
      std::vector<long> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = (me + 1L) * (static_cast<long>(i) + 3);
      std::vector<long> sums(count, -1);
      crossing(
          [&] { upcxx::reduce_one(values.data(), sums.data(), count, upcxx::op_fast_add, root).wait(); });
      if (me == root) {
        long const ranks = n * (n + 1L) / 2;
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(sums[i], ranks * (static_cast<long>(i) + 3)) << i;
      }
      std::size_t const to_root =
          upcxx::reduce_all(bytes_to_host(several_hosts::place(root)), upcxx::op_fast_add).wait();
      if (count > 10 * segment_size / 8) {
        EXPECT_EQ(to_root, count * sizeof(long));
      }
    }
  }
}
