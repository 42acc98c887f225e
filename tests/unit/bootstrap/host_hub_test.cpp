// Exchanges among the ranks of a host over sockets; threads are ranks here.

#include "bootstrap/host_hub.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "bootstrap/bootstrap.hpp"

namespace atl::bootstrap {
namespace {

TEST(host_hub, one_rank_answers_itself) {
  host_hub hub;
  EXPECT_EQ(hub.exchange("alone"), std::vector<std::string>{"alone"});
}

TEST(host_hub, everybody_gets_all_blobs) {
  constexpr std::uint32_t ranks = 5;
  host_hub hub = host_hub::open(false);
  std::string const invitation = hub.invitation();
  EXPECT_LT(invitation.size(), 300U);
  auto const take_part = [&](host_hub& by, std::uint32_t me) {
    for (std::uint32_t round = 0; round < 50; ++round) {
      std::string const mine(round % 3 == 0 ? 0 : round * 20, static_cast<char>('a' + me));
      auto const all = by.exchange(mine);
      ASSERT_EQ(all.size(), ranks);
      for (std::uint32_t r = 0; r < ranks; ++r)
        EXPECT_EQ(all[r], std::string(mine.size(), static_cast<char>('a' + r)));
    }
  };
  std::vector<std::thread> others;
  for (std::uint32_t me = 1; me < ranks; ++me) {
    others.emplace_back([&, me] {
      host_hub member = host_hub::join(invitation, me);
      take_part(member, me);
    });
  }
  hub.await(ranks);
  take_part(hub, 0);
  for (auto& other : others) other.join();
  EXPECT_THROW(hub.exchange("x"), bootstrap_error) << "they are gone";
}

/// Whoever ends the job then would leave it.
TEST(host_hub, nothing_has_a_name_where_ranks_share_a_network) {
  std::string_view const in_a_folder = "/box";
  EXPECT_EQ(host_hub::open(true).invitation().find(in_a_folder), std::string::npos);
  EXPECT_NE(host_hub::open(false).invitation().find(in_a_folder), std::string::npos);
}

TEST(host_hub, letters_of_others_are_no_ranks) {
  host_hub hub = host_hub::open(true);
  std::string const right = hub.invitation();
  std::string wrong = right;
  wrong[0] = static_cast<char>(wrong[0] + 1);
  std::atomic<bool> refused{false};
  std::thread stranger([&] {
    try {
      host_hub::join(wrong, 1);
    } catch (bootstrap_error const&) {
      refused = true;
    }
  });
  testing::internal::CaptureStderr();
  // After the strangers' letters.
  std::thread rank([&] {
    while (!refused) std::this_thread::yield();
    EXPECT_EQ(host_hub::join(right, 1).exchange("1").size(), 2U);
  });
  hub.await(2);
  std::string const words = testing::internal::GetCapturedStderr();
  EXPECT_NE(words.find(atl::format(" of process %d of user %u was refused: it is another job's\n", ::getpid(),
                                   ::geteuid())),
            std::string::npos)
      << words;
  EXPECT_EQ(hub.exchange("0"), (std::vector<std::string>{"0", "1"}));
  rank.join();
  stranger.join();
  EXPECT_TRUE(refused);
}

TEST(host_hub, nonsense_and_too_much) {
  EXPECT_THROW(host_hub::join("", 1), bootstrap_error);
  EXPECT_THROW(host_hub::join(std::string(40, '\x7f'), 1), bootstrap_error);
  std::string gone;
  { gone = host_hub::open(true).invitation(); }
  EXPECT_THROW(host_hub::join(gone, 1), bootstrap_error);
  EXPECT_THROW(host_hub().exchange(std::string(2000, 'x')), bootstrap_error);
}

}  // namespace
}  // namespace atl::bootstrap
