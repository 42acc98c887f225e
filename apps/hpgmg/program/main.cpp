// atoll-hpgmg: a geometric multigrid benchmark on many ranks. docs/guide/hpgmg.md tells how to use it,
// docs/design/hpgmg.md how it works.
//
// Exit status: 0 when the results are right, 1 when one is wrong, 2 when the run could not be done.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "common/host.hpp"
#include "common/program.hpp"
#include "movers/forwarding_runtime.hpp"
#include "program/benchmark.hpp"
#include "program/console.hpp"
#include "program/results.hpp"
#include "program/sizing.hpp"

namespace hpgmg {
namespace {

constexpr apps::program self("atoll-hpgmg", "use smaller or fewer boxes");

int solve(options const& o, runtime& ranks) {
  std::unique_ptr<results_file> results;
  std::unique_ptr<apps::output_file> json;
  bool const opened = self.on_rank_0(ranks, [&] {
    apps::expect_different({{"--results", o.results}, {"--json", o.json}});
    if (!o.results.empty()) results = std::make_unique<results_file>(o.results);
    if (!o.json.empty()) json = std::make_unique<apps::output_file>("--json", o.json);
  });
  if (!opened) return 2;
  auto const problem = memory_problem(o.what, ranks);
  if (ranks.any(problem.has_value())) {
    if (problem) self.complain(*problem);
    return 2;
  }

  console out(o, ranks.rank());
  observer show;
  show.built = [&](run_record const& run) { out.configuration(run); };
  show.solved = [&](size_record const& size, int done, int count) { out.live(size, done, count); };
  show.size_done = [&](size_record const& size) { out.size(size); };
  forgetful_runtime forgetful(ranks);
  bool const faulty = std::getenv("ATOLL_HPGMG_FAULT") != nullptr;
  run_record const run = run_benchmark(o, faulty ? static_cast<runtime&>(forgetful) : ranks, show);
  out.summary(run);
  out.checks(run);
  // Each by itself: one that cannot be written is no reason to lose the others.
  bool written = true;
  auto const write = [&](std::function<void()> const& what) {
    written = self.on_rank_0(ranks, what) && written;
  };
  write([&] {
    if (results) results->add(run);
  });
  write([&] {
    if (json) write_json(*json, run);
  });
  write([] { console::flush(); });
  if (!written) return 2;
  // Rank 0's verdict counts: ranks without boxes saw nothing.
  return ranks.any(ranks.rank() == 0 && run.checked && !run.passed()) ? 1 : 0;
}

/// The grids live in the shared heaps, which then should be large enough for them.
void choose_heap_size(options const& o) {
  constexpr double mib = 1024 * 1024;
  constexpr double usual = 128 * mib;
  double const needed = most_bytes_per_rank(o.what);
  if (needed <= usual || std::getenv("UPCXX_SEGMENT_MB") != nullptr) return;
  // Boxes that make no cube are left out, so less may do; what does not fit at all the check of memory tells of, which says more. All ranks
  // of a host have to come to the same.
  double const all =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  double const size_of_heap = std::max(usual, std::min(needed, all));
  std::string const size = std::to_string(static_cast<long>(size_of_heap / mib) + 1) + "MB";
  constexpr int keep = 0;
  setenv("UPCXX_SHARED_HEAP_SIZE", size.c_str(), keep);
}

int run_program(int argc, char** argv) {
  auto words = parse_options(argc, argv);
  auto const& o = words.value;
  std::string communication = o.communication;
  if (!words.help.empty() || !words.error.empty()) communication = default_communication();
  if (words.error.empty() && apps::program::started_by_atoll() && communication == "mpi") {
    words.error = self.needs_mpirun("--comm mpi");
    communication = default_communication();
  }
  if (words.help.empty() && words.error.empty()) choose_heap_size(o);
  // Help and complaints are printed by one rank, so the ranks must know who they are even then.
  auto const ranks = make_runtime(communication, &argc, &argv);
  return self.run(ranks->rank(), words, [&] { return solve(o, *ranks); });
}

}  // namespace
}  // namespace hpgmg

int main(int argc, char** argv) {
  return hpgmg::self.guard([&] { return hpgmg::run_program(argc, argv); });
}
