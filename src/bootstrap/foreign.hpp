#pragma once

/// Launchers that start several processes of a program without a bootstrap that we understand. Taken for no
/// launcher at all, they would give as many jobs of one rank as there are processes, without a word.

#include <functional>
#include <optional>
#include <string>

namespace atl::bootstrap {

/// One process among those that a launcher started together, as its environment says.
struct foreign_task {
  std::string launcher;  ///< for people: "Slurm's srun"
  std::string sign;      ///< the variables that tell: "SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=2"
  std::string instead;   ///< command to write instead of the one that was used, up to the program's name
  std::string more;      ///< to say after it
  int rank = 0;
  int tasks = 0;  ///< at least 2; 0: unknown, but more than one
};

/// Value of an environment variable, or null.
using variable_reader = std::function<char const*(char const*)>;

/// The launcher that started this process together with others; empty when it is alone, as in the shell of an
/// allocation (`salloc`, the script of `sbatch`), where only the launcher's step makes several tasks.
std::optional<foreign_task> find_foreign_task(variable_reader const& variable);

/// Why a job of one rank is not what `task` was meant to be, which bootstraps were tried, and what to write
/// instead. Complete on task 0; the others give a line that points there.
std::string explain(foreign_task const& task, std::string const& tried);

}  // namespace atl::bootstrap
