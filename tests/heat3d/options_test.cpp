#include "program/options.hpp"

#include <gtest/gtest.h>

namespace heat3d {
namespace {

parsed parse(std::vector<char const*> words) {
  words.insert(words.begin(), "atoll-heat3d");
  return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(options, defaults_are_those_of_the_reference_program) {
  auto const p = parse({});
  ASSERT_EQ(p.error, "");
  EXPECT_EQ(p.value.physics.domain, (triple{200, 200, 200}));
  EXPECT_EQ(p.value.physics.last_step, 10000);
  EXPECT_EQ(p.value.physics.dt, 0.1);
  EXPECT_EQ(p.value.physics.q, 1.0);
  EXPECT_EQ(p.value.physics.sigma, 1.0);
  EXPECT_EQ(p.value.physics.power, 1.0);
  EXPECT_EQ(p.value.physics.t0, 0.0);
  EXPECT_EQ(p.value.print_interval, 100);
  EXPECT_EQ(p.value.warmup, 3);
  EXPECT_TRUE(p.value.check);
  EXPECT_EQ(p.value.exchange, "rma");
}

TEST(options, one_dash_spellings_of_the_reference_program_work) {
  auto const p = parse({"-X", "30",  "-Y",     "20", "-Z", "14", "-T0", "0.5", "-dt", "0.05",
                        "-q", "0.8", "-sigma", "2",  "-P", "-3", "-N",  "7",   "-I",  "2"});
  ASSERT_EQ(p.error, "");
  EXPECT_EQ(p.value.physics.domain, (triple{30, 20, 14}));
  EXPECT_EQ(p.value.physics.t0, 0.5);
  EXPECT_EQ(p.value.physics.dt, 0.05);
  EXPECT_EQ(p.value.physics.sigma, 2);
  EXPECT_EQ(p.value.physics.power, -3);
  EXPECT_EQ(p.value.print_interval, 2);
}

TEST(options, sums_are_taken_where_printed_and_in_between_when_asked) {
  auto const p = parse({"-N", "25", "-I", "10", "--reduce-interval", "4"});
  EXPECT_TRUE(p.value.is_printed(20));
  EXPECT_TRUE(p.value.is_printed(25));
  EXPECT_FALSE(p.value.is_printed(4));
  EXPECT_TRUE(p.value.is_reduced(4));
  EXPECT_TRUE(p.value.is_reduced(10));
  EXPECT_FALSE(p.value.is_reduced(5));
}

TEST(options, grids_modes_and_probes_are_triples) {
  auto const p = parse(
      {"--grid", "2,4,1", "--init", "eigenmode", "--mode", "1,0,3", "--probe", "1,2,3", "--probe", "0,0,0"});
  ASSERT_EQ(p.error, "");
  EXPECT_EQ(*p.value.grid, (process_grid{2, 4, 1}));
  EXPECT_EQ(p.value.physics.mode, (triple{1, 0, 3}));
  ASSERT_EQ(p.value.probes.size(), 2U);
  EXPECT_EQ(p.value.probes[0], (triple{1, 2, 3}));
}

struct mistake {
  std::vector<char const*> words;
  char const* mentioned;
};

TEST(options, mistakes_are_one_line_that_names_them) {
  std::vector<mistake> const mistakes = {
      {{"-X", "0"}, "-X"},
      {{"-X", "ten"}, "-X"},
      {{"-X"}, "-X"},
      {{"-N", "-1"}, "-N"},
      {{"--bogus"}, "--bogus"},
      {{"stray"}, "stray"},
      {{"-dt", "0"}, "-dt"},
      {{"-T0", "nan"}, "finite"},
      {{"-sigma", "-1"}, "-sigma"},
      {{"--grid", "2,2"}, "--grid 2,2"},
      {{"--grid", "0,1,1"}, "--grid"},
      {{"--grid", "4000000000,1,1"}, "--grid"},
      {{"--exchange", "pigeon"}, "this build has rma"},
      {{"--backend", "abacus"}, "this build has plain"},
      {{"--exchange", "graph"}, "needs a back end on devices"},
      {{"--exchange", "device"}, "only --backend cuda has"},
      {{"--probe", "200,0,0"}, "outside 0 to 199"},
      {{"--slice-axis", "w"}, "--slice-axis"},
      {{"--slice", "x.png", "--slice-index", "200"}, "--slice-index 200 is outside"},
      {{"--slice-axis", "x"}, "--slice-axis: does nothing without --slice"},
      {{"--slice-index", "2"}, "--slice-index: does nothing without --slice"},
      {{"--mode", "1,2,3"}, "--mode: does nothing without --init eigenmode"},
      {{"--amplitude", "2", "--init", "uniform"}, "--amplitude: does nothing without --init eigenmode"},
      {{"-N", "9", "--stop-after", "11"}, "--stop-after 11: -N 9 has no more than 10 updates"},
      {{"--reduce-interval", "0"}, "--reduce-interval"},
  };
  for (auto const& m : mistakes) {
    auto const p = parse(m.words);
    EXPECT_NE(p.error.find(m.mentioned), std::string::npos) << m.words[0] << ": " << p.error;
    EXPECT_EQ(p.error.find('\n'), std::string::npos) << p.error;
  }
}

TEST(options, all_updates_may_be_asked_for) {
  auto const p = parse({"-N", "9", "--stop-after", "10"});
  EXPECT_EQ(p.error, "");
  EXPECT_EQ(p.value.physics.update_n(), 10);
}

TEST(options, many_steps_at_once_are_for_devices) {
  for (auto const* exchange : {"graph", "device"}) {
    EXPECT_EQ(parse({"--exchange", exchange, "--backend", "device-sim"}).error, "");
    EXPECT_NE(parse({"-h"}).help.find(exchange), std::string::npos);
  }
}

TEST(options, help_lists_everything_and_its_default) {
  auto const p = parse({"-h"});
  for (auto const* word :
       {"-X", "--T0", "--dt", "--sigma", "--exchange", "--results", "--slice", "10000", "0.1"}) {
    EXPECT_NE(p.help.find(word), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace heat3d
