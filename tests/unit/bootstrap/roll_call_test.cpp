// Processes of a node as launchers start them, and as wrappers and containers change that.

#include "bootstrap/roll_call.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

using atl::bootstrap::call_roll;
using atl::os::listed_process;
using ranks = std::vector<std::int32_t>;

/// A launcher's process, 10, with ranks 4 to 7 as 104 to 107; this one is 104.
struct node {
  std::vector<listed_process> all{{1, 0, false, "init"},       {10, 1, false, "hydra_pmi_proxy"},
                                  {104, 10, false, "program"}, {105, 10, false, "program"},
                                  {106, 10, false, "sh"},      {107, 10, false, "program"},
                                  {206, 106, false, "program"}};
  std::map<int, std::string> environments{
      {104, rank(4)}, {105, rank(5)}, {106, rank(6)}, {107, rank(7)}, {206, rank(6)}};
  int self = 104;

  static std::string rank(int number) {
    std::string text = "XPMI_RANK=9";
    text += '\0';
    text += "PMI_RANK=" + std::to_string(number);
    text += '\0';
    return text + "PATH=/bin" + '\0';
  }
  listed_process& at(int number) {
    for (listed_process& each : all) {
      if (each.number == number) return each;
    }
    return all.emplace_back(listed_process{number, 10, false, "program"});
  }
  void end(int number) {
    std::erase_if(all, [&](listed_process const& each) { return each.number == number; });
    environments.erase(number);
  }
  std::optional<ranks> call() const {
    return call_roll(all, self, "PMI_RANK", ranks{4, 5, 6, 7}, [&](int number) -> std::optional<std::string> {
      auto const found = environments.find(number);
      return found == environments.end() ? std::nullopt : std::optional(found->second);
    });
  }
};

TEST(roll_call, all_are_there) { EXPECT_EQ(node().call(), ranks()); }

TEST(roll_call, some_have_ended) {
  node one;
  one.end(105);
  EXPECT_EQ(one.call(), ranks{5});
  one.at(107).ended = true;  // and its launcher has not noticed
  one.environments.erase(107);
  EXPECT_EQ(one.call(), (ranks{5, 7}));
}

TEST(roll_call, of_a_rank_behind_a_wrapper) {
  node one;
  one.self = 206;
  one.end(107);
  EXPECT_EQ(one.call(), ranks{7});
  one.end(206);
  one.self = 104;
  EXPECT_EQ(one.call(), ranks{7}) << "the wrapper may start another program";
}

TEST(roll_call, agents_on_other_hosts_are_no_ranks) {
  node one;
  one.at(10).name = "mpirun";
  one.at(300).name = "ssh";
  one.end(105);
  EXPECT_EQ(one.call(), ranks{5});
}

TEST(roll_call, nothing_is_sure_where_a_process_may_be_a_rank) {
  node one;
  one.end(105);
  one.at(300).name = "hydra_pmi_proxy";  // forked, and not yet a program
  EXPECT_EQ(one.call(), std::nullopt);
  one.environments[300] = "";  // written over
  EXPECT_EQ(one.call(), std::nullopt);
  one.end(300);
  EXPECT_EQ(one.call(), ranks{5});
}

TEST(roll_call, nothing_is_sure_of_a_program_that_a_wrapper_has_left) {
  node one;
  one.end(105);
  one.all.push_back({205, 1, false, "program"});
  one.environments[205] = node::rank(5);
  EXPECT_EQ(one.call(), std::nullopt);
}

TEST(roll_call, nothing_is_sure_without_a_launcher_in_sight) {
  node one;
  one.end(105);
  one.at(10).name = "starter-suid";
  EXPECT_EQ(one.call(), std::nullopt);
  one.end(10);  // in a container
  EXPECT_EQ(one.call(), std::nullopt);
  one.all.clear();
  EXPECT_EQ(one.call(), std::nullopt);
}

TEST(roll_call, this_process_is_listed) {
  auto const all = atl::os::list_processes();
  int found = 0;
  for (listed_process const& each : all) {
    found +=
        each.number == ::getpid() && each.parent == ::getppid() && !each.ended && !each.name.empty() ? 1 : 0;
  }
  EXPECT_EQ(found, 1);
  auto const environment = atl::os::read_environment(::getpid());
  EXPECT_TRUE(environment && environment->find("PATH=") != std::string::npos);
}

}  // namespace
