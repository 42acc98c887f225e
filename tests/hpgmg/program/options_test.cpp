#include "program/options.hpp"

#include <gtest/gtest.h>

#include "movers/traffic.hpp"
#include "solver/reference.hpp"

namespace hpgmg {
namespace {

parsed parse(std::vector<char const*> words) {
  words.insert(words.begin(), "atoll-hpgmg");
  return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(options, defaults_are_those_of_the_benchmark) {
  auto const p = parse({"5", "8"});
  ASSERT_EQ(p.error, "");
  EXPECT_EQ(p.value.what.log2_box, 5);
  EXPECT_EQ(p.value.what.boxes_per_rank, 8);
  EXPECT_EQ(p.value.what.op, stencil::fv4);
  EXPECT_EQ(p.value.what.smooth, smoother::gsrb);
  EXPECT_EQ(p.value.what.start, cycle::f);
  EXPECT_EQ(p.value.what.order, box_order::morton);
  EXPECT_FALSE(p.value.what.periodic);
  EXPECT_FALSE(p.value.what.helmholtz);
  EXPECT_EQ(p.value.warmup, 10);
  EXPECT_EQ(p.value.seconds, 60);
  EXPECT_EQ(p.value.least_solves, 10);
  EXPECT_TRUE(p.value.check);
  EXPECT_EQ(p.value.communication, default_communication());
}

TEST(options, all_are_read) {
  char const* const threads = has_threads() ? "2" : "1";
  auto const p =
      parse({"4",         "2",       "--operator", "7pt",       "--smoother", "cheby",      "--comm",
             "+local",    "--order", "lex",        "--cycle",   "fv",         "--periodic", "--helmholtz",
             "--threads", threads,   "--warmup",   "3",         "--seconds",  "0.5",        "--solves",
             "7",         "--quiet", "--no-check", "--results", "r.db",       "--json",     "r.json"});
  ASSERT_EQ(p.error, "");
  auto const& o = p.value;
  EXPECT_EQ(o.what.op, stencil::point7);
  EXPECT_EQ(o.what.smooth, smoother::chebyshev);
  EXPECT_EQ(o.communication, "+local");
  EXPECT_EQ(o.what.order, box_order::lexicographic);
  EXPECT_EQ(o.what.start, cycle::f_then_v);
  EXPECT_TRUE(o.what.periodic && o.what.helmholtz && o.quiet && !o.check);
  EXPECT_EQ(o.warmup, 3);
  EXPECT_EQ(o.what.threads, has_threads() ? 2 : 1);
  EXPECT_EQ(o.seconds, 0.5);
  EXPECT_EQ(o.least_solves, 7);
  EXPECT_EQ(o.results, "r.db");
  EXPECT_EQ(o.json, "r.json");
}

TEST(options, threads_need_a_build_that_has_them) {
  auto const p = parse({"4", "1", "--threads", "2"});
  EXPECT_EQ(p.error.empty(), has_threads()) << p.error;
  EXPECT_EQ(p.error.find("no OpenMP") != std::string::npos, !has_threads()) << p.error;
}

struct mistake {
  std::vector<char const*> words;
  char const* mentioned;
};

TEST(options, mistakes_are_one_line_that_names_them) {
  std::vector<mistake> const mistakes = {
      {{}, "log2_box"},
      {{"4"}, "boxes_per_rank"},
      {{"3", "1"}, "log2_box"},
      {{"10", "1"}, "log2_box"},
      {{"4", "0"}, "boxes_per_rank"},
      {{"4", "many"}, "boxes_per_rank"},
      {{"4", "1", "stray"}, "stray"},
      {{"4", "1", "--operator", "27pt"}, "--operator"},
      {{"4", "1", "--smoother", "jacobi"}, "--smoother"},
      {{"4", "1", "--cycle", "w"}, "--cycle"},
      {{"4", "1", "--order", "hilbert"}, "--order"},
      {{"4", "1", "--comm", "pigeon"}, "this build has baseline"},
      {{"4", "1", "--warmup", "0"}, "--warmup"},
      {{"4", "1", "--seconds", "-1"}, "--seconds"},
      {{"4", "1", "--seconds", "nan"}, "--seconds nan"},
      {{"4", "1", "--bogus"}, "--bogus"},
  };
  for (auto const& m : mistakes) {
    auto const p = parse(m.words);
    EXPECT_NE(p.error.find(m.mentioned), std::string::npos) << m.mentioned << ": " << p.error;
    EXPECT_EQ(p.error.find('\n'), std::string::npos) << p.error;
  }
}

TEST(options, tell_the_grid_of_any_number_of_ranks) {
  EXPECT_EQ(parse({"5", "8", "--grid-of", "2"}).help, "64\n");
  EXPECT_EQ(parse({"5", "8", "--grid-of", "8"}).help, "128\n");
  EXPECT_NE(parse({"5", "8", "--grid-of", "0"}).error, "");
}

TEST(options, help_lists_everything_and_its_default) {
  auto const p = parse({"--help"});
  for (auto const* word : {"log2_box", "--operator", "cheby", "bisection", "--comm", "+local", "--results",
                           "60", "Exit status"}) {
    EXPECT_NE(p.help.find(word), std::string::npos) << word;
  }
  // The second is how CLI11 2.4 writes it.
  EXPECT_TRUE(p.help.find("=fv4") != std::string::npos || p.help.find("[fv4]") != std::string::npos)
      << p.help;
}

TEST(reference, knows_the_public_results_of_each_kind) {
  problem p;
  auto const f = find_reference(p, 64);
  ASSERT_TRUE(f && f->residual_norm && f->error && f->bottom_iterations && f->source_norm);
  EXPECT_EQ((*f->residual_norm)[0], 6.934041113e-05);
  EXPECT_EQ(*f->error, 2.889820931068e-06);
  EXPECT_EQ((*f->bottom_iterations)[0], 10);
  EXPECT_TRUE(f->reduction.empty());
  p.start = cycle::f_then_v;
  EXPECT_EQ(find_reference(p, 64)->reduction.size(), 5U);
  p.start = cycle::v;
  EXPECT_EQ(find_reference(p, 64)->reduction.front(), 3.85677e-02);
  p = {};
  p.periodic = true;
  EXPECT_EQ(*find_reference(p, 128)->error, 2.403393117184e-07);
  p.helmholtz = true;
  EXPECT_FALSE(find_reference(p, 64));
  p = {};
  EXPECT_FALSE(find_reference(p, 80));
}

region of_extent(int peer, int i, int j, int k) {
  region r;
  r.peer = peer;
  r.extent = {i, j, k};
  return r;
}

TEST(traffic, messages_are_rows_regions_or_all_for_a_rank) {
  plan moves;
  moves.sends = {of_extent(1, 8, 8, 2), of_extent(1, 2, 8, 8), of_extent(3, 8, 8, 2)};
  EXPECT_EQ(sizes_of(moves, message_form::row), (message_sizes{{2, 64}, {8, 32}}));
  EXPECT_EQ(sizes_of(moves, message_form::region), (message_sizes{{128, 3}}));
  EXPECT_EQ(sizes_of(moves, message_form::rank), (message_sizes{{128, 1}, {256, 1}}));
  EXPECT_EQ(form_of("baseline"), message_form::row);
  EXPECT_EQ(form_of("array"), message_form::region);
  EXPECT_EQ(form_of("mpi"), message_form::rank);
}

}  // namespace
}  // namespace hpgmg
