#include "bootstrap/board.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/os/memfd.hpp"

namespace {

using atl::bootstrap::board;

std::string const job = "0123456789abcdef0123456789abcdef";

TEST(board, opened_board_is_the_created_one) {
  board created = board::create(3, job, {});
  board opened = board::open(::dup(created.descriptor()), job);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened.header().ranks, 3U);
  EXPECT_EQ(opened.header().launcher_pid, ::getpid());
  created.slot(2).diagnostics.peer = 17;
  EXPECT_EQ(opened.slot(2).diagnostics.peer, 17);
}

TEST(board, other_files_and_other_jobs_are_not_boards) {
  EXPECT_FALSE(board::open(-1, job));
  EXPECT_FALSE(board::open(STDOUT_FILENO, job));
  auto const other = atl::os::make_sealed_memfd("other", 1 << 20);
  EXPECT_FALSE(board::open(other.get(), job));
  board created = board::create(1, job, {});
  EXPECT_FALSE(board::open(created.descriptor(), "another job"));
}

TEST(board, another_version_is_an_error) {
  board created = board::create(1, job, {});
  created.header().slot_bytes += 1;
  int const copy = ::dup(created.descriptor());
  EXPECT_THROW(board::open(copy, job), atl::startup_error);
  ::close(copy);
}

TEST(board, memory_is_sealed) {
  board created = board::create(1, job, {});
  EXPECT_NE(::ftruncate(created.descriptor(), 0), 0);
  EXPECT_TRUE(atl::os::is_sealed_memfd(created.descriptor()));
}

TEST(board, overrides_are_found_by_their_whole_name) {
  board const created = board::create(1, job, {"NAME=value", "NAMESAKE=other", "EMPTY="});
  EXPECT_STREQ(created.override_of("NAME"), "value");
  EXPECT_STREQ(created.override_of("NAMESAKE"), "other");
  EXPECT_STREQ(created.override_of("EMPTY"), "");
  EXPECT_EQ(created.override_of("NAM"), nullptr);
}

TEST(board, of_several_overrides_the_last_one_counts) {
  board const created = board::create(1, job, {"A=1", "B=3", "A=2"});
  EXPECT_STREQ(created.override_of("A"), "2");
  EXPECT_STREQ(created.override_of("B"), "3");
}

TEST(board, barrier_holds_until_all_have_come) {
  constexpr int ranks = 5;
  constexpr int rounds = 200;
  board created = board::create(ranks, job, {});
  std::vector<int> values(ranks, 0);  // plain: the barrier alone orders the accesses
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      for (int round = 1; round <= rounds; ++round) {
        values[static_cast<std::size_t>(rank)] = round;
        if (!created.barrier()) ++wrong;
        for (int const value : values) wrong += value == round ? 0 : 1;
        if (!created.barrier()) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(board, end_of_the_job_releases_waiting_ranks) {
  board created = board::create(2, job, {});
  std::atomic<bool> result{true};
  std::thread waiting([&] { result = created.barrier(); });
  while (created.header().arrived.load() == 0) std::this_thread::yield();
  created.end();
  waiting.join();
  EXPECT_FALSE(result);
}

}  // namespace
