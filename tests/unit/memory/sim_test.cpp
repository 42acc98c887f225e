// Simulated devices: memory that cannot be touched, and copies that complete late and in any order.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "memory/sim/sim_kind.hpp"

namespace atl::memory::sim {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// Remembers when copies landed.
struct watched : copy_record {
  int number = -1;
  std::vector<int>* order = nullptr;
  watched() : copy_record{&note} {}
  static void note(copy_record* record) noexcept {
    auto* const self = static_cast<watched*>(record);
    self->order->push_back(self->number);
  }
};

sim_kind make(std::uint64_t seed = 7) { return sim_kind({kind_id::cuda, 2, 4 * mib, seed}); }

/// Copies and waits.
void move(sim_kind& kind, copy_end to, copy_end from, std::size_t bytes) {
  std::vector<int> order;
  watched record;
  record.order = &order;
  kind.copy(to, from, bytes, 0, &record, nullptr);
  for (int i = 0; order.empty() && i < 1000; ++i) kind.poll();
  ASSERT_EQ(order.size(), 1u);
}

copy_end host(void const* at) { return {nullptr, reinterpret_cast<std::uintptr_t>(at)}; }

TEST(sim, bytes_go_in_and_come_out_through_copies_only) {
  sim_kind kind = make();
  auto const segment = kind.create(0, 3 * 4096 + 5, nullptr);
  EXPECT_EQ(segment->bytes(), 3u * 4096 + 5);
  std::vector<int> in(100);
  std::vector<int> out(100, -1);
  std::iota(in.begin(), in.end(), 5);
  move(kind, {segment.get(), segment->base() + 64}, host(in.data()), 400);
  move(kind, {segment.get(), segment->base() + 8192}, {segment.get(), segment->base() + 64}, 400);
  move(kind, host(out.data()), {segment.get(), segment->base() + 8192}, 400);
  EXPECT_EQ(in, out);
  int const answer[2] = {1, 2};
  move(kind, host(out.data()), host(answer), 0);
  EXPECT_EQ(in, out);
}

TEST(sim, pinned_memory_stays_so_while_copies_concern_it) {
  alignas(4096) static std::byte memory[3 * 4096];
  sim_kind kind = make();
  auto const segment = kind.create(0, mib, nullptr);
  memory_range const pages{memory + 4096, 4096};
  EXPECT_FALSE(kind.is_pinned(pages));
  EXPECT_EQ(kind.pin(pages, pages), "");
  EXPECT_TRUE(kind.is_pinned(pages));
  EXPECT_TRUE(kind.streams()->is_pinned(memory + 5000, 100, false));
  EXPECT_FALSE(kind.streams()->is_pinned(memory + 4095, 2, false));
  std::vector<int> order;
  watched records[2];
  for (watched& record : records) record.order = &order;
  kind.copy({segment.get(), segment->base()}, host(memory), 4097, 0, &records[0], nullptr);
  kind.copy(host(memory + 8191), {segment.get(), segment->base()}, 100, 0, &records[1], nullptr);
  for (int i = 0; order.size() < 2 && i < 1000; ++i) {
    EXPECT_FALSE(kind.unpin(pages));
    kind.poll();
  }
  EXPECT_TRUE(kind.unpin(pages));
  EXPECT_FALSE(kind.is_pinned(pages));
}

TEST(sim_death, touching_device_memory_faults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  sim_kind kind = make();
  auto const segment = kind.create(0, 4096, nullptr);
  EXPECT_DEATH(*reinterpret_cast<int volatile*>(segment->base()) = 1, "");
}

TEST(sim, copies_do_nothing_before_poll_and_land_in_an_order_that_the_seed_chooses) {
  std::vector<std::vector<int>> orders;
  for (std::uint64_t const seed : {1, 1, 2}) {
    sim_kind kind = make(seed);
    auto const segment = kind.create(1, mib, nullptr);
    std::vector<int> order;
    std::vector<watched> records(50);
    std::vector<int> values(50);
    std::iota(values.begin(), values.end(), 0);
    int landed = -1;
    for (int i = 0; i < 50; ++i) {
      records[static_cast<std::size_t>(i)].number = i;
      records[static_cast<std::size_t>(i)].order = &order;
      kind.copy({segment.get(), segment->base() + static_cast<std::uint64_t>(i) * 4},
                host(&values[static_cast<std::size_t>(i)]), 4, 0, &records[static_cast<std::size_t>(i)],
                nullptr);
    }
    EXPECT_TRUE(order.empty());
    std::size_t fruitless = 0;
    while (order.size() < 50) fruitless += kind.poll() ? 0 : 1;
    EXPECT_GT(fruitless, 0u);
    move(kind, host(&landed), {segment.get(), segment->base() + 49 * 4}, 4);
    EXPECT_EQ(landed, 49);
    orders.push_back(order);
  }
  EXPECT_FALSE(std::is_sorted(orders[0].begin(), orders[0].end()));
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
  std::sort(orders[0].begin(), orders[0].end());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(orders[0][static_cast<std::size_t>(i)], i);
}

TEST(sim, an_imported_segment_is_the_same_memory) {
  sim_kind owner = make();
  sim_kind peer = make();
  auto own = owner.create(0, 10000, nullptr);
  os::unique_fd descriptor;
  export_record const record = owner.export_segment(*own, descriptor);
  EXPECT_EQ(record.reach, export_record::way::descriptor);
  auto const theirs = peer.import_segment(record, std::move(descriptor), own->base(), own->bytes());
  int const in = 4711;
  int out = 0;
  move(peer, {theirs.get(), theirs->base() + 9000}, host(&in), 4);
  move(owner, host(&out), {own.get(), own->base() + 9000}, 4);
  EXPECT_EQ(out, 4711);
  own.reset();  // the memory lives as long as somebody has it
  out = 0;
  move(peer, host(&out), {theirs.get(), theirs->base() + 9000}, 4);
  EXPECT_EQ(out, 4711);
}

TEST(sim, memory_of_the_program_becomes_device_memory_and_comes_back_with_its_content) {
  sim_kind kind = make();
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const mine =
      static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::strcpy(mine + page, "before");
  auto segment = kind.create(0, 2 * page, mine + page);
  EXPECT_EQ(segment->base(), reinterpret_cast<std::uintptr_t>(mine + page));
  mine[0] = mine[3 * page] = 'x';  // the neighbours stay the program's
  char out[8] = {};
  move(kind, host(out), {segment.get(), segment->base()}, 7);
  EXPECT_STREQ(out, "before");
  move(kind, {segment.get(), segment->base() + page}, host("after"), 6);
  segment.reset();
  EXPECT_STREQ(mine + page, "before");
  EXPECT_STREQ(mine + 2 * page, "after");
  EXPECT_THROW(kind.create(0, page, mine + 8), segment_error);
  munmap(mine, 4 * page);
}

TEST(sim, segments_beyond_the_size_of_a_device_are_refused_with_the_numbers) {
  sim_kind kind = make();
  try {
    kind.create(1, 5 * mib, nullptr);
    ADD_FAILURE() << "5 MiB of 4 MiB";
  } catch (segment_error const& problem) {
    EXPECT_NE(std::string(problem.what()).find("device 1 has 4 MiB, but 5 MiB"), std::string::npos)
        << problem.what();
  }
}

TEST(sim, devices_tell_themselves_apart) {
  sim_kind const kind = make();
  EXPECT_EQ(kind.uuid(0).size(), 36u);
  EXPECT_NE(kind.uuid(0), kind.uuid(1));
  EXPECT_EQ(kind.uuid(0), make().uuid(0));
  EXPECT_NE(kind.uuid(0), sim_kind({kind_id::hip, 1, mib, 1}).uuid(0));
  EXPECT_NE(kind.info().find("cuda device 1"), std::string::npos);
}

TEST(make_kinds, follows_the_settings) {
  // The machine may have devices of its own.
  for (char const* const driver : {"ATOLL_CUDA_DRIVER", "ATOLL_HIP_DRIVER", "ATOLL_ZE_DRIVER"})
    setenv(driver, "none", 1);
  unsetenv("ATOLL_SIM_DEVICES");
  EXPECT_TRUE(make_kinds().empty());
  setenv("ATOLL_SIM_DEVICES", "3", 1);
  setenv("ATOLL_SIM_KIND", "hip", 1);
  auto kinds = make_kinds();
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_EQ(kinds[0]->id(), kind_id::hip);
  EXPECT_EQ(kinds[0]->device_n(), 3);
  setenv("ATOLL_SIM_KIND", "all", 1);
  EXPECT_EQ(make_kinds().size(), 3u);
  unsetenv("ATOLL_SIM_DEVICES");
  unsetenv("ATOLL_SIM_KIND");
}

}  // namespace
}  // namespace atl::memory::sim
