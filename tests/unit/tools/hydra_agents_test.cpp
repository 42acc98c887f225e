#include "run/hosts/hydra_agents.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace atl::tools;

hydra_agent const alive{.number = 1};
hydra_agent const done{.number = 1, .ended = true};
hydra_agent const failed{.number = 1, .ended = true, .how = 255 << 8};

TEST(HydraAgents, AHostThatNobodyWillCallBackFrom) {
  EXPECT_EQ(judge_start({alive, failed}, 2, 1), hydra_start::failed);
  EXPECT_EQ(judge_start({alive, failed}, 2, 0), hydra_start::failed);  // the other one is still under way
  EXPECT_EQ(judge_start({failed, done}, 2, 0), hydra_start::failed);   // a short program
}

TEST(HydraAgents, WhatIsNoFailure) {
  EXPECT_EQ(judge_start({}, 2, 0), hydra_start::goes_on);
  EXPECT_EQ(judge_start({alive, alive}, 2, 1), hydra_start::goes_on);
  EXPECT_EQ(judge_start({alive, alive}, 2, 2), hydra_start::complete);
  EXPECT_EQ(judge_start({alive, done}, 2, 1), hydra_start::complete);
  EXPECT_EQ(judge_start({done, done}, 2, 0), hydra_start::complete);
  // The agent's connection has broken, and what it has started goes on.
  EXPECT_EQ(judge_start({alive, failed}, 2, 2), hydra_start::complete);
  EXPECT_EQ(judge_start({alive, alive, failed}, 3, 3), hydra_start::complete);
}

}  // namespace
