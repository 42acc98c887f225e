// atoll-hpgmg: a geometric multigrid benchmark on many ranks. docs/guide/hpgmg.md tells how to use it,
// docs/design/hpgmg.md how it works.
//
// Exit status: 0 when the results are right, 1 when one is wrong, 2 when the run could not be done.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "common/host.hpp"
#include "movers/forwarding_runtime.hpp"
#include "program/benchmark.hpp"
#include "program/console.hpp"
#include "program/results.hpp"
#include "program/sizing.hpp"

namespace hpgmg {
namespace {

/// Runs `work` on rank 0 and tells every rank whether it succeeded; rank 0 prints the reason if not.
template <class Work>
bool on_rank_0(runtime& ranks, Work work) {
  double failed = 0;
  if (ranks.rank() == 0) {
    try {
      work();
    } catch (apps::file_problem const& p) {
      std::fprintf(stderr, "atoll-hpgmg: %s\n", p.text.c_str());
      failed = 1;
    }
  }
  return ranks.world().max(failed) == 0;
}

int solve(options const& o, runtime& ranks) {
  std::unique_ptr<results_file> results;
  std::unique_ptr<apps::output_file> json;
  bool const opened = on_rank_0(ranks, [&] {
    if (!o.results.empty()) results = std::make_unique<results_file>(o.results);
    if (!o.json.empty()) json = std::make_unique<apps::output_file>("--json", o.json);
  });
  if (!opened) return 2;
  auto const problem = memory_problem(o.what, ranks);
  if (ranks.world().max(problem ? 1 : 0) != 0) {
    if (problem) std::fprintf(stderr, "atoll-hpgmg: %s\n", problem->c_str());
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
  bool const written = on_rank_0(ranks, [&] {
    if (results) results->add(run);
    if (json) write_json(*json, run);
    console::flush();
  });
  if (!written) return 2;
  // Rank 0's verdict counts: ranks without boxes saw nothing.
  double const wrong = ranks.rank() == 0 && run.checked && !run.passed() ? 1 : 0;
  return ranks.world().max(wrong) != 0 ? 1 : 0;
}

/// The grids live in the shared heaps, which then should be large enough for them.
void choose_heap_size(options const& o) {
  constexpr double mib = 1024 * 1024;
  constexpr double usual = 128 * mib;
  double const needed = most_bytes_per_rank(o.what);
  // What does not fit at all is left to the check of memory, which says more.
  if (needed <= usual || needed > apps::available_bytes() || std::getenv("UPCXX_SEGMENT_MB") != nullptr)
    return;
  std::string const size = std::to_string(static_cast<long>(needed / mib) + 1) + "MB";
  constexpr int keep = 0;
  setenv("UPCXX_SHARED_HEAP_SIZE", size.c_str(), keep);
}

int run_program(int argc, char** argv) {
  auto words = parse_options(argc, argv);
  auto const& o = words.value;
  std::string communication = o.communication;
  if (!words.help.empty() || !words.error.empty()) communication = default_communication();
  if (words.error.empty() && std::getenv("ATOLL_JOB") != nullptr && communication == "mpi") {
    // MPI would take each rank for a job of its own.
    words.error = "--comm mpi: `atoll run` starts no MPI ranks; use mpirun -n 4 atoll-hpgmg ...";
    communication = default_communication();
  }
  if (words.help.empty() && words.error.empty()) choose_heap_size(o);
  // Help and complaints are printed by one rank, so the ranks must know who they are even then.
  auto const ranks = make_runtime(communication, &argc, &argv);
  if (!words.help.empty()) {
    if (ranks->rank() == 0) std::fputs(words.help.c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : 2;
  }
  if (!words.error.empty()) {
    if (ranks->rank() == 0) std::fprintf(stderr, "atoll-hpgmg: %s\n", words.error.c_str());
    return 2;
  }
  try {
    return solve(o, *ranks);
  } catch (failure const& p) {
    if (ranks->rank() == 0) std::fprintf(stderr, "atoll-hpgmg: %s\n", p.text.c_str());
    return 2;
  }
}

}  // namespace
}  // namespace hpgmg

int main(int argc, char** argv) {
  try {
    return hpgmg::run_program(argc, argv);
  } catch (hpgmg::failure const& p) {
    std::fprintf(stderr, "atoll-hpgmg: %s\n", p.text.c_str());
  } catch (std::bad_alloc const&) {
    std::fprintf(stderr, "atoll-hpgmg: memory does not suffice; use smaller or fewer boxes\n");
  }
  return 2;
}
