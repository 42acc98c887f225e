#pragma once

/// The end of waits in kernels of the program: of nobody who could still come (rank_page::kernels_end).

namespace atl::engine {

/// All waits of this rank's kernels give up.
void end_kernel_waits() noexcept;
/// Before this rank goes on with what kernels have done: does not return if somebody fails, and kernels have given up without having done it.
void stop_if_job_ends() noexcept;
/// Whether there are kernels that may wait: then they give up before this process dies of an error, a crash or SIGTERM, and with them those
/// of the other ranks of the host.
void release_kernels_at_death(bool some) noexcept;

}  // namespace atl::engine
