#pragma once

/// Ranks of a job in one process: each builds its part of levels and plans, with no one to talk to. A job of
/// one rank can solve.

#include <memory>
#include <vector>

#include "grid/level.hpp"
#include "movers/runtime.hpp"

namespace hpgmg {

class lonely_group final : public group {
 public:
  double max(double mine) override { return mine; }
  double sum(double mine) override { return mine; }
  void barrier() override {}
};

struct heap_arena final : arena {
  explicit heap_arena(std::ptrdiff_t doubles) : memory(static_cast<std::size_t>(doubles)) {
    local = memory.data();
  }
  std::vector<double> memory;
};

/// Copies what stays on the rank.
class local_mover final : public mover {
 public:
  explicit local_mover(plan const& moves) : moves_(moves) {}
  void run(std::ptrdiff_t source_offset, std::ptrdiff_t destination_offset, bool, move_times&) override {
    for (region const& r : moves_.locals) {
      copy_cells(moves_.destination->local + destination_offset + r.destination,
                 moves_.source->local + source_offset + r.source, r);
    }
  }

 private:
  plan moves_;
};

class local_rank final : public runtime {
 public:
  explicit local_rank(int rank = 0, int size = 1) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  group& world() override { return world_; }
  std::unique_ptr<group> split(bool in) override { return in ? std::make_unique<lonely_group>() : nullptr; }
  std::unique_ptr<arena> allocate(std::ptrdiff_t doubles) override {
    return std::make_unique<heap_arena>(doubles);
  }
  std::unique_ptr<mover> make_mover(plan const& moves, group*) override {
    return std::make_unique<local_mover>(moves);
  }

 private:
  int rank_;
  int size_;
  lonely_group world_;
};

/// A level, as each rank of a job has it.
struct every_rank {
  std::vector<std::unique_ptr<local_rank>> ranks;
  std::vector<std::unique_ptr<level>> levels;

  every_rank(int n, grid_shape shape, int ghosts, bool periodic, box_order order, int vectors = 1) {
    for (int r = 0; r < n; ++r) {
      ranks.push_back(std::make_unique<local_rank>(r, n));
      levels.push_back(std::make_unique<level>(*ranks.back(), shape, ghosts, periodic, order, vectors));
    }
  }
  [[nodiscard]] int size() const { return static_cast<int>(levels.size()); }
  level& operator[](int rank) { return *levels[static_cast<std::size_t>(rank)]; }
};

}  // namespace hpgmg
