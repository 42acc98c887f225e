#pragma once

/// A runtime over another one, that makes trouble: pauses, where ranks that wait for too little would be
/// found out, and, in solves, faults, which tests must find.

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "grid/level.hpp"
#include "movers/runtime.hpp"

namespace hpgmg {

struct trouble {
  unsigned pauses = 0;  ///< seed of random ones; 0: none
  /// The run in which what arrives on the last rank is changed, counting those with arrivals.
  int spoilt_run = 0;
  bool no_waiting = false;  ///< barriers do nothing
  int death = 0;            ///< the run in which rank 1 dies
};

/// Of one rank.
class troublemaker {
 public:
  troublemaker(trouble const& what, int rank, int size)
      : what_(what), rank_(rank), size_(size), bits_(1000 * what.pauses + static_cast<unsigned>(rank)) {}

  /// Mostly nothing, sometimes a time in which peers do a lot; at times one rank is slow for long.
  void pause() {
    if (what_.pauses == 0) return;
    if (--until_next_ < 0) {
      until_next_ = static_cast<int>(bits_() % 200);
      slow_ = bits_() % 4 == 0;
    }
    if (bits_() % (slow_ ? 4 : 32) != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(bits_() % 1000));
  }
  void begin() { solving_ = true; }
  [[nodiscard]] bool waits() const { return !solving_ || !what_.no_waiting; }
  [[nodiscard]] bool spoils_next() {
    return solving_ && what_.spoilt_run > 0 && rank_ == size_ - 1 && ++arrivals_ == what_.spoilt_run;
  }
  void count_run() {
    if (solving_ && ++runs_ == what_.death && rank_ == 1) std::raise(SIGKILL);
  }

 private:
  trouble what_;
  int rank_;
  int size_;
  std::mt19937 bits_;
  bool solving_ = false;
  int until_next_ = 0;
  bool slow_ = false;
  int arrivals_ = 0;
  int runs_ = 0;
};

class troubled_group final : public group {
 public:
  troubled_group(group& inner, troublemaker& maker) : inner_(inner), maker_(maker) {}
  troubled_group(std::unique_ptr<group> inner, troublemaker& maker)
      : owned_(std::move(inner)), inner_(*owned_), maker_(maker) {}
  double max(double mine) override {
    maker_.pause();
    return inner_.max(mine);
  }
  double sum(double mine) override {
    maker_.pause();
    return inner_.sum(mine);
  }
  void barrier() override {
    maker_.pause();
    if (maker_.waits()) inner_.barrier();
    maker_.pause();
  }

 private:
  std::unique_ptr<group> owned_;
  group& inner_;
  troublemaker& maker_;
};

class troubled_mover final : public mover {
 public:
  troubled_mover(std::unique_ptr<mover> inner, plan const& moves, troublemaker& maker)
      : inner_(std::move(inner)), moves_(moves), maker_(maker) {}
  void run(std::ptrdiff_t source_offset, std::ptrdiff_t destination_offset, bool disturbed,
           move_times& times) override {
    maker_.pause();
    maker_.count_run();
    inner_->run(source_offset, destination_offset, disturbed, times);
    if (!moves_.receives.empty() && maker_.spoils_next()) {
      for (region const& r : moves_.receives) {
        for (int k = 0; k < r.extent[2]; ++k) {
          for (int j = 0; j < r.extent[1]; ++j) {
            double* const row = moves_.destination->local + destination_offset + r.destination +
                                r.destination_step[0] * j + r.destination_step[1] * k;
            for (int i = 0; i < r.extent[0]; ++i) row[i] += 1e-4;
          }
        }
      }
    }
    maker_.pause();
  }

 private:
  std::unique_ptr<mover> inner_;
  plan moves_;
  troublemaker& maker_;
};

class troubled_runtime final : public runtime {
 public:
  troubled_runtime(runtime& inner, trouble const& what)
      : inner_(inner), maker_(what, inner.rank(), inner.size()), world_(inner.world(), maker_) {}
  /// The operator is complete.
  void begin() { maker_.begin(); }
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  group& world() override { return world_; }
  std::unique_ptr<group> split(bool in) override {
    auto made = inner_.split(in);
    return made == nullptr ? nullptr : std::make_unique<troubled_group>(std::move(made), maker_);
  }
  std::unique_ptr<arena> allocate(std::ptrdiff_t doubles) override { return inner_.allocate(doubles); }
  std::unique_ptr<mover> make_mover(plan const& moves, group* members) override {
    return wrap(inner_.make_mover(moves, members), moves);
  }
  std::unique_ptr<mover> make_exchange(level const& l, ghost_shape shape, group* members) override {
    return wrap(inner_.make_exchange(l, shape, members), plan_exchange(l, shape));
  }
  std::unique_ptr<mover> make_restriction(level const& fine, level const& coarse,
                                          restriction_plan const& what, group* members) override {
    return wrap(inner_.make_restriction(fine, coarse, what, members), what.moves);
  }
  std::unique_ptr<mover> make_interpolation(level const& coarse, level const& fine,
                                            interpolation_plan const& what, group* members) override {
    return wrap(inner_.make_interpolation(coarse, fine, what, members), what.moves);
  }

 private:
  std::unique_ptr<mover> wrap(std::unique_ptr<mover> made, plan const& moves) {
    return std::make_unique<troubled_mover>(std::move(made), moves, maker_);
  }

  runtime& inner_;
  troublemaker maker_;
  troubled_group world_;
};

}  // namespace hpgmg
