#pragma once

/// What the program needs of a communication library. Implemented over Atoll and over MPI, so that all
/// variants do the same work.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/failure.hpp"
#include "common/timing.hpp"
#include "grid/job.hpp"
#include "grid/plan.hpp"

namespace hpgmg {

using apps::failure;
using apps::lap_timer;
using apps::now;

/// Seconds of one phase of communication.
struct move_times {
  double pack = 0;
  double local = 0;
  double unpack = 0;
  double send = 0;
  double wait = 0;
};

/// Moves what a plan says. Every rank of the group calls run() in the same order.
class mover {
 public:
  virtual ~mover() = default;
  /// What arrived may be read until this rank enters the next run, of this mover or of another one that
  /// writes to the same places. That may begin at a peer that is ahead: so if the last run wrote to the same
  /// vector, or if another mover wrote to these boxes since (`disturbed`), a run first makes sure that the
  /// peers have entered it, too.
  ///
  /// The offsets choose the vectors; they are the same on all ranks.
  virtual void run(std::ptrdiff_t source_offset, std::ptrdiff_t destination_offset, bool disturbed,
                   move_times& times) = 0;
};

/// The job, and movers between its ranks.
class runtime : public job {
 public:
  // Collective over the world; runs are collective over `members`, null where this rank is none.

  virtual std::unique_ptr<mover> make_mover(plan const& moves, group* members) = 0;
  virtual std::unique_ptr<mover> make_exchange(level const& l, ghost_shape shape, group* members) {
    return make_mover(plan_exchange(l, shape), members);
  }
  /// For cells.
  virtual std::unique_ptr<mover> make_restriction(level const& /*fine*/, level const& /*coarse*/,
                                                  restriction_plan const& what, group* members) {
    return make_mover(what.moves, members);
  }
  virtual std::unique_ptr<mover> make_interpolation(level const& /*coarse*/, level const& /*fine*/,
                                                    interpolation_plan const& what, group* members) {
    return make_mover(what.moves, members);
  }
};

/// Values of --comm that this build knows, in the order of the paper.
std::vector<std::string> communication_names();
/// The library that a variant needs, started. Throws failure.
std::unique_ptr<runtime> make_runtime(std::string_view communication, int* argc, char*** argv);

}  // namespace hpgmg
