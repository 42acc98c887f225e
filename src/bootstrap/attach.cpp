#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/os/standard_streams.hpp"
#include "base/settings.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/factories.hpp"
#include "bootstrap/foreign.hpp"
#include "bootstrap/simulated_hosts.hpp"
#include "bootstrap/started_by_rank.hpp"

// Which bootstrap: the environment decides. Servers of PMIx and PMI come before `atoll run`,
// because `atoll run` takes their variables out of the environment of its ranks: where both are present,
// the server is the inner launcher. PMIx comes before PMI, since launchers that have both mean the same job. A launcher that none of them understands is an error: each of its
// tasks would be a job of one rank.

namespace atl::bootstrap {
namespace {

/// Ranks of `atoll run`, and programs that a rank of any launcher starts, with the rank's variables: somebody's on purpose, whatever is around
/// them, and no jobs that somebody asked for.
bool is_of_a_job() {
  return std::getenv("ATOLL_JOB") != nullptr || started_by_rank("pmix") || started_by_rank("pmi");
}

std::optional<foreign_task> foreign_task_here() {
  // GASNET_PSHM_NODES=1 asks for one rank, in so many words.
  if (is_of_a_job() || std::getenv("GASNET_PSHM_NODES") != nullptr) return std::nullopt;
  return find_foreign_task([](char const* name) -> char const* { return std::getenv(name); });
}

char const* words_on_pmix() {
  return started_by_pmix() ? "started by a PMIx launcher" : "not started by a PMIx launcher";
}

[[noreturn]] void refuse(foreign_task const& task, std::string const& why_not_local) {
  std::string pmi;
  started_by_pmi(pmi);
  throw startup_error(explain(task, format("pmix: %s (no PMIX_NAMESPACE and PMIX_RANK); pmi: %s; local: %s",
                                           words_on_pmix(), pmi.c_str(), why_not_local.c_str())));
}

/// Usually it is so for all ranks: the first one says it.
void warn_of_ranks_alone() {
  if (rank_in_environment() != 0) return;
  warn(
      "bootstrap",
      "%s, so this process is a job of one rank, and so is each rank of that job. Has a wrapper closed descriptors, in a PID namespace of its "
      "own? Let it leave them open. If no such job is meant, unset ATOLL_JOB",
      board_out_of_reach);
}

std::unique_ptr<channel> make_channel() {
  std::string const wanted = settings::bootstrap();
  std::string reason;
  if (wanted == "solo") return make_solo();
  std::unique_ptr<channel> of_launcher;
  if (wanted == "pmix" || (wanted == "auto" && started_by_pmix())) {
    of_launcher = make_pmix();
  } else if (wanted == "pmi" || (wanted == "auto" && started_by_pmi(reason))) {
    of_launcher = make_pmi();
  }
  if (of_launcher != nullptr) {
    become_the_rank(of_launcher->name());
    return of_launcher;
  }
  if (auto made = make_local(reason)) return made;
  if (wanted == "local") throw startup_error("ATOLL_BOOTSTRAP=local, but " + reason);
  if (int const ranks = settings::ranks_without_launcher(); ranks > 1 && !is_of_a_job())
    return make_forked(ranks);
  if (auto const task = foreign_task_here()) refuse(*task, reason);
  if (reason == board_out_of_reach) warn_of_ranks_alone();
  return make_solo();
}

// Never destroyed: crash handlers and exit-time code use it until the process is gone.
// Atomic for attached(), which may be asked by a thread that attach() is busy in.
std::atomic<channel*> made{nullptr};
}  // namespace

channel& attach() {
  static std::mutex mutex;
  static bool complete = false;
  enum class how_far : std::uint8_t { made_at_most, meeting, met };
  static how_far step = how_far::made_at_most;
  std::lock_guard const lock(mutex);
  if (!complete) {
    if (made == nullptr) {
      os::open_standard_streams();
      made = make_channel().release();
    }
    if (step == how_far::made_at_most) {
      step = how_far::meeting;
      made.load()->meet();
      step = how_far::met;
    }
    if (step == how_far::meeting)
      throw startup_error("joining the job has failed before, and is not possible again");
    if (std::string const hosts = settings::sim_hosts(); !hosts.empty())
      made = simulate_hosts(*made, hosts).release();
    complete = true;
  }
  return *made;
}

channel* attached() noexcept { return made; }

void await_explanation() noexcept {
  if (channel* const launcher = attached(); launcher != nullptr) launcher->await_explanation();
}

std::int32_t rank_in_environment() {
  for (char const* const name : {"PMIX_RANK", "PMI_RANK", "ATOLL_RANK", "SLURM_PROCID"}) {
    if (std::strcmp(name, "PMIX_RANK") == 0 && !started_by_pmix()) continue;  // MPI's, of a job of one rank
    if (char const* const text = std::getenv(name); text != nullptr) return std::atoi(text);
  }
  auto const task = foreign_task_here();
  return task ? task->rank : 0;
}

std::string put_all_together(std::vector<std::string> const& words, channel::combiner const& put_together) {
  std::string all = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) all = put_together(all, words[i]);
  return all;
}

// Where hosts are simulated the machine is the job.
std::string channel::agree(std::string_view mine, combiner const& put_together) {
  return put_all_together(exchange_machine(mine), put_together);
}

std::vector<candidate> candidates() {
  int const ranks = settings::ranks_without_launcher();
  candidate solo{"solo", true, false,
                 ranks > 1 ? format("GASNET_PSHM_NODES: becomes %d ranks", ranks) : "a job of one rank"};
  candidate local{"local", std::getenv("ATOLL_JOB") != nullptr, false, ""};
  local.reason = local.usable ? "started by `atoll run`" : "not started by `atoll run`";
  candidate pmix{"pmix", false, false, ""};
  std::string library;
  bool const have_library = pmix_available(library);
  pmix.usable = have_library && started_by_pmix();
  pmix.reason = std::string(words_on_pmix()) + "; " + library;
  candidate pmi{"pmi", false, false, ""};
  pmi.usable = started_by_pmi(pmi.reason);
  std::string const wanted = settings::bootstrap();
  bool const any = wanted == "auto";
  pmix.chosen = wanted == "pmix" || (any && started_by_pmix());
  pmi.chosen = !pmix.chosen && (wanted == "pmi" || (any && pmi.usable));
  local.chosen = !pmix.chosen && !pmi.chosen && (wanted == "local" || (any && local.usable));
  solo.chosen = !pmix.chosen && !pmi.chosen && !local.chosen;
  if (auto const task = foreign_task_here(); task && solo.chosen && any) {
    solo.usable = false;
    solo.reason = task->launcher + " started several tasks (" + task->sign +
                  "), which are no jobs of one rank unless ATOLL_BOOTSTRAP=solo says so";
  }
  return {solo, local, pmix, pmi};
}

}  // namespace atl::bootstrap
