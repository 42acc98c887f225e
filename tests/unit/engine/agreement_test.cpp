// Which network a job uses. Ranks are threads with a channel between them.

#include "engine/network/agreement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace atl::engine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct board {
  explicit board(std::size_t ranks) : words(ranks), meeting(static_cast<std::ptrdiff_t>(ranks)) {}
  std::vector<std::string> words;
  std::barrier<> meeting;
};

class channel_of_thread final : public bootstrap::channel {
 public:
  channel_of_thread(board& shared, std::size_t rank) : shared_(shared), rank_(rank) {}
  std::string_view name() const override { return "threads"; }
  bootstrap::placement const& where() const override { return where_; }
  std::string_view job_id() const override { return "1"; }
  std::vector<std::string> exchange(std::string_view mine) override {
    EXPECT_LE(mine.size(), 1024U);
    shared_.words[rank_] = mine;
    shared_.meeting.arrive_and_wait();
    std::vector<std::string> all = shared_.words;
    shared_.meeting.arrive_and_wait();
    return all;
  }
  void publish(std::string_view /*card*/) override {}
  std::string published_by(std::int32_t /*rank*/) override { return {}; }
  rank_diagnostics& diagnostics() override { return diagnostics_; }
  char const* console_env(char const* /*name*/) override { return nullptr; }
  [[noreturn]] void abort(int /*exit_code*/) override { std::abort(); }
  void mark(rank_state /*state*/) override {}

 private:
  board& shared_;
  std::size_t rank_;
  bootstrap::placement where_;
  rank_diagnostics diagnostics_;
};

struct outcome {
  agreement found;
  std::vector<std::string> tried;
};

/// What a rank wants, and what is wrong with those that it cannot open.
struct wishes {
  std::vector<std::string> names{"ucx", "ofi"};
  std::map<std::string, std::string> broken;
  standpoint self{"1", "pi", "abc", "a", {}};
};

std::vector<outcome> agree(std::vector<wishes> const& ranks) {
  board shared(ranks.size());
  std::vector<outcome> all(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] {
      channel_of_thread channel(shared, r);
      all[r].found = agree_on_network(channel, ranks[r].self, ranks[r].names, [&](std::string const& name) {
        all[r].tried.push_back(name);
        auto const found = ranks[r].broken.find(name);
        return found == ranks[r].broken.end() ? std::string() : found->second;
      });
    });
  }
  for (std::thread& each : threads) each.join();
  return all;
}

TEST(agreement, the_first_that_all_have_and_nothing_else_is_tried) {
  for (outcome const& each : agree(std::vector<wishes>(3))) {
    EXPECT_EQ(each.found.name, "ucx");
    EXPECT_EQ(each.found.passed_over, "");
    EXPECT_THAT(each.tried, ElementsAre("ucx"));
  }
}

TEST(agreement, what_one_rank_lacks_nobody_uses) {
  std::vector<wishes> ranks(4);
  ranks[2].broken["ucx"] = "no device";
  std::vector<outcome> const all = agree(ranks);
  for (std::size_t r = 0; r < all.size(); ++r) {
    EXPECT_EQ(all[r].found.name, "ofi");
    EXPECT_THAT(all[r].found.passed_over, AllOf(HasSubstr("ucx: not on "), HasSubstr(": no device")));
    EXPECT_EQ(all[r].found.has_better, r != 2);
    EXPECT_THAT(all[r].tried, ElementsAre("ucx", "ofi"));
  }
}

TEST(agreement, where_each_is_lacked_by_somebody_all_hear_by_whom_and_why) {
  std::vector<wishes> ranks(3);
  ranks[0].broken["ofi"] = std::string(2000, 'x');  // cut, or it would not fit
  ranks[1].broken["ucx"] = "no device";
  for (outcome const& each : agree(ranks)) {
    EXPECT_EQ(each.found.name, "");
    EXPECT_THAT(each.found.passed_over,
                AllOf(HasSubstr("ucx: not on "), HasSubstr("ofi: not on "), HasSubstr("xxx")));
  }
}

TEST(agreement, ranks_that_want_different_ones_are_told_so) {
  std::vector<wishes> ranks(3);
  ranks[1].names = {"ofi"};
  ranks[2].broken["ucx"] = "no device";
  for (outcome const& each : agree(ranks)) {
    EXPECT_EQ(each.found.name, "");
    EXPECT_THAT(each.found.passed_over,
                AllOf(HasSubstr("ATOLL_TRANSPORTS"), HasSubstr("ucx,ofi"), HasSubstr("some ofi")));
    EXPECT_EQ(each.tried.size(), 1U);
  }
}

TEST(agreement, ranks_with_another_library_are_told_so) {
  std::vector<wishes> ranks(3);
  ranks[2].self.build = "2";
  for (outcome const& each : agree(ranks)) {
    EXPECT_EQ(each.found.name, "");
    EXPECT_THAT(each.found.passed_over, HasSubstr("have different builds of libatoll (1, 2)"));
    EXPECT_EQ(each.tried.size(), 1U);
  }
}

TEST(agreement, who_has_only_the_loop_back_device_is_reached_in_its_own_system_alone) {
  std::vector<wishes> ranks(3);
  for (wishes& each : ranks) each.self.no_way_out = "no network device but lo: eth0 has no carrier";
  for (outcome const& each : agree(ranks)) {
    EXPECT_EQ(each.found.name, "ucx");
    EXPECT_TRUE(each.found.one_system);
  }
  ranks[0].self.no_way_out.clear();
  ranks[2].self.no_way_out.clear();
  ranks[2].self.system = "b";
  ranks[2].broken["ucx"] = std::string(2000, 'x');
  for (outcome const& each : agree(ranks)) {
    EXPECT_EQ(each.found.name, "");
    EXPECT_FALSE(each.found.one_system);
    EXPECT_THAT(each.found.passed_over, testing::EndsWith("no network device but lo: eth0 has no carrier"));
  }
  ranks[1].self.no_way_out.clear();
  for (outcome const& each : agree(ranks)) EXPECT_EQ(each.found.name, "ofi");
}

TEST(agreement, builds_of_one_program_that_differ_are_named) {
  std::vector<wishes> ranks(4);
  ranks[1].self.program = "another program";
  ranks[1].self.program_build = "def";
  for (outcome const& each : agree(ranks)) EXPECT_EQ(each.found.programs, "") << "they are meant to differ";
  ranks[3].self.program_build = "def";
  ranks[2].broken["ucx"] = std::string(2000, 'x');
  ranks[2].self.no_way_out = std::string(2000, 'y');
  for (outcome const& each : agree(ranks)) {
    EXPECT_EQ(each.found.name, "ofi");
    EXPECT_THAT(each.found.programs, testing::MatchesRegex("pi: .+ has abc, .+ has def"));
  }
}

}  // namespace
}  // namespace atl::engine
