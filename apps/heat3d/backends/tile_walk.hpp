#pragma once

/// How a block of threads computes a tile that it keeps, see kept_tiles.hpp: its columns, and the way up through them.

#include <bit>
#include <cstdint>
#include <vector>

#include "backends/async_copy.hpp"
#include "backends/kept_tiles.hpp"
#include "problem/stencil.hpp"

namespace heat3d {

/// One or two columns of such a tile, of one thread. Two are next to each other in y, and read less; the second one may be missing, or both.
template <int columns>
struct column_stack {
  static_assert(columns == 1 || columns == 2);
  plane_cell at;                     ///< the first cell of the first one
  int row;                           ///< from a cell to that of the next one, in memory
  int field_row;                     ///< the same in the field
  int x_low, x_high, y_low, y_high;  ///< from a cell to its neighbours; a missing one is the cell itself
  int exposed[columns];              ///< faces of each cell
  bool bottom, top;                  ///< the lowest cells and the highest ones have another
  bool is_there[columns];            ///< else nothing is written
  bool is_read[columns];             ///< all of it, by other blocks
  tile_sides sides[columns];         ///< of the tile that they are at
  double power;

  column_stack() = default;
  HEAT3D_CELL column_stack(sweep_work const& w, kept_tile const& tile, int x, int y)
      : at(tile.cell(x, y)),
        row(tile.row),
        field_row(tile.extent[0]),
        bottom(!tile.has_side(2, false)),
        top(!tile.has_side(2, true)) {
    int const gx = tile.low[0] + x;
    int const gy = tile.low[1] + y;
    x_low = gx > 0 ? -1 : 0;
    x_high = gx + 1 < tile.extent[0] ? 1 : 0;
    y_low = gy > 0 ? -tile.row : 0;
    y_high = gy + columns < tile.extent[1] ? tile.row : 0;
    power = w.heated && gx == 0 ? w.k.power : 0.0;
    for (int i = 0; i < columns; ++i) {
      is_there[i] = y + i < tile.n[1];
      exposed[i] = (x_low == 0) + (x_high == 0) + (gy + i == 0) + (gy + i + 1 == tile.extent[1]);
      sides[i] = {x == 0, x + 1 == tile.n[0], y + i == 0, y + i + 1 == tile.n[1]};
      is_read[i] = is_there[i] && (sides[i].x_low || sides[i].x_high || sides[i].y_low || sides[i].y_high);
    }
    // The second one of two has what is beyond the side if it is not there, or what the first one has.
    if (columns == 2 && !is_there[1]) {
      if (gy + 1 == tile.extent[1]) row = 0;
      y_high = 0;
    }
  }
  /// Of a thread without one.
  HEAT3D_CELL void leave_out() {
    for (int i = 0; i < columns; ++i) is_there[i] = is_read[i] = false;
  }
};

/// What its thread has at hand on the way up.
template <int columns>
struct stack_walk {
  struct row {
    double x_low[columns], x_high[columns], y_low, y_high;
  };
  double* first;  ///< where the first cell is, in the first place
  double below[columns], here[columns];
  row beside;
  double beyond[columns];        ///< above the last cells
  double radiated;               ///< in units of sigma
  std::uint32_t least[columns];  ///< size_code() of all new values
};

/// The columns of a tile that are this thread's: a stack, but a thread of the host that plays a block has all. The same for cells beyond sides,
/// of which it has one or none.
template <int columns>
class own_columns {
 public:
  using stack = column_stack<columns>;
  using walk = stack_walk<columns>;

