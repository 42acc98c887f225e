#pragma once

/// The run: builds the grids, solves on three of them many times, measures and compares.

#include <functional>

#include "program/options.hpp"
#include "program/record.hpp"

namespace hpgmg {

/// What may be shown while it runs; called on every rank.
struct observer {
  std::function<void(run_record const&)> built = [](auto&) {};
  /// Of `count` solves of a size, `done` are; count is 0 during the warm-up.
  std::function<void(size_record const&, int done, int count)> solved = [](auto&, int, int) {};
  std::function<void(size_record const&)> size_done = [](auto&) {};
};

/// Collective. The record is complete on rank 0.
run_record run_benchmark(options const& o, runtime& ranks, observer const& show);

}  // namespace hpgmg
