#pragma once

/// The launchers that start ranks on several hosts, and what each wants to be told.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/hosts/host_list.hpp"
#include "run/options.hpp"

namespace atl::tools {

enum class launcher_kind { srun, prterun, openmpi, hydra };

struct launcher {
  launcher_kind kind = launcher_kind::openmpi;
  std::string program;  ///< its file
  std::string words;    ///< for people: "Open MPI's mpirun (/usr/bin/mpirun)"
  std::string mpi;      ///< srun: pmix or pmi2; Hydra: intel, or empty
};

/// Names of --launcher, for messages.
inline constexpr std::string_view launcher_names = "srun, prterun, mpirun, hydra";

/// The one with that name, or, if that is empty, the first that is installed: inside an allocation of Slurm's srun, then prterun, Open MPI's
/// mpirun, Hydra (MPICH's, Intel MPI's). Throws startup_error, with what to install.
launcher find_launcher(std::string const& name, bool inside_slurm);

/// What is asked of it.
struct cluster_start {
  std::vector<host_share> hosts;       ///< empty: those of the allocation
  int host_count = 0;                  ///< of an allocation; 0: all
  int ranks = 0;                       ///< 0: as the allocation says
  std::vector<std::string> variables;  ///< names of what ranks get of the launcher's environment
};

/// Its command line. Throws startup_error for what this launcher cannot do.
std::vector<std::string> words_for(launcher const& which, cluster_start const& start,
                                   run_options const& options);

/// A line of a launcher's tagged output as `atoll run` writes it: "[1,3]<stdout>:text", "[3] text" or " 3: text" become "[3] text".
std::string retag(launcher_kind kind, std::string_view line);

}  // namespace atl::tools
