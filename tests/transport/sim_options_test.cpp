// Options of the simulated network: what they mean, and what is said of those that mean nothing.

#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "transport/sim/options.hpp"

namespace atl::transport::sim {
namespace {

std::string refusal(std::string const& text) {
  try {
    (void)parse_options(text);
  } catch (startup_error const& error) {
    return error.what();
  }
  return "";
}

TEST(sim_options, AtRest) {
  options const o = parse_options("", 7);
  EXPECT_EQ(o.seed, 7U);
  EXPECT_FALSE(o.timed());
  EXPECT_EQ(o.reorder + o.completions + o.refuse + o.connects + o.misses + o.errors, 0U);
  EXPECT_TRUE(o.passive && o.late && o.notified && o.vectors && o.gpu && o.put && o.get);
  EXPECT_FALSE(o.adapter || o.registers);
  EXPECT_EQ(o.eager, o.packet);
  EXPECT_EQ(to_text(parse_options("")), "");
}

TEST(sim_options, Values) {
  options const o =
      parse_options("latency=20us,bandwidth=10GB/s,ordered=yes,packet=4KB,atomics=integers,seed=3");
  EXPECT_EQ(o.latency_ns, 20'000U);
  EXPECT_DOUBLE_EQ(o.bytes_per_ns, 10);
  EXPECT_TRUE(o.ordered);
  EXPECT_EQ(o.packet, 4096U);
  EXPECT_EQ(o.eager, 4096U);
  EXPECT_EQ(o.atomics, atomics_offered::integers);
  EXPECT_EQ(o.seed, 3U);
  EXPECT_DOUBLE_EQ(parse_options("bandwidth=500MB/s").bytes_per_ns, 0.5);
  EXPECT_EQ(parse_options("latency=0").latency_ns, 0U);
  EXPECT_EQ(parse_options("bad=yes,refuse=0").refuse, 0U);
  EXPECT_GT(parse_options("bad=yes,refuse=0").reorder, 0U);
  EXPECT_EQ(parse_options("bad=yes").errors, 0U);
  EXPECT_EQ(parse_options("turn=10s").turn_ns, 10'000'000'000U);
}

TEST(sim_options, TextMeansTheSame) {
  for (char const* const text :
       {"bad=yes", "latency=20us,bandwidth=10GB/s", "passive=no,atomics=no,vectors=no",
        "ordered=yes,packet=512,packets=64,longest=30KB,errors=5,seed=99", "lockstep=yes,turn=2s",
        "adapter=yes,registers=yes,put=no,get=no"}) {
    std::string const once = to_text(parse_options(text));
    EXPECT_FALSE(once.empty());
    EXPECT_EQ(to_text(parse_options(once)), once);
  }
}

TEST(sim_options, WordsForMistakes) {
  EXPECT_NE(refusal("latency=20").find("ATOLL_SIM_NETWORK: latency=20: expected a time"), std::string::npos);
  EXPECT_NE(refusal("bandwidth=fast").find("expected a rate"), std::string::npos);
  EXPECT_NE(refusal("refuse=100").find("from 0 to 90"), std::string::npos);
  EXPECT_NE(refusal("ring=100").find("from 128"), std::string::npos);
  EXPECT_NE(refusal("ring=130").find("power of two"), std::string::npos);
  EXPECT_NE(refusal("ordered=maybe").find("yes or no"), std::string::npos);
  EXPECT_NE(refusal("speed=3").find("no such name"), std::string::npos);
  EXPECT_NE(refusal("latency").find("expected name=value"), std::string::npos);
}

}  // namespace
}  // namespace atl::transport::sim