  HEAT3D_CELL own_columns(sweep_work const& w, kept_tile const& tile, int thread) {
    auto const width = tile.n[0];
#ifdef __CUDA_ARCH__
    bool const has_one = thread < tile.stack_n(columns);
    stack_ = has_one ? stack(w, tile, thread % width, thread / width * columns) : stack(w, tile, 0, 0);
    if (!has_one) stack_.leave_out();
    has_side_ = thread < tile.side_n();
    if (has_side_) side_ = tile.side(thread);
#else
    static_cast<void>(thread);
    for (int i = 0; i < tile.stack_n(columns); ++i)
      stacks_.emplace_back(w, tile, i % width, i / width * columns);
    for (int i = 0; i < tile.side_n(); ++i) sides_.push_back(tile.side(i));
    walks_.resize(stacks_.size());
#endif
  }
  template <class Each>
  HEAT3D_CELL void for_each(Each&& each) {
#ifdef __CUDA_ARCH__
    each(stack_, walk_);
#else
    for (std::size_t i = 0; i < stacks_.size(); ++i) each(stacks_[i], walks_[i]);
#endif
  }
  /// Calls `each` with the cells of planes that stay: where they are in memory, and in the field.
  template <class Each>
  HEAT3D_CELL void for_kept_cells(kept_tile const& tile, Each const& each) {
    for_each([&](stack const& s, walk&) {
      for (int i = 0; i < columns; ++i) {
        for (int z = 0; s.is_there[i] && z < tile.kept; ++z)
          each(s.at.kept + i * s.row + z * tile.plane, s.at.field + i * s.field_row + z * tile.field_plane());
      }
    });
  }
  template <class Each>
  HEAT3D_CELL void for_each_side(Each&& each) const {
#ifdef __CUDA_ARCH__
    if (has_side_) each(side_);
#else
    for (auto const& side : sides_) each(side);
#endif
  }

 private:
#ifdef __CUDA_ARCH__
  bool has_side_;
  stack stack_;
  walk walk_;
  plane_cell side_;
#else
  std::vector<stack> stacks_;
  std::vector<walk> walks_;
  std::vector<plane_cell> sides_;
#endif
};

/// One step of a tile, of all threads of the block. New values of planes that stay go to `other` doubles behind the present ones: 0 if there is one copy.
template <class Real, int columns, int copies, class Barrier>
class tile_walk {
 public:
  HEAT3D_CELL tile_walk(sweep_work const& w, kept_tile const& tile, own_columns<columns>& own, double* memory,
                        int other, Barrier const& barrier)
      : w_(w), tile_(tile), own_(own), memory_(memory), other_(other), barrier_(barrier) {}

  HEAT3D_CELL void run() {
    begin();
    int const n = tile_.n[2];
    int const kept = tile_.kept < n ? tile_.kept : n - 1;
    if (n > 1) advance<plane_is::first>();
    int z = 1;
    // Where they wait unrolled loops have too few registers.
#ifdef __CUDACC__
    constexpr int at_once = copies;
#pragma unroll at_once
#endif
    for (; z < kept; ++z) advance<plane_is::kept>();
    if (copies == 1) {
#ifdef __CUDACC__
#pragma unroll 1
#endif
      for (; z + 1 < n; ++z) advance<plane_is::passing>();
    }
    advance<plane_is::last>();
  }

 private:
  using stack = column_stack<columns>;
  using walk = stack_walk<columns>;
  enum class plane_is { first, kept, passing, last };

