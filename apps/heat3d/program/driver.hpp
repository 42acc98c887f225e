#pragma once

/// The time loop.

#include <array>
#include <functional>
#include <vector>

#include "backends/backend.hpp"
#include "backends/stretches.hpp"
#include "exchanges/communicator.hpp"
#include "problem/checks.hpp"

namespace heat3d {

/// Seconds that this rank spent in the parts of its steps, added up over the timed steps.
struct phase_seconds {
  double pack = 0;     ///< copying planes into outgoing buffers
  double send = 0;     ///< handing them to the communication library
  double inner = 0;    ///< cells that need no halo
  double wait = 0;     ///< for halos
  double surface = 0;  ///< cells next to neighbours, and the update
  double reduce = 0;   ///< starting, polling and waiting for sums over all ranks
  double total = 0;

  double communicating() const { return send + wait + reduce; }
};

/// Sums of one step have arrived.
struct report {
  std::int64_t step;
  double mean;              ///< temperature after `step` updates
  double elapsed_seconds;   ///< since the loop began
  double interval_seconds;  ///< since the report before
  std::int64_t interval_steps;
  double communicating;  ///< share of this rank's time since the report before, 0 to 1
};

/// Runs the problem on this rank's block. All ranks call the same functions.
class driver {
 public:
  /// Step by step: the host starts what is computed and sent.
  driver(problem const& p, block const& own, communicator& ranks, backend& engine, halo_exchange& halos)
      : problem_(p), own_(own), ranks_(ranks), engine_(engine), halos_(&halos), energy_(p), means_(p) {}
  /// All steps between two sums, or up to where the power changes, at once.
  driver(problem const& p, block const& own, communicator& ranks, backend& engine, stretch_runner& runner)
      : problem_(p), own_(own), ranks_(ranks), engine_(engine), runner_(&runner), energy_(p), means_(p) {}

  /// Decides in which steps sums are taken, and in which of them `on_report` is called (on every rank).
  std::function<bool(std::int64_t)> is_reduced;
  std::function<bool(std::int64_t)> is_printed;
  std::function<void(report const&)> on_report;
  /// Called in every timed step, or when many are done, on every rank.
  std::function<void(std::int64_t step, double elapsed_seconds)> on_step;

  /// Steps whose result and time are thrown away. The field is what it was initially afterwards.
  void warm_up(std::int64_t steps);
  /// Steps 0 to final_step().
  void run();
  /// Checks the finished run. The results differ between ranks by rounding at most; rank 0 decides.
  std::vector<check_result> verify();

  std::vector<double> const& step_seconds() const { return step_seconds_; }
  phase_seconds const& phases() const { return phases_; }
  double final_mean() const { return final_mean_; }
  energy_ledger const& energy() const { return energy_; }

 private:
  block_sums compute(coefficients const& k, bool sum_field);
  void run_steps();
  void run_stretches();
  stretch stretch_from(std::int64_t step) const;
  template <class Condition>
  void wait_for(Condition is_true);
  void start_reduction(std::int64_t step, double field);
  void complete_reduction();
  void load_initial();

  problem problem_;
  block own_;
  communicator& ranks_;
  backend& engine_;
  halo_exchange* halos_ = nullptr;    ///< step by step
  stretch_runner* runner_ = nullptr;  ///< or many at once
  energy_ledger energy_;
  mean_check means_;

  std::vector<double> step_seconds_;
  phase_seconds phases_;
  double started_ = 0;
  double last_report_seconds_ = 0;
  double last_report_communicating_ = 0;
  std::int64_t last_report_step_ = -1;
  double final_mean_ = 0;

  compensated_sum radiated_;            ///< by this rank so far
  std::array<double, 2> reduced_{};     ///< field and radiated, while they are being added up
  std::int64_t reduction_step_ = -1;    ///< of the sums under way, -1: none are
  double reduction_elapsed_ = 0;        ///< when they were started
  double reduction_communicating_ = 0;  ///< time spent communicating until then
};

}  // namespace heat3d
