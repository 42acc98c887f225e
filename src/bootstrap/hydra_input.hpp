#pragma once

namespace atl::bootstrap {

/// Gives ranks other than 0 of MPICH's Hydra an end of input, which would keep them waiting for it. Does nothing elsewhere, or again.
void end_input_that_hydra_keeps_open() noexcept;

}  // namespace atl::bootstrap
