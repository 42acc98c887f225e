#include "program/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "grid/hierarchy.hpp"

namespace hpgmg {
namespace {

template <class T, std::size_t N>
using names = std::array<std::pair<char const*, T>, N>;

constexpr names<stencil, 3> operators = {
    {{"fv4", stencil::fv4}, {"fv2", stencil::fv2}, {"7pt", stencil::point7}}};
constexpr names<smoother, 2> smoothers = {{{"gsrb", smoother::gsrb}, {"cheby", smoother::chebyshev}}};
constexpr names<cycle, 3> cycles = {{{"f", cycle::f}, {"v", cycle::v}, {"fv", cycle::f_then_v}}};
constexpr names<box_order, 4> orders = {{{"default", box_order::morton},
                                         {"lex", box_order::lexicographic},
                                         {"bisection", box_order::bisection},
                                         {"primes", box_order::primes}}};

template <class T, std::size_t N>
char const* name_in(names<T, N> const& table, T value) {
  return std::ranges::find(table, value, &std::pair<char const*, T>::second)->first;
}

/// Reads one of the names.
template <class T, std::size_t N>
CLI::Option* add_choice(CLI::App* group, char const* option, T& value, names<T, N> const& table,
                        char const* help) {
  std::vector<std::string> words;
  for (auto const& entry : table) words.emplace_back(entry.first);
  return group
      ->add_option_function<std::string>(
          option,
          [&value, &table](std::string const& word) {
            for (auto const& entry : table) {
              if (word == entry.first) value = entry.second;
            }
          },
          help)
      ->check(CLI::IsMember(words))
      ->default_str(name_in(table, value));
}

std::string joined(std::vector<std::string> const& words) {
  std::string text;
  for (auto const& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

char const* name_of(stencil op) { return name_in(operators, op); }
char const* name_of(smoother smooth) { return name_in(smoothers, smooth); }
char const* name_of(cycle start) { return name_in(cycles, start); }
char const* name_of(box_order order) { return name_in(orders, order); }

std::string default_communication() {
  auto const built = communication_names();
  for (char const* const name : {"array", "bulk", "+local"}) {
    if (std::ranges::find(built, name) != built.end()) return name;
  }
  return built.front();
}

parsed parse_options(int argc, char const* const* argv) {
  parsed result;
  auto& o = result.value;
  auto& p = o.what;
  o.communication = default_communication();

  CLI::App app(
      "Geometric multigrid for variable-coefficient elliptic equations on the unit cube: the finite-volume\n"
      "benchmark HPGMG-FV. Solves on a grid of N^3 cells, then on those of (N/2)^3 and (N/4)^3, "
      "many times each, and\n"
      "compares with the results of the public reference.\n"
      "Run it as: atoll run -n 2 atoll-hpgmg 5 8 --operator fv4 --comm array",
      "atoll-hpgmg");
  apps::prepare(app);
  app.footer(
      "N is (boxes per side) * 2^LOG2_BOX, with as many boxes as the ranks together may have, "
      "so that the grid coarsens well:\n"
      "`4 8` gives 32^3 on 1 rank and 64^3 on 8, `7 1` on 8 ranks gives 256^3.\n"
      "--comm, one thing more each: baseline: a message per row of cells, barriers; "
      "+shm: one-sided puts per row;\n"
      "+local: own loops where memory is shared; +vis: strided puts elsewhere; "
      "+group: neighbours wait for each other only;\n"
      "bulk: packed buffers, put and signalled; mpi: packed buffers, message passing; "
      "array: arrays over global memory.\n"
      "Exit status: 0, 1 if a result is wrong, 2 if the run could not be done.");

  app.add_option("log2_box", p.log2_box, "Boxes have 2^this cells per side")
      ->required()
      ->check(CLI::Range(4, 9));
  app.add_option("boxes_per_rank", p.boxes_per_rank, "Boxes that a rank has at most, on average")
      ->required()
      ->check(CLI::Range(1, 1'000'000));

  auto* const what = app.add_option_group("Problem");
  add_choice(what, "--operator", p.op, operators,
             "fv4: fourth order, 25 points; fv2: second order, 7 points; 7pt: the same for values at points");
  add_choice(what, "--smoother", p.smooth, smoothers, "Red-black Gauss-Seidel, or Chebyshev polynomials");
  add_choice(what, "--cycle", p.start, cycles,
             "One F-cycle; V-cycles until the residual is 1e-10 of the start; F, then such V-cycles");
  add_choice(what, "--order", p.order, orders,
             "How boxes are given to ranks: along a Z curve, line by line, by halves, by primes");
  what->add_flag("--periodic", p.periodic, "Periodic in all directions (u = 0 on the boundary)");
  what->add_flag("--helmholtz", p.helmholtz, "u - div(beta grad u) = f (- div(beta grad u) = f)");

  auto* const run = app.add_option_group("Run");
  run->add_option("--comm", o.communication, "How data moves between ranks: " + joined(communication_names()))
      ->capture_default_str();
  run->add_option("--threads", p.threads,
                  has_threads() ? "Threads of each rank, for sweeps and residuals"
                                : "Threads of each rank: 1, as this build has no OpenMP")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  run->add_option("--warmup", o.warmup, "Solves of each size before the clock starts")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  run->add_option("--seconds", o.seconds, "Seconds of timed solves of each size")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  run->add_option("--solves", o.least_solves, "Solves of each size that are timed at least")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  run->add_flag("--check,!--no-check", o.check, "Compare with the public reference's results (on)");

  auto* const output = app.add_option_group("Output");
  output->add_option("--results", o.results, "Add everything to this SQLite file; atoll report draws it");
  output->add_option("--json", o.json, "Write the same to this JSON file, but for facts of the machine");
  output->add_flag("--quiet", o.quiet, "Print the verdict only");
  int ranks_of_grid = 0;
  output
      ->add_option("--grid-of", ranks_of_grid,
                   "Print the cells per side of the grid that this many ranks would solve, and end")
      ->check(CLI::Range(1, 1'000'000));

  if (!apps::read(app, apps::words_of(argc, argv), result)) return result;
  auto const built = communication_names();
  if (p.threads > 1 && !has_threads()) {
    result.error = "--threads " + std::to_string(p.threads) +
                   ": this build has no OpenMP, so a rank has one thread; use more ranks";
  } else if (std::isnan(o.seconds)) {  // which is neither below nor above a range
    result.error = "--seconds nan: expected a number";
  } else if (std::ranges::find(built, o.communication) == built.end()) {
    result.error = "--comm " + o.communication + ": unknown; this build has " + joined(built);
  } else if (ranks_of_grid != 0) {
    int const box = 1 << p.log2_box;
    result.help = std::to_string(box * boxes_per_side(box, p.boxes_per_rank, ranks_of_grid)) + '\n';
  }
  return result;
}

}  // namespace hpgmg