  /// Asks for the next plane, or what is beyond its sides.
  HEAT3D_CELL void ask() {
    if (asked_ < tile_.n[2]) {
      auto const copy = [&](int kept, int field) {
        copy_soon(memory_ + (asked_place_ + kept), w_.from + (asked_field_ + field));
      };
      own_.for_each([&](stack const& s, walk&) {
        if (asked_ < tile_.kept) return;
        for (int i = 0; i < columns; ++i) {
          if (s.is_there[i]) copy(s.at.kept + i * s.row, s.at.field + i * s.field_row);
        }
      });
      own_.for_each_side([&](plane_cell const& side) { copy(side.kept, side.field); });
      ++asked_;
      asked_field_ += tile_.field_plane();
      asked_place_ = tile_.place_above(asked_place_);
    }
    end_copy_group();
  }
  /// What is beside these cells, which others may overwrite from the next barrier on.
  HEAT3D_CELL static typename walk::row beside(stack const& s, double const* at) {
    typename walk::row found;
    for (int i = 0; i < columns; ++i) {
      found.x_low[i] = at[i * s.row + s.x_low];
      found.x_high[i] = at[i * s.row + s.x_high];
    }
    found.y_low = at[s.y_low];
    found.y_high = at[(columns - 1) * s.row + s.y_high];
    return found;
  }
  HEAT3D_CELL void begin() {
    constexpr bool all = copies > 1;
    for (int i = 0; i < (all ? tile_.n[2] : planes_ahead + 1); ++i) ask();
    own_.for_each([&](stack const& s, walk& to) {
      to = {};
      double const* const field = w_.from + s.at.field;
      int const n = tile_.n[2];
      for (int i = 0; i < columns; ++i) {
        bool const is_in_field = i == 0 || s.is_there[i];
        if (!s.bottom && is_in_field) to.below[i] = field[i * s.field_row - tile_.field_plane()];
        if (!s.top && is_in_field) to.beyond[i] = field[i * s.field_row + n * tile_.field_plane()];
        to.least[i] = ~std::uint32_t{0};
      }
    });
    await_copy_groups<all ? 0 : planes_ahead>();
    barrier_();
    own_.for_each([&](stack const& s, walk& to) {
      to.first = memory_ + s.at.kept;
      for (int i = 0; i < columns; ++i) {
        to.here[i] = to.first[i * s.row];
        if (s.bottom) to.below[i] = to.here[i];
      }
      to.beside = beside(s, to.first);
    });
  }
  /// Computes a plane.
  template <plane_is which>
  HEAT3D_CELL void advance() {
    constexpr bool last = which == plane_is::last;
    if (copies == 1) {
      // The plane above is there, and of this one all have read what they need.
      await_copy_groups<planes_ahead - 1>();
      barrier_();
      if (!last) ask();
    }
    int const place_above = copies == 1 ? tile_.place_above(place_) : place_ + tile_.plane;
    bool const stays = copies > 1 || (last ? tile_.kept == tile_.n[2] : which != plane_is::passing);
    own_.for_each([&](stack const& s, walk& at) {
      auto const b = at.beside;
      double here[columns];
      double above[columns];
      for (int i = 0; i < columns; ++i) {
        here[i] = at.here[i];
        above[i] = last ? (s.top ? here[i] : at.beyond[i]) : at.first[place_above + i * s.row];
      }
      if (!last) at.beside = beside(s, at.first + place_above);
      double value[columns];
      for (int i = 0; i < columns; ++i) {
        int exposed = s.exposed[i];
        if (which == plane_is::first) exposed += s.bottom;
        if (last) exposed += s.top + (s.bottom && tile_.n[2] == 1);
        Real const c{here[i]};
        Real const y_low{i == 0 ? b.y_low : here[0]};
        Real const y_high{i + 1 == columns ? b.y_high : here[columns - 1]};
        Real rate = conduction(c, Real{b.x_low[i]}, Real{b.x_high[i]}, y_low, y_high, Real{at.below[i]},
                               Real{above[i]}, Real{w_.k.q});
        if (exposed != 0) rate = with_outside(rate, c, Real{s.power}, Real{w_.k.sigma * exposed});
        // Of one column this is faster at last, by 7 to 9 % of a step; of two it would be slower by 1 to 3 % (H200).
        constexpr bool at_last = columns == 1;
        auto const radiate = [&] {
          if (exposed != 0 && s.is_there[i]) at.radiated += exposed * fourth_power(here[i]);
        };
        if (!at_last) radiate();
        value[i] = std::bit_cast<double>(advanced(c, rate, Real{w_.k.dt}));
        if (at_last) radiate();
        auto const code = size_code(value[i]);
        at.least[i] = code < at.least[i] ? code : at.least[i];
        at.below[i] = here[i];
        at.here[i] = above[i];
      }
      double* const to = w_.to + (field_ + s.at.field);
      for (int i = 0; i < columns; ++i) {
        if (stays && s.is_there[i]) at.first[other_ + place_ + i * s.row] = value[i];
        if (which == plane_is::kept ? s.is_read[i] : s.is_there[i]) to[i * s.field_row] = value[i];
      }
    });
    place_ = place_above;
    field_ += tile_.field_plane();
  }

  sweep_work const& w_;
  kept_tile const& tile_;
  own_columns<columns>& own_;
  double* memory_;
  int other_;
  Barrier const& barrier_;
  int place_ = 0, field_ = 0;                          ///< of the present plane
  int asked_ = 0, asked_place_ = 0, asked_field_ = 0;  ///< the next one to be asked for
};

}  // namespace heat3d
