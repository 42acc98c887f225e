#pragma once

/// MPI in the same process, started by a launcher that does not make its ranks one job.

#include "bootstrap/bootstrap.hpp"

namespace atl::bootstrap {

/// Warns once, on rank 0, if MPI has been initialised in this process as a job of one rank although `job` has
/// several: such a program computes the same thing several times, without a word. Looks only where the process
/// has an MPI library, and never initialises it. Costs look-ups of symbols; for init.
void look_for_mpi_singletons(channel& job);

/// The same for the job that was looked at first, since MPI may be initialised later; for finalize and long
/// waits. Nothing before that.
void look_for_mpi_singletons_again();

}  // namespace atl::bootstrap
