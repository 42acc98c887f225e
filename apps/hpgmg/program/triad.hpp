#pragma once

/// What memory gives to all ranks at once: the yardstick of the smoothers.

#include "solver/multigrid.hpp"

namespace hpgmg {

/// Bytes that one sweep of a smoother moves for each cell where nothing stays in the cache: the vectors it
/// reads, and what it writes (first read by the cache, unless it is a vector that is read anyway).
int bytes_per_cell(problem const& what);

/// How large the triad's arrays are on a rank with so many boxes of the finest grid: as large as what a sweep moves, but no more than
/// leaves any cache.
double triad_bytes(problem const& what, double boxes);

/// Bytes per second of a = b + s*c on all ranks at once, over arrays that together are as large as `bytes` on
/// this rank, by so many threads of it; 32 bytes per element, as what is written is first read by the cache.
/// The sum over all ranks. Takes about a quarter of a second. Collective.
double triad_rate(runtime& ranks, double bytes, int threads);

}  // namespace hpgmg
