// One step: start packing, start the inner cells, send each plane when it is packed, compute the inner cells
// while the halos travel, wait for halos, compute the cells next to neighbours, update.
//
// There is no barrier, and sums over all ranks do not hold the loop up either: they are started in the steps
// that ask for them and picked up in a later step. So ranks may be one step apart,
// which the exchanges allow for.
//
// Where nobody needs the host in a step, many are started at once. The sums that the first of them begins with say that
// the ones before are done; the host then lets the ranks add up theirs while the steps go on.

#include "program/driver.hpp"

#include <algorithm>

#include "common/timing.hpp"
#include "problem/closed_forms.hpp"
#include "program/field_check.hpp"

namespace heat3d {

using apps::now;

void driver::load_initial() {
  std::vector<double> values(own_.cells.cell_n());
  std::size_t i = 0;
  for (auto z = own_.cells.low[2]; z < own_.cells.high[2]; ++z) {
    for (auto y = own_.cells.low[1]; y < own_.cells.high[1]; ++y) {
      for (auto x = own_.cells.low[0]; x < own_.cells.high[0]; ++x)
        values[i++] = initial_value(problem_, x, y, z);
    }
  }
  engine_.load(values);
  if (runner_ != nullptr) runner_->restart();
}

block_sums driver::compute(coefficients const& k, bool sum_field) {
  apps::lap_timer timer;
  std::array<double const*, face_n> sent{};
  for (face f : send_order) {
    if (own_.has_neighbor(f)) sent[f] = engine_.pack_async(f, halos_->outgoing(f));
  }
  timer.add_to(phases_.pack);
  engine_.launch_inner(k, sum_field);
  timer.add_to(phases_.inner);
  for (face f : send_order) {
    if (!own_.has_neighbor(f) || !halos_->sends()) continue;
    engine_.packed(f);
    halos_->start(f, sent[f]);
  }
  timer.add_to(phases_.send);
  engine_.complete_inner();
  timer.add_to(phases_.inner);
  halo_planes planes{};
  for (int missing = own_.neighbor_n(); missing > 0;) {
    for (face f : send_order) {
      if (!own_.has_neighbor(f) || planes[f] != nullptr || !halos_->arrived(f)) continue;
      planes[f] = halos_->incoming(f);
      engine_.face_arrived(f, planes[f]);
      --missing;
    }
  }
  halos_->wait();
  timer.add_to(phases_.wait);
  engine_.surface(planes);
  auto const sums = engine_.update();
  halos_->next_step();
  timer.add_to(phases_.surface);
  return sums;
}

void driver::warm_up(std::int64_t steps) {
  load_initial();
  if (runner_ != nullptr) {
    runner_->prepare(
        std::max(steps, problem_.update_n()),
        std::array{problem_.coefficients_at(0), problem_.coefficients_at(problem_.final_step())});
    if (steps > 0) runner_->start({steps, problem_.coefficients_at(0), true});
    wait_for([&] { return runner_->done(); });
  } else {
    for (std::int64_t t = 0; t < steps; ++t) compute(problem_.coefficients_at(0), true);
  }
  if (steps > 0) load_initial();
}

void driver::run() {
  step_seconds_.assign(problem_.update_n(), 0.0);
  phases_ = {};
  ranks_.barrier();
  started_ = now();
  runner_ != nullptr ? run_stretches() : run_steps();
}

void driver::run_steps() {
  double step_began = started_;
  for (std::int64_t t = 0; t <= problem_.final_step(); ++t) {
    bool const reduced = is_reduced(t);
    // Radiated before this step belongs to the field before this update, as the field's sum does.
    auto const sums = compute(problem_.coefficients_at(t), reduced);
    radiated_.add(sums.earlier);
    double const radiated_before = radiated_.value();
    radiated_.add(sums.radiated);
    if (t == problem_.final_step()) engine_.synchronize();
    apps::lap_timer timer;
    if (reduction_step_ >= 0 && (reduced || ranks_.sum_done())) complete_reduction();
    if (reduced) {
      reduced_[1] = radiated_before;
      start_reduction(t, sums.field.value());
    }
    if (t == problem_.final_step()) complete_reduction();
    timer.add_to(phases_.reduce);
    double const step_ended = now();
    step_seconds_[t] = step_ended - step_began;
    step_began = step_ended;
    phases_.total = step_ended - started_;
    if (on_step) on_step(t, phases_.total);
  }
}

stretch driver::stretch_from(std::int64_t step) const {
  // More are started before these are done, so that their number costs nothing.
  constexpr std::int64_t most = 1000;
  std::int64_t next = step + 1;
  while (next <= problem_.final_step() && next - step < most && !is_reduced(next) &&
         problem_.is_heated(next) == problem_.is_heated(step)) {
    ++next;
  }
  return {next - step, problem_.coefficients_at(step), is_reduced(step)};
}

/// Sums of all ranks that arrive meanwhile are picked up.
template <class Condition>
void driver::wait_for(Condition is_true) {
  while (!is_true()) {
    if (reduction_step_ >= 0 && ranks_.sum_done()) {
      complete_reduction();
    } else {
      ranks_.progress();
    }
  }
}

void driver::run_stretches() {
  apps::lap_timer timer;
  for (std::int64_t t = 0; t <= problem_.final_step();) {
    auto const next = stretch_from(t);
    runner_->start(next);
    timer.add_to(phases_.inner);
    wait_for([&] { return runner_->begun(); });
    timer.add_to(phases_.surface);
    if (next.sum_field) {
      auto const sums = runner_->sums();
      radiated_.add(sums.earlier);
      if (reduction_step_ >= 0) complete_reduction();
      reduced_[1] = radiated_.value();
      start_reduction(t, sums.field.value());
    }
    timer.add_to(phases_.reduce);
    phases_.total = now() - started_;
    if (on_step && t > 0) on_step(t - 1, phases_.total);
    t += next.step_n;
  }
  wait_for([&] { return runner_->done(); });
  timer.add_to(phases_.surface);
  if (reduction_step_ >= 0) complete_reduction();
  timer.add_to(phases_.reduce);
  phases_.total = now() - started_;
  step_seconds_ = runner_->step_seconds();
}

void driver::start_reduction(std::int64_t step, double field) {
  reduced_[0] = field;
  reduction_step_ = step;
  reduction_elapsed_ = now() - started_;
  reduction_communicating_ = phases_.communicating();
  ranks_.start_sum(reduced_);
}

void driver::complete_reduction() {
  ranks_.finish_sum();
  auto const step = reduction_step_;
  reduction_step_ = -1;
  double const mean = reduced_[0] / static_cast<double>(problem_.cell_n());
  energy_.enter(step, reduced_[0], reduced_[1]);
  means_.enter(step, mean);
  final_mean_ = mean;
  if (!is_printed(step) || !on_report) return;
  // The times are those of the step, not of the arrival of its sums a step or so later.
  double const interval = reduction_elapsed_ - last_report_seconds_;
  double const communicating = reduction_communicating_ - last_report_communicating_;
  on_report({step, mean, reduction_elapsed_, interval, step - last_report_step_,
             interval > 0 ? communicating / interval : 0.0});
  last_report_seconds_ = reduction_elapsed_;
  last_report_communicating_ = reduction_communicating_;
  last_report_step_ = step;
}

std::vector<check_result> driver::verify() {
  auto const found = engine_.scan();
  radiated_.add(found.radiated);
  std::array<double, 2> sums = {found.sum.value(), radiated_.value()};
  ranks_.sum(sums);
  energy_.enter(problem_.update_n(), sums[0], sums[1]);
  means_.enter(problem_.update_n(), sums[0] / static_cast<double>(problem_.cell_n()));
  std::vector<check_result> results = {energy_.result()};
  if (auto const means = means_.result()) results.push_back(*means);
  for (auto& result : check_field(problem_, own_, engine_, found, ranks_)) results.push_back(result);
  return results;
}

}  // namespace heat3d
