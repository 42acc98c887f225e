// The host domain: whose page is where, staging memory, and asking peers where they are.

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "engine/collectives/staging.hpp"
#include "engine/host/call_sites.hpp"
#include "ranks_in_memory.hpp"

namespace atl::engine {
namespace {

TEST(host_domain, knows_its_ranks_and_no_others) {
  ranks_in_memory ranks(3, 6);
  host_domain const& host = ranks.seen_by(1);
  EXPECT_EQ(host.count(), 3U);
  EXPECT_EQ(host.me(), 1U);
  for (std::int32_t const rank : {-1, 0, 5, 9}) EXPECT_FALSE(host.has(rank)) << rank;
  for (std::uint32_t local = 0; local < 3; ++local) {
    EXPECT_TRUE(host.has(host.world_rank(local)));
    EXPECT_EQ(host.local_rank(host.world_rank(local)), local);
  }
  EXPECT_EQ(host.world_rank(0), 6);
}

TEST(host_domain, all_ranks_see_the_same_pages) {
  ranks_in_memory ranks(3);
  for (std::uint32_t me = 0; me < 3; ++me) ranks.seen_by(me).own_page().own_address = me + 1;
  for (std::uint32_t me = 0; me < 3; ++me) {
    for (std::uint32_t peer = 0; peer < 3; ++peer)
      EXPECT_EQ(ranks.seen_by(me).page(peer).own_address, peer + 1);
  }
}

TEST(host_domain, wakes_the_rank_that_it_is_told_to) {
  ranks_in_memory ranks(2);
  host_domain const& sleeper = ranks.seen_by(1);
  EXPECT_FALSE(ranks.seen_by(0).anybody_sleeps());
  std::uint32_t const announced = sleeper.announce_sleep();
  EXPECT_TRUE(ranks.seen_by(0).anybody_sleeps());
  ranks.seen_by(0).wake(0);
  EXPECT_EQ(sleeper.own_page().bell.word.load(), announced) << "another rank was woken";
  ranks.seen_by(0).wake(1);
  EXPECT_NE(sleeper.own_page().bell.word.load(), announced);
  sleeper.sleep(announced, 20'000'000'000);  // returns at once: the bell has rung
  sleeper.withdraw_sleep();
  EXPECT_FALSE(ranks.seen_by(0).anybody_sleeps());
}

TEST(host_domain, staging_lies_in_the_own_region_and_ends) {
  ranks_in_memory ranks(2, 0, 16384);  // of which half may be staging memory
  host_domain const& host = ranks.seen_by(1);
  std::uint64_t const block = host.take_staging(4096);
  ASSERT_NE(block, host_domain::no_room);
  EXPECT_GE(block, ranks_in_memory::transit_offset);
  EXPECT_LE(block + 4096, ranks_in_memory::transit_offset + 16384);
  EXPECT_EQ(host.take_staging(8192), host_domain::no_room);
  host.give_staging(block);
  EXPECT_NE(host.take_staging(8192), host_domain::no_room);
}

TEST(staging_blocks, are_used_again_when_all_have_left_them) {
  ranks_in_memory ranks(1, 0, 1 << 20);
  staging_blocks blocks(ranks.seen_by(0));
  std::uint64_t const first = blocks.next(1000, 0);
  blocks.used_in(1);
  std::uint64_t const second = blocks.next(1000, 0);
  blocks.used_in(2);
  EXPECT_NE(first, second) << "peers still read the first";
  EXPECT_EQ(blocks.first_use(), 0U) << "blocks that were never used do no harm";
  EXPECT_EQ(blocks.next(1000, 1), first);
  blocks.used_in(3);
  blocks.next(1000, 1);
  blocks.used_in(4);
  blocks.next(1000, 1);
  blocks.used_in(5);
  EXPECT_EQ(blocks.next(1000, 1), staging_blocks::later);
  EXPECT_EQ(blocks.first_use(), 2U);
  EXPECT_EQ(blocks.next(1000, 2), second);
}

TEST(staging_blocks, say_so_when_there_is_no_room_and_give_back_what_they_had) {
  ranks_in_memory ranks(1, 0, 16384);
  host_domain const& host = ranks.seen_by(0);
  {
    staging_blocks blocks(host);
    EXPECT_NE(blocks.next(4096, 0), staging_blocks::none);
    blocks.used_in(1);
    EXPECT_EQ(blocks.next(8192, 0), staging_blocks::later) << "there is room when the first block is left";
    EXPECT_NE(blocks.next(8192, 1), staging_blocks::none);
    EXPECT_EQ(blocks.next(16384, 1), staging_blocks::none);
  }
  EXPECT_NE(host.take_staging(8192), host_domain::no_room);
}

TEST(call_sites, are_told_by_a_rank_that_waits) {
  ranks_in_memory ranks(2);
  std::atomic<bool> over{false};
  std::thread peer([&] {
    while (!over.load()) {
      answer_call_site(ranks.seen_by(1));
      std::this_thread::yield();
    }
  });
  call_site_text& site = ranks.seen_by(0).page(1).site;
  std::string const text = ask_call_site(ranks.seen_by(0), 1);
  over = true;
  peer.join();
  EXPECT_EQ(site.ready.load(), 1U);
  EXPECT_EQ(text, site.text);
  EXPECT_EQ(ranks.seen_by(0).own_page().site.ready.load(), 1U) << "the peer may ask us";
}

TEST(call_sites, of_a_rank_that_computes_stay_unknown) {
  ranks_in_memory ranks(2);
  EXPECT_EQ(ask_call_site(ranks.seen_by(0), 1), "");
  EXPECT_EQ(ranks.seen_by(1).own_page().site.asked.load(), 1U);
}

}  // namespace
}  // namespace atl::engine
