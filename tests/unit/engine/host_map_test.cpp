// Addresses and ranks, where the ranks of the host are consecutive and where they are not.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "bootstrap/placement.hpp"
#include "engine/host/set_host_map.hpp"

namespace atl::engine {
namespace {

constexpr std::size_t stride = 65536;
constexpr std::size_t heap_begin = 256;
constexpr std::size_t heap_end = 3000;

class host_map_of : public ::testing::TestWithParam<std::vector<std::int32_t>> {
 protected:
  void TearDown() override { hosts = {}; }
};

TEST_P(host_map_of, translates_both_ways) {
  auto const size = static_cast<std::uint32_t>(GetParam().size());
  std::vector<std::byte> room(stride * (size + 1));
  std::byte* const memory = room.data() + 1000;
  for (std::uint32_t me = 0; me < size; ++me) {
    bootstrap::placement const here = bootstrap::place(static_cast<std::int32_t>(me), GetParam());
    host_map map{};
    map.stride = stride;
    map.region_bytes = heap_end;
    map.heap_begin = heap_begin;
    map.heap_end = heap_end;
    set_host_map(here, memory, map);
    ASSERT_EQ(hosts.own_rank(), me);
    std::size_t local = 0;
    for (std::uint32_t r = 0; r < size; ++r) {
      bool const mine = here.host_of(static_cast<std::int32_t>(r)) == here.host;
      ASSERT_EQ(hosts.is_local(r), mine) << r << " seen by " << me;
      if (!mine) {
        ASSERT_EQ(hosts.find_address(r, heap_begin), nullptr);
        continue;
      }
      std::byte* const region = memory + local++ * stride;
      for (std::uint64_t const offset : {heap_begin, std::size_t{1000}, heap_end - 1}) {
        ASSERT_EQ(hosts.to_address(r, offset), region + offset);
        ASSERT_EQ(hosts.find_address(r, offset), region + offset);
        ASSERT_EQ(hosts.find_address(r, offset, hosts.whole()), region + offset);
        ASSERT_EQ(hosts.find_address(r, offset, host_map::reach{}), nullptr);
        ASSERT_EQ(hosts.from_address(region + offset), (host_address{r, offset}));
      }
      for (std::uint64_t const offset : {std::size_t{0}, heap_begin - 1, heap_end, stride - 1})
        ASSERT_EQ(hosts.from_address(region + offset), std::nullopt);
    }
    ASSERT_EQ(local, static_cast<std::size_t>(here.local_size));
    ASSERT_EQ(hosts.from_address(memory - 1), std::nullopt);
    ASSERT_EQ(hosts.from_address(memory + local * stride + heap_begin), std::nullopt);
    ASSERT_EQ(hosts.from_address(nullptr), std::nullopt);
    for (std::uint32_t const r : {size, std::uint32_t{1} << 31, ~std::uint32_t{0}})
      ASSERT_TRUE(!hosts.is_local(r) && hosts.find_address(r, heap_begin) == nullptr) << r;
  }
}

INSTANTIATE_TEST_SUITE_P(layouts, host_map_of,
                         ::testing::Values(std::vector<std::int32_t>{0},
                                           std::vector<std::int32_t>{0, 0, 0, 0},
                                           std::vector<std::int32_t>{0, 0, 1, 1, 1},
                                           std::vector<std::int32_t>{0, 1, 0, 1, 0, 1},
                                           std::vector<std::int32_t>{0, 0, 1, 1, 0, 0, 1, 1},
                                           std::vector<std::int32_t>{2, 0, 0, 1, 0, 0, 0, 2, 1, 0}));

TEST(host_map, before_init_nothing_is_local) {
  int variable = 0;
  EXPECT_FALSE(hosts.is_local(0));
  EXPECT_EQ(hosts.find_address(0, 64), nullptr);
  EXPECT_EQ(hosts.from_address(&variable), std::nullopt);
}

}  // namespace
}  // namespace atl::engine
