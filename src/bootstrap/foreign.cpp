#include "bootstrap/foreign.hpp"

#include <array>
#include <charconv>
#include <string_view>

#include "base/error.hpp"

// Which variables tell that a launcher made several processes of one program.
//
// A number of tasks alone tells nothing: Slurm sets SLURM_NTASKS (and, in the script of sbatch, SLURM_PROCID=0)
// in shells of an allocation, where a plain program is one process. Only srun sets SLURM_STEP_NUM_TASKS, in the
// tasks of its step; the interactive step of salloc says 1. Likewise Flux sets FLUX_TASK_RANK in tasks only.
// Hydra comes first, since it may use srun to start its own processes; MPI_LOCALNRANKS tells it from the others that
// speak PMI (ParaStation, PALS, Flux, srun --mpi=pmi2), and PMI alone is looked at last. Those that speak it over a descriptor are understood, and get
// here where that is closed.

namespace atl::bootstrap {
namespace {

struct signature {
  char const* launcher;
  char const* size;  ///< null: no variable tells it, but a rank above 0 does; "": any rank does
  char const* rank;
  char const* also;       ///< a variable that must be there too; null: none
  char const* command;    ///< that makes a job of several ranks; null: depends on what is installed
  char const* more = "";  ///< to say after it
};

constexpr std::array signatures{
    signature{"MPICH's or Intel's mpiexec with -pmi-port", "", "PMI_ID", "PMI_PORT", "mpiexec",
              ", without that option"},
    signature{"MPICH's or Intel's mpiexec (Hydra)", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", nullptr},
    signature{"Slurm's srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", nullptr, "srun --mpi=pmix",
              ", or with --mpi=pmi2 (`srun --mpi=list` says what there is)"},
    signature{"IBM's jsrun", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", nullptr, nullptr},
    signature{"Flux", "FLUX_JOB_SIZE", "FLUX_TASK_RANK", nullptr, "flux run -o pmi=pmix"},
    signature{"Open MPI's mpirun without PMIx", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", nullptr,
              nullptr},
    signature{"MVAPICH's launcher", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", nullptr, nullptr},
    signature{"PALS (mpiexec or aprun of HPE Cray)", "PMI_SIZE", "PALS_RANKID", nullptr, nullptr},
    signature{"ALPS (aprun of Cray)", nullptr, "ALPS_APP_PE", nullptr, nullptr},
    signature{"a launcher that speaks PMI", "PMI_SIZE", "PMI_RANK", nullptr, nullptr},
};

/// -1 when it is not set or not a number.
int number_of(variable_reader const& variable, char const* name) {
  char const* const text = name != nullptr && *name != '\0' ? variable(name) : nullptr;
  if (text == nullptr) return -1;
  std::string_view const digits = text;
  int value = -1;
  auto const end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return end.ec == std::errc{} && end.ptr == digits.data() + digits.size() ? value : -1;
}

}  // namespace

std::optional<foreign_task> find_foreign_task(variable_reader const& variable) {
  for (signature const& s : signatures) {
    if (s.also != nullptr && variable(s.also) == nullptr) continue;
    int const rank = number_of(variable, s.rank);
    int const tasks = number_of(variable, s.size);
    if (rank < 0 || (tasks < 2 && (s.size != nullptr ? *s.size != '\0' : rank == 0))) continue;
    foreign_task found{s.launcher, "", "", "", rank, tasks < 0 ? 0 : tasks};
    if (tasks > 0) found.sign = format("%s=%d, ", s.size, tasks);
    found.sign += format("%s=%d", s.rank, rank);
    if (s.command != nullptr) found.instead = s.command;
    found.more = s.more;
    return found;
  }
  return std::nullopt;
}

std::string explain(foreign_task const& task, std::string const& tried) {
  if (task.rank != 0) {
    return format(
        "started by %s as task %d, by no way that makes its tasks the ranks of one job; task 0 says more. "
        "ATOLL_BOOTSTRAP=solo makes each a job of one rank",
        task.launcher.c_str(), task.rank);
  }
  std::string const ranks = task.tasks > 0 ? format("%d", task.tasks) : std::string("N");
  std::string const several = task.tasks > 0 ? ranks : std::string("several");
  std::string const command =
      task.instead.empty() ? std::string("a launcher that speaks PMIx or PMI, such as Open MPI's `mpirun")
                           : "`" + task.instead;
  return format(
      "%s started this process as one of %s tasks (%s), but no bootstrap here understands how, and each task "
      "would be a job of one rank. Tried: %s. Write %s -n %s PROGRAM`%s; or on one host `upcxx-run -n %s PROGRAM`. "
      "For a job of one rank in each task set ATOLL_BOOTSTRAP=solo; for one of several, GASNET_PSHM_NODES to "
      "their number",
      task.launcher.c_str(), several.c_str(), task.sign.c_str(), tried.c_str(), command.c_str(),
      ranks.c_str(), task.more.c_str(), ranks.c_str());
}

}  // namespace atl::bootstrap
