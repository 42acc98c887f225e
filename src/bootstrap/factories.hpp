#pragma once

/// The implementations of `channel`, as `attach` sees them. Internal to src/bootstrap.

#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"

namespace atl::bootstrap {

/// Status of a process that ends its job over a failure. Systems keep the last eight bits, which must not look like success.
constexpr int failure_status(int exit_code) { return (exit_code & 0xff) == 0 ? 1 : exit_code & 0xff; }

/// A job of one rank; always possible.
std::unique_ptr<channel> make_solo();

/// The reason of make_local() where this process may be a rank that cannot join.
inline constexpr char const* board_out_of_reach =
    "the `atoll run` named by ATOLL_JOB is gone or out of reach";

/// Joins the job of the `atoll run` that the environment names. Null when there is none, or when this process
/// is not one of its ranks (a program started by a rank); `reason` then says so.
std::unique_ptr<channel> make_local(std::string& reason);

/// Turns this process into `ranks` ranks: each is a copy of it and returns the channel of its rank, while the
/// process itself waits for them and exits with the status of the first that fails. Throws startup_error.
std::unique_ptr<channel> make_forked(int ranks);

/// True when the environment is that of a process started by a PMIx server.
bool started_by_pmix() noexcept;

/// Joins the job of a PMIx server (mpirun, prterun, srun). Throws startup_error when that fails.
std::unique_ptr<channel> make_pmix();

/// Whether libpmix can be opened here; `reason` gets its version or the loader's complaint.
bool pmix_available(std::string& reason);

/// True when the environment is that of a process started by a launcher that speaks PMI over a descriptor;
/// `reason` says so, or why not.
bool started_by_pmi(std::string& reason) noexcept;

/// Joins the job of a launcher that speaks PMI (Hydra, srun --mpi=pmi2). Throws startup_error when that fails.
std::unique_ptr<channel> make_pmi();

}  // namespace atl::bootstrap
