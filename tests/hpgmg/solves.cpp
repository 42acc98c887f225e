// Solves under a launcher, in every variant of communication, against the results of the public reference
// and, bit for bit, against a solve in one process. See usage().

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "local_ranks.hpp"
#include "solver/multigrid.hpp"
#include "solver/reference.hpp"
#include "troubled_runtime.hpp"

namespace hpgmg {
namespace {

constexpr char const* usage = R"(usage: hpgmg_solve_test GROUP [--comm NAME,...] [--part I/N] [--seed N]
  reference   the problems that the reference's results are known of up to 64^3, spread over the rank counts
  everywhere  all of those, and 128^3
  large       those of 128^3
  largest     those of 256^3, which need 6 GB of shared heaps in all and take minutes
  short       one small problem of each kind
  pauses      ranks that pause at random points, after --seed N
  faults      what must be found
  death       rank 1 dies during a solve
NAME: default all but mpi, for which the job is started by mpirun; --part: every N-th case from I on
)";

// What comes out of a problem, the same on all ranks but for what rank 0 counts.

struct outcome {
  int cells = 0;
  std::array<double, 3> source_norm{};
  std::array<std::vector<progress>, 3> history;
  std::array<int, 3> bottom_iterations{};
  std::vector<double> largest_eigenvalue;
  double error = 0;
  double order = 0;
  std::uint64_t bits = 0;  ///< of the solutions
};

/// Whoever owns the boxes, and in whatever order.
std::uint64_t hash_solution(multigrid const& m, int l, runtime& ranks) {
  constexpr std::uint64_t modulus = 1U << 31;  // sums of numbers below it are exact in a double
  std::uint64_t sum = 0;
  level const& here = m.at(l);
  for (auto const& own : here.boxes()) {
    std::uint64_t h = 14695981039346656037U + static_cast<std::uint64_t>(own.id);
    for (int k = 0; k < here.layout().n; ++k) {
      for (int j = 0; j < here.layout().n; ++j) {
        for (int i = 0; i < here.layout().n; ++i) {
          h = (h ^ std::bit_cast<std::uint64_t>(here.cells(own, u)[here.layout().at(i, j, k)])) *
              1099511628211U;
          h ^= h >> 29;
        }
      }
    }
    sum += h >> 24;
  }
  return static_cast<std::uint64_t>(ranks.world().sum(static_cast<double>(sum % modulus))) % modulus;
}

outcome solve(problem const& what, runtime& ranks) {
  multigrid m(what, ranks);
  if (auto* const troubled = dynamic_cast<troubled_runtime*>(&ranks)) troubled->begin();
  outcome out;
  out.cells = m.at(0).shape().cells;
  for (int l = 0; l < m.level_n(); ++l) out.largest_eigenvalue.push_back(m.at(l).largest_eigenvalue);
  for (int l = 0; l < std::min(3, m.level_n()); ++l) {
    auto const at = static_cast<std::size_t>(l);
    if (l > 0) m.restrict_source(l);
    out.source_norm[at] = m.max_norm(l, f);
    m.reset_times();
    out.history[at] = m.solve(l);
    out.bottom_iterations[at] = m.bottom_iterations;
  }
  out.error = m.richardson(1);
  out.order = std::log2(m.richardson(2) / out.error);
  for (int l = 0; l < std::min(3, m.level_n()); ++l) out.bits = 31 * out.bits + hash_solution(m, l, ranks);
  return out;
}

// Findings. Rank 0 judges and speaks.

int findings = 0;
bool judges = false;
bool speaks = false;
std::string where;

[[gnu::format(printf, 1, 2)]] void find(char const* format, ...) {
  if (!judges) return;
  ++findings;
  if (!speaks) return;
  std::printf("FAILED: %s: ", where.c_str());
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::printf("\n");
}

void expect_close(double value, double expected, double tolerance, char const* what) {
  if (std::abs(value - expected) <= tolerance * std::abs(expected)) return;
  find("%s is %.15e, expected %.15e within %.1e", what, value, expected, tolerance);
}

/// Residuals of repeated cycles end in rounding of f - A u.
double history_tolerance(double relative, std::size_t digits) {
  double const printed = 0.51 * std::pow(10.0, 1 - static_cast<double>(digits));
  return printed + (relative > 1e-8 ? 1e-7 : 1e-5 * (1e-8 / relative));
}

void compare(outcome const& got, problem const& what) {
  if (!judges) return;  // ranks that do not take part in a solve know nothing of it
  auto const known = find_reference(what, got.cells);
  if (!known) return find("no reference for %d^3", got.cells);
  double const norms = norm_tolerance(got.cells);
  for (std::size_t l = 0; l < 3; ++l) {
    if (known->source_norm)
      expect_close(got.source_norm[l], (*known->source_norm)[l], exact_tolerance, "norm of f");
    if (known->residual_norm)
      expect_close(got.history[l].front().norm, (*known->residual_norm)[l], norms, "residual norm");
    if (known->bottom_iterations) {
      // On a grid of one cell the first right-hand side of fv2 is the mean of f: 0,
      // or what rounding left of it.
      int const more = got.bottom_iterations[l] - (*known->bottom_iterations)[l];
      if (more != 0 && !(what.op == stencil::fv2 && more == 1))
        find("%d bottom iterations, expected %d", got.bottom_iterations[l], (*known->bottom_iterations)[l]);
    }
  }
  for (std::size_t l = 0; l < std::min(got.largest_eigenvalue.size(), known->largest_eigenvalue.size());
       ++l) {
    auto const [value, tolerance] = known->largest_eigenvalue[l];
    expect_close(got.largest_eigenvalue[l], value, tolerance, "eigenvalue bound");
  }
  if (!known->reduction.empty()) {
    auto const& history = got.history[0];
    if (history.size() != known->reduction.size())
      return find("%zu cycles, expected %zu", history.size(), known->reduction.size());
    for (std::size_t c = 0; c < history.size(); ++c) {
      expect_close(history[c].relative, known->reduction[c],
                   history_tolerance(known->reduction[c], what.start == cycle::v ? 6 : 7), "reduction");
    }
  }
  if (known->error) {
    // Ten digits are known where cycles are repeated.
    double const printed = what.start == cycle::f ? 0 : 0.51e-9;
    expect_close(got.error, *known->error, error_tolerance(got.cells) + printed, "Richardson error");
  }
  if (known->order && std::abs(got.order - *known->order) > order_tolerance)
    find("order %.4f, expected %.3f", got.order, *known->order);
}

// The cases.

std::string name_of(problem const& p, int cells) {
  static constexpr char const* operators[] = {"fv4", "fv2", "7pt"};
  static constexpr char const* orders[] = {"morton", "lexicographic", "bisection", "primes"};
  return std::string(operators[static_cast<int>(p.op)]) +
         (p.smooth == smoother::gsrb ? " gsrb " : " cheby ") + std::to_string(cells) + "^3 of " +
         std::to_string(1 << p.log2_box) + "^3" + (p.periodic ? " periodic" : "") +
         (p.helmholtz ? " helmholtz" : "") +
         (p.start == cycle::v   ? " V"
          : p.start == cycle::f ? " F"
                                : " F+V") +
         " " + orders[static_cast<int>(p.order)];
}

/// The number of boxes per rank that gives this grid; 0 if none does.
int boxes_per_rank(int cells, int log2_box, int ranks) {
  int const side = cells >> log2_box;
  int const wanted = (side * side * side + ranks - 1) / ranks;
  return boxes_per_side(1 << log2_box, wanted, ranks) == side ? wanted : 0;
}

problem make_problem(int operator_and_smoother, int cells, int log2_box, int ranks) {
  problem p;
  p.op = static_cast<stencil>(operator_and_smoother % 3);
  p.smooth = static_cast<smoother>(operator_and_smoother / 3);
  p.log2_box = log2_box;
  p.boxes_per_rank = boxes_per_rank(cells, log2_box, ranks);
  return p;
}

struct test_case {
  problem what;
  int cells;
};

/// With `spread` each problem is at one of the rank counts, so that each of these sees all operators,
/// smoothers and kinds.
std::vector<test_case> reference_cases(int ranks, bool spread) {
  std::vector<test_case> cases;
  for (int both = 0; both < 6; ++both) {
    if (ranks == 27) {
      cases.push_back({make_problem(both, 48, 4, ranks), 48});
      continue;
    }
    for (int kind = 0; kind < 8; ++kind) {
      int const cells = kind < 4 ? 16 * (kind + 1) : 64;
      int const log2_box = cells == 64 ? 5 : 4;
      std::vector<int> possible;
      for (int const n : {1, 2, 4, 8}) {
        if (boxes_per_rank(cells, log2_box, n) > 0) possible.push_back(n);
      }
      auto const turn = static_cast<std::size_t>(both + kind) % possible.size();
      if (spread ? possible[turn] != ranks : std::ranges::find(possible, ranks) == possible.end()) continue;
      problem p = make_problem(both, cells, log2_box, ranks);
      p.periodic = kind == 4;
      p.helmholtz = kind == 5;
      if (kind == 6) p.start = cycle::f_then_v;
      if (kind == 7) p.start = cycle::v;
      cases.push_back({p, cells});
    }
  }
  return cases;
}

std::vector<test_case> large_cases(int ranks) {
  std::vector<test_case> cases;
  for (int both = 0; both < 6; ++both) {
    for (bool const periodic : {false, true}) {
      problem p = make_problem(both, 128, 6, ranks);
      p.periodic = periodic;
      cases.push_back({p, 128});
    }
  }
  return cases;
}

std::vector<test_case> largest_cases(int ranks) {
  std::vector<test_case> cases;
  for (int both = 0; both < 6; ++both) cases.push_back({make_problem(both, 256, 7, ranks), 256});
  return cases;
}

/// 24^3 in 27 boxes of 8^3: several boxes on three of four levels, fewer and fewer ranks.
/// No results are known.
std::vector<test_case> small_cases(int ranks) {
  std::vector<test_case> cases;
  for (int both = 0; both < 6; ++both) {
    problem p = make_problem(both, 24, 3, ranks);
    p.helmholtz = both == 2;
    p.order = both % 2 == 0 ? box_order::morton : box_order::lexicographic;
    cases.push_back({p, 24});
  }
  for (int const both : {0, 3, 4}) {
    problem p = cases[static_cast<std::size_t>(both)].what;
    p.periodic = true;
    cases.push_back({p, 24});
  }
  return cases;
}

// The groups. Variants are kept until the end: MPI cannot be started twice.

struct variant {
  std::string name;
  std::unique_ptr<runtime> ranks;
};
using variants = std::vector<variant>;

/// Solutions do not depend on who owns the boxes, but for sums over several ranks.
bool sums_matter(problem const& p) { return p.periodic && !p.helmholtz; }

std::uint64_t bits_of_one_process(test_case const& c, runtime& ranks) {
  if (ranks.rank() != 0) return 0;
  problem alone = c.what;
  alone.boxes_per_rank = boxes_per_rank(c.cells, c.what.log2_box, 1);
  local_rank rank;
  return solve(alone, rank).bits;
}

void check_all(variants const& all, std::vector<test_case> const& cases, bool with_reference) {
  int number = 0;
  for (test_case const& c : cases) {
    bool const any_owner = !sums_matter(c.what);
    std::uint64_t expected = any_owner ? bits_of_one_process(c, *all.front().ranks) : 0;
    bool first = true;
    for (int v = 0; v < static_cast<int>(all.size()); ++v) {
      auto const& [name, ranks] = all[static_cast<std::size_t>(v)];
      problem p = c.what;
      if (any_owner) p.order = static_cast<box_order>((number + v / 2) % 4);
      if (ranks->size() == 1) p.threads = 1 + v % 2;
      where = name + ": " + name_of(p, c.cells);
      double const begin = now();
      outcome const got = solve(p, *ranks);
      if (got.cells != c.cells) find("%d cells a side", got.cells);
      if (with_reference) compare(got, p);
      if (!any_owner && first) expected = got.bits;
      first = false;
      if (got.bits != expected)
        find("other bits than %s", any_owner ? "in one process" : "the first variant");
      if (speaks) std::printf("%5.2f s  %s\n", now() - begin, where.c_str());
    }
    ++number;
  }
}

void check_pauses(variants const& all, std::vector<test_case> const& cases, unsigned seed) {
  for (auto const& [name, ranks] : all) {
    for (test_case const& c : cases) {
      where = name + ": " + name_of(c.what, c.cells);
      std::uint64_t const expected = solve(c.what, *ranks).bits;
      double const begin = now();
      troubled_runtime troubled(*ranks, {.pauses = ++seed});
      if (solve(c.what, troubled).bits != expected) find("pauses with seed %u change the solution", seed);
      if (speaks) std::printf("%5.2f s  %s\n", now() - begin, where.c_str());
    }
  }
}

/// Which of the checks notice a solve in trouble.
struct notice {
  bool results = false;
  bool bits = false;
};
notice notice_of(problem const& p, runtime& ranks, trouble const& what, std::uint64_t healthy) {
  troubled_runtime troubled(ranks, what);
  outcome const got = solve(p, troubled);
  int const before = findings;
  bool const spoke = std::exchange(speaks, false);
  compare(got, p);
  speaks = spoke;
  return {std::exchange(findings, before) > before, got.bits != healthy};
}

void check_faults(variants const& all, int size) {
  for (auto const& [name, ranks] : all) {
    for (int const both : {0, 4}) {
      problem p = make_problem(both, 32, 4, size);
      where = name + ": " + name_of(p, 32);
      std::uint64_t const healthy = solve(p, *ranks).bits;
      notice const none = notice_of(p, *ranks, {}, healthy);
      if (none.results || none.bits) find("a fault is found where none is");
      for (int const run : {1, 12, 24, 44}) {
        notice const n = notice_of(p, *ranks, {.spoilt_run = run}, healthy);
        if (!n.bits) find("spoilt arrivals of run %d leave the bits as they are", run);
        // What is spoilt late and far from the largest errors cannot be seen in their norms.
        if (!n.results && run < 30) find("spoilt arrivals of run %d leave the results as they are", run);
      }
    }
    if (name == "baseline") {
      // How peers that do not wait for each other are found.
      problem const p = make_problem(0, 32, 4, size);
      where = "baseline without barriers";
      bool any = false;
      for (unsigned seed = 1; seed <= 10 && !any; ++seed) {
        troubled_runtime troubled(*ranks, {.pauses = seed, .no_waiting = true});
        any = solve(p, troubled).bits != solve(p, *ranks).bits;
      }
      if (!any) find("is not found by pauses");
    }
  }
}

std::vector<std::string> split_list(std::string const& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    std::size_t const end = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

int run(int argc, char** argv) {
  std::string const group = argc > 1 ? argv[1] : "";
  std::vector<std::string> names;
  int part = 0;
  int parts = 1;
  unsigned seed = 0;
  for (int i = 2; i + 1 < argc; i += 2) {
    std::string const option = argv[i];
    if (option == "--comm") names = split_list(argv[i + 1]);
    if (option == "--seed") seed = static_cast<unsigned>(std::stoul(argv[i + 1]));
    if (option == "--part" && std::sscanf(argv[i + 1], "%d/%d", &part, &parts) != 2) return 2;
  }
  auto const known = communication_names();
  if (names.empty()) {
    std::ranges::copy_if(known, std::back_inserter(names), [](auto const& name) { return name != "mpi"; });
  }
  variants all;
  for (std::string const& name : names) {
    if (std::ranges::find(known, name) == known.end()) return 77;
    all.push_back({name, make_runtime(name, &argc, &argv)});
  }
  runtime& first = *all.front().ranks;
  int const size = first.size();
  judges = speaks = first.rank() == 0;
  auto const mine = [&](std::vector<test_case> const& cases) {
    std::vector<test_case> some;
    for (std::size_t i = static_cast<std::size_t>(part); i < cases.size();
         i += static_cast<std::size_t>(parts))
      some.push_back(cases[i]);
    return some;
  };
  if (group == "reference") {
    check_all(all, mine(reference_cases(size, true)), true);
  } else if (group == "everywhere") {
    auto cases = reference_cases(size, false);
    if (size != 27) std::ranges::copy(large_cases(size), std::back_inserter(cases));
    check_all(all, mine(cases), true);
  } else if (group == "large") {
    check_all(all, mine(large_cases(size)), true);
  } else if (group == "largest") {
    check_all(all, mine(largest_cases(size)), true);
  } else if (group == "short") {
    check_all(all, mine(small_cases(size)), false);
  } else if (group == "pauses") {
    check_pauses(all, mine(small_cases(size)), seed);
  } else if (group == "faults") {
    check_faults(all, size);
  } else if (group == "death") {
    troubled_runtime troubled(first, {.death = 20});
    solve(small_cases(size).front().what, troubled);
  } else {
    if (speaks) std::fputs(usage, stderr);
    return 2;
  }
  if (speaks) std::printf("%d failed\n", findings);
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hpgmg

int main(int argc, char** argv) {
  try {
    return hpgmg::run(argc, argv);
  } catch (hpgmg::failure const& x) {
    std::fprintf(stderr, "%s\n", x.text.c_str());
    return 2;
  }
}
