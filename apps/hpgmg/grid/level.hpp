#pragma once

/// One grid of the hierarchy on this rank: its own boxes and their memory.

#include <memory>
#include <vector>

#include "grid/box.hpp"
#include "grid/hierarchy.hpp"
#include "grid/plan.hpp"

namespace hpgmg {

/// Vectors of cells that each box stores, behind each other. The bottom level has more, for its solver.
enum vector_id : int { temp, u, f, work, r, inverse_diagonal, beta_i, beta_j, beta_k, alpha, vector_n };
inline constexpr int bottom_vector_n = 8;

class group;
class job;

class level {
 public:
  /// Collective. Memory is zero.
  level(job& ranks, grid_shape shape, int ghosts, bool periodic, box_order order, int vectors);

  struct own_box {
    int id;
    box_index at;
    double* memory;
  };

  [[nodiscard]] grid_shape const& shape() const { return shape_; }
  [[nodiscard]] box_layout const& layout() const { return layout_; }
  [[nodiscard]] bool periodic() const { return periodic_; }
  [[nodiscard]] double h() const { return 1.0 / shape_.cells; }
  [[nodiscard]] int me() const { return me_; }
  [[nodiscard]] std::vector<own_box> const& boxes() const { return boxes_; }
  [[nodiscard]] arena& memory() const { return *memory_; }
  [[nodiscard]] int owner(int id) const { return owner_[static_cast<std::size_t>(id)]; }
  /// Position of a box among those of its owner.
  [[nodiscard]] int place(int id) const { return place_[static_cast<std::size_t>(id)]; }
  /// Cell (0, 0, 0) of a vector of an own box.
  [[nodiscard]] double* cells(own_box const& b, int vector) const {
    return b.memory + vector * layout_.volume() + layout_.origin();
  }
  /// Where that is in its owner's memory, for vector 0.
  [[nodiscard]] std::ptrdiff_t offset(int id) const {
    return std::ptrdiff_t{place(id)} * vectors_ * layout_.volume() + layout_.origin();
  }
  /// From vector 0 of a box to another.
  [[nodiscard]] std::ptrdiff_t vector_offset(int vector) const { return vector * layout_.volume(); }
  /// Cells per dimension before those of a box.
  [[nodiscard]] box_index first_cell(own_box const& b) const {
    return {b.at[0] * layout_.n, b.at[1] * layout_.n, b.at[2] * layout_.n};
  }
  /// The box in a direction, or -1 beyond the domain.
  [[nodiscard]] int neighbor(box_index at, std::array<int, 3> direction) const;

  double largest_eigenvalue = 0;  ///< of D^-1 A, a bound
  group* ranks = nullptr;         ///< that own boxes here or on coarser levels; null if this one does not

 private:
  grid_shape shape_;
  box_layout layout_;
  bool periodic_;
  int vectors_;
  int me_;
  std::vector<int> owner_;
  std::vector<int> place_;
  std::vector<own_box> boxes_;
  std::unique_ptr<arena> memory_;
};

}  // namespace hpgmg
