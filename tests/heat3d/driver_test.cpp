// Many steps at once: which ones the driver asks for, and that their sums and checks are those of single steps.

#include "program/driver.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <tuple>
#include <vector>

namespace heat3d {
namespace {

using field = std::vector<double>;

problem small_problem() {
  problem p;
  p.domain = {7, 5, 6};
  p.t0 = 0.3;
  p.last_step = 13;
  return p;
}

/// A device that the host plays: as late as it may, for a block without neighbours.
class late_runner final : public stretch_runner {
 public:
  explicit late_runner(backend& engine) : engine_(engine) {}

  void restart() override {
    EXPECT_TRUE(waiting_.empty());
    asked.clear();
    radiated_ = {};
    steps_ = 0;
  }
  void prepare(std::int64_t step_n, std::span<coefficients const> constants) override {
    prepared_n = step_n;
    for (auto const& k : constants) prepared.push_back(k.power);
  }
  void start(stretch const& next) override {
    EXPECT_LE(waiting_.size(), 1U) << "the one before it has not begun";
    waiting_.push_back(next);
    asked.push_back(next);
    begun_ = 0;
  }
  bool begun() override {
    if (++begun_ < 3) return false;
    for (; waiting_.size() > 1; waiting_.pop_front()) run(waiting_.front());
    // Sums of the field before the last one, which has not run: none of its steps may be in them.
    field now(static_cast<std::size_t>(7 * 5 * 6));
    engine_.store(now);
    sums_ = {};
    if (waiting_.front().sum_field) {
      for (double v : now) sums_.field.add(v);
      std::swap(sums_.earlier, radiated_);
    }
    return true;
  }
  block_sums sums() override { return sums_; }
  bool done() override {
    for (; !waiting_.empty(); waiting_.pop_front()) run(waiting_.front());
    return true;
  }
  std::vector<double> step_seconds() override { return std::vector<double>(steps_, 0.5); }

  std::vector<stretch> asked;
  std::vector<double> prepared;
  std::int64_t prepared_n = 0;

 private:
  void run(stretch const& s) {
    for (std::int64_t i = 0; i < s.step_n; ++i, ++steps_) {
      engine_.launch_inner(s.k, false);
      engine_.complete_inner();
      engine_.surface({});
      radiated_.add(engine_.update().radiated);
    }
  }

  backend& engine_;
  std::deque<stretch> waiting_;
  compensated_sum radiated_;
  block_sums sums_;
  std::size_t steps_ = 0;
  int begun_ = 0;
};

/// What a run prints, and the field that it ends with.
struct outcome {
  std::vector<report> reports;
  field cells;
  std::vector<double> step_seconds;
};

/// `run` was made with the others. Sums in every fifth step, as no step of the power's going off is.
outcome result_of(driver& run, problem const& p, backend& engine) {
  outcome found;
  run.is_reduced = [&](std::int64_t step) { return step % 5 == 0 || step == p.final_step(); };
  run.is_printed = run.is_reduced;
  run.on_report = [&](report const& r) { found.reports.push_back(r); };
  run.warm_up(2);
  run.run();
  found.step_seconds = run.step_seconds();
  found.cells.resize(p.cell_n());
  engine.store(found.cells);
  return found;
}

TEST(driver, asks_for_all_steps_up_to_the_next_event) {
  auto const p = small_problem();
  auto const own = make_block(p.domain, {1, 1, 1}, 0);
  auto const ranks = make_solo_communicator();
  auto const engine = make_plain_backend({own, p.domain}, true);
  late_runner runner(*engine);
  driver run(p, own, *ranks, *engine, runner);
  auto const found = result_of(run, p, *engine);

  using row = std::tuple<std::int64_t, double, bool>;
  std::vector<row> asked;
  for (auto const& s : runner.asked) asked.emplace_back(s.step_n, s.k.power, s.sum_field);
  // Power is on in steps 0 to 6.
  EXPECT_EQ(asked, (std::vector<row>{{5, 1, true}, {2, 1, true}, {3, 0, false}, {3, 0, true}, {1, 0, true}}));
  EXPECT_EQ(runner.prepared_n, 14);
  EXPECT_EQ(runner.prepared, (std::vector<double>{1, 0}));
  EXPECT_EQ(found.step_seconds, std::vector<double>(14, 0.5));
}

TEST(driver, gets_the_same_from_many_steps_at_once) {
  auto const p = small_problem();
  auto const own = make_block(p.domain, {1, 1, 1}, 0);
  auto const ranks = make_solo_communicator();
  auto const single = [&] {
    auto const engine = make_plain_backend({own, p.domain}, true);
    auto const halos = ranks->make_exchange(own, nullptr);
    driver run(p, own, *ranks, *engine, *halos);
    return result_of(run, p, *engine);
  }();
  auto const engine = make_plain_backend({own, p.domain}, true);
  late_runner runner(*engine);
  driver run(p, own, *ranks, *engine, runner);
  auto const found = result_of(run, p, *engine);

  EXPECT_EQ(found.cells, single.cells);
  ASSERT_EQ(found.reports.size(), single.reports.size());
  for (std::size_t i = 0; i < found.reports.size(); ++i) {
    EXPECT_EQ(found.reports[i].step, single.reports[i].step);
    EXPECT_NEAR(found.reports[i].mean, single.reports[i].mean, 1e-15);
    EXPECT_EQ(found.reports[i].interval_steps, single.reports[i].interval_steps);
  }
  // verify() would add what the last step has radiated, which a device's own scan knows.
  EXPECT_LT(run.energy().residual(), 1e-14);
}

TEST(driver, long_runs_without_sums_are_asked_for_in_parts) {
  auto p = small_problem();
  p.last_step = 5000;
  auto const own = make_block(p.domain, {1, 1, 1}, 0);
  auto const ranks = make_solo_communicator();
  auto const engine = make_plain_backend({own, p.domain}, true);
  late_runner runner(*engine);
  driver run(p, own, *ranks, *engine, runner);
  run.is_reduced = [&](std::int64_t step) { return step == p.final_step(); };
  run.is_printed = run.is_reduced;
  std::vector<std::int64_t> told;
  run.on_step = [&](std::int64_t step, double) { told.push_back(step); };
  run.warm_up(0);
  run.run();
  EXPECT_EQ(told, (std::vector<std::int64_t>{999, 1999, 2500, 3500, 4500, 4999}));
}

}  // namespace
}  // namespace heat3d
