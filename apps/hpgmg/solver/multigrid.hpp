#pragma once

/// Geometric multigrid: the hierarchy of grids, the operator on each, and the solver.

#include <array>
#include <memory>
#include <vector>

#include "grid/level.hpp"
#include "movers/runtime.hpp"
#include "solver/boundary.hpp"
#include "solver/loops.hpp"
#include "solver/problem.hpp"
#include "solver/timing.hpp"

namespace hpgmg {

enum class smoother { gsrb, chebyshev };
enum class cycle { f, v, f_then_v };

/// Whether this build computes with several threads of a rank.
bool has_threads();

/// What is solved, and how.
struct problem {
  stencil op = stencil::fv4;
  smoother smooth = smoother::gsrb;
  cycle start = cycle::f;
  bool periodic = false;
  bool helmholtz = false;
  box_order order = box_order::morton;
  int log2_box = 4;
  int boxes_per_rank = 1;
  int threads = 1;  ///< of each rank, for sweeps and residuals

  [[nodiscard]] int radius() const { return op == stencil::fv4 ? 2 : 1; }
  [[nodiscard]] problem_kind kind() const {
    return op == stencil::point7 ? problem_kind::point : problem_kind::volume;
  }
  [[nodiscard]] double a() const { return helmholtz ? 1 : 0; }
};

/// One step of a solve: the largest residual after a cycle, and its share of the right-hand side's.
struct progress {
  double norm = 0;
  double relative = 0;
};

class multigrid {
 public:
  /// Collective: builds all grids, the problem on the finest, and the operator on each.
  multigrid(problem const& what, runtime& ranks);
  ~multigrid();

  [[nodiscard]] int level_n() const { return static_cast<int>(levels_.size()); }
  [[nodiscard]] level const& at(int l) const { return *levels_[static_cast<std::size_t>(l)]; }
  [[nodiscard]] problem const& what() const { return what_; }

  /// Zeroes u and solves on the grid `from` and coarser ones. The entries say how the residual fell.
  std::vector<progress> solve(int from);
  /// Replaces f of level l by the mean of that of the finer one.
  void restrict_source(int l) { restrict_vector(l - 1, f, f); }
  /// Largest difference of a level's solution and the mean of that of the finer one; infinite where one is not a
  /// number.
  double richardson(int coarse);
  /// Largest absolute value; infinite where one is not a number.
  double max_norm(int l, int vector);

  [[nodiscard]] timing const& times() const { return times_; }
  void reset_times();
  int bottom_iterations = 0;  ///< since reset_times()

  // Parts, for tests. Vectors are those of `vector_id`.
  void apply(int l, int out, int in);
  void residual(int l, int out, int in, int right);
  void smooth(int l, int solution, int right);
  void restrict_vector(int fine, int to, int from);
  /// fine u = (add ? u : 0) + P of the coarse u.
  void interpolate(int fine, bool add, prolongation order);
  double dot(int l, int x, int y);

 private:
  struct transfers;

  void build_finest();
  void restrict_operator(int coarse);
  /// The diagonal's inverse, and Gershgorin's bound on the eigenvalues.
  void finish_operator(int l);
  void fill_coefficient_ghosts(int l);
  // Add up the entries of the matrix: on the diagonal in inverse_diagonal, beside it in `work`.

  /// Of seven points, whose entries are the coefficients of faces.
  void add_up_faces(level const& here);
  /// Of any operator, by applying it to the cells of one colour after the other.
  void add_up_colours(int l);
  /// Inverts the sums on the diagonal; returns the bound of this rank's rows.
  double invert_diagonal(level const& here);
  void exchange(int l, int vector, ghost_shape shape);
  void exchange_and_fill(int l, int vector);
  void restrict_faces_to(int coarse, int d);
  void v_cycle(int l, int solution, int right);
  void solve_bottom();
  void f_cycle(int from);
  progress measure(int l, double norm_of_f);
  void shift_to_zero_mean(int l, int vector);
  [[nodiscard]] coefficients coefficients_of(level const& l, level::own_box const& b) const;
  [[nodiscard]] group* members(int l) const;
  struct slab;
  /// Calls f for all boxes of this rank, in parts if there are threads for them.
  template <class F>
  void for_slabs(int l, F&& f) const;
  template <class F>
  void for_cells(level const& l, F&& f) const;

  problem what_;
  runtime& ranks_;
  cell_loops const& loops_;
  std::vector<std::unique_ptr<level>> levels_;
  std::vector<std::unique_ptr<transfers>>
      transfers_;  ///< between a level and the next coarser one, and on it
  std::vector<std::unique_ptr<group>> groups_;
  timing times_;
};

}  // namespace hpgmg
