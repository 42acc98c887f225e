#pragma once

/// What memory gives to all ranks at once: the yardstick of the smoothers.

#include "solver/multigrid.hpp"

namespace hpgmg {

/// Bytes that one sweep of a smoother moves for each cell where nothing stays in the cache: the vectors it
/// reads, and what it writes (first read by the cache, unless it is a vector that is read anyway).
int bytes_per_cell(problem const& what);

/// Bytes per second of a = b + s*c on all ranks at once, over arrays that together are as large as `bytes` on
/// this rank, by so many threads of it; 32 bytes per element, as what is written is first read by the cache.
/// The sum over all ranks. Takes about a quarter of a second. Collective.
double triad_rate(runtime& ranks, double bytes, int threads);

}  // namespace hpgmg
