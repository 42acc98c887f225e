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

/// What it sets before the output of ranks, if asked to.
enum class tag_style {
  none,
  bracketed,             ///< "[1,3]<stdout>:"
  bracketed_with_space,  ///< "[name@1,3]<stdout>: "
  pattern,               ///< of our choice
  label,                 ///< " 3: ", before whole lines only
};
inline constexpr std::string_view hydra_tag_begins = "<atoll:";
inline constexpr std::string_view hydra_tag_ends = ">";

struct launcher {
  launcher_kind kind = launcher_kind::openmpi;
  std::string program;  ///< its file
  std::string words;    ///< for people: "Open MPI's mpirun (/usr/bin/mpirun)"
  std::string mpi;      ///< srun: pmix, pmi2 or none; Hydra: intel, or empty
  tag_style tags = tag_style::none;
};

/// Names of --launcher, for messages.
inline constexpr std::string_view launcher_names = "srun, mpirun, prterun, hydra";

/// The one with that name, or, if that is empty, the first that is installed: inside an allocation of Slurm's srun, then Open MPI's mpirun,
/// prterun, Hydra (MPICH's, Intel MPI's). Throws startup_error, with what to install, also for a srun that ranks
/// could not meet by.
launcher find_launcher(std::string const& name, bool inside_slurm);

/// What is asked of it.
struct cluster_start {
  std::vector<host_share> hosts;       ///< empty: those of the allocation
  int host_count = 0;                  ///< of an allocation; 0: all
  int ranks = 0;                       ///< 0: as the allocation says
  std::vector<std::string> variables;  ///< names of what ranks get of the launcher's environment
  bool tagged = false;                 ///< output comes with the launcher's tags
  bool beside = false;                 ///< another job of the same allocation
};

/// Its command line. Throws startup_error for what this launcher cannot do.
std::vector<std::string> words_for(launcher const& which, cluster_start const& start,
                                   run_options const& options);

}  // namespace atl::tools
