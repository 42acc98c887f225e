#pragma once

/// How inner cells are dealt out to the threads of a device: in tiles, one for a block of threads, each of which walks up a column. And which
/// tiles have to be computed with care, as numbers in them or beside them are so small that results may be denormal.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "problem/stencil.hpp"

namespace heat3d {

/// Which of a tile's sides the cells of a thread are at. Its columns are as deep as the tile.
struct tile_sides {
  bool x_low, x_high, y_low, y_high;
};

/// Tiles of the inner cells; those at the high end may be cut.
struct tiling {
  triple low;                ///< corner of the inner cells
  int width, height, depth;  ///< cells of a tile, of which a thread computes a column or two
  int n_x, n_y, n_z;         ///< how many; 0: there are no inner cells

  HEAT3D_CELL std::int64_t tile_n() const { return std::int64_t{n_x} * n_y * n_z; }
};

/// How tiles are computed that blocks of threads keep: so many columns for each thread, in so many copies.
struct kept_way {
  int columns, copies;

  HEAT3D_CELL bool operator==(kept_way const&) const = default;
};

/// What all threads of a block have in common: which tile is theirs.
struct tile_place {
  int x, y, z;

  HEAT3D_CELL std::int64_t number_in(tiling const& t) const {
    return x + t.n_x * (y + static_cast<std::int64_t>(t.n_y) * z);
  }
  HEAT3D_CELL static tile_place numbered(int number, tiling const& t) {
    return {number % t.n_x, number / t.n_x % t.n_y, number / (t.n_x * t.n_y)};
  }
  /// Has it cells at the outer surface?
  HEAT3D_CELL bool is_at_surface(sweep_work const& w, tiling const& t) const {
    return touches(w, 0, x, t.width) || touches(w, 1, y, t.height) || touches(w, 2, z, t.depth);
  }

 private:
  HEAT3D_CELL static bool touches(sweep_work const& w, int d, int number, int size) {
    int const low = static_cast<int>(w.part.low[d]) + number * size;
    return low == 0 || low + size >= w.extent[d];
  }
};

/// Pieces of a size that cover so many.
constexpr std::int64_t pieces_for(std::int64_t n, std::int64_t size) { return (n + size - 1) / size; }

/// The tiles of that size that cover a box.
inline tiling cut_into_tiles(box const& inner, int width, int height, int depth) {
  auto const e = inner.extent();
  auto const over = [](std::int64_t n, int size) { return static_cast<int>(pieces_for(n, size)); };
  return {inner.low, width, height, depth, over(e[0], width), over(e[1], height), over(e[2], depth)};
}

/// Blocks of threads that run at a time.
struct device_room {
  int processors;
  int blocks;  ///< on each of them
};

/// How long a sweep takes, in planes of tiles that a full device walks through: rounds of as many tiles as there is room for, each with two planes of its neighbours. In a
/// last round that does not fill the device its multiprocessors have fewer, but a few of them wait as long for memory as somewhat more do.
inline double planes_walked(tiling const& t, device_room const& room) {
  constexpr double least_busy = 2.5;
  auto const at_once = std::int64_t{room.processors} * room.blocks;
  auto const rest = t.tile_n() % at_once;
  auto rounds = static_cast<double>(t.tile_n() / at_once);
  if (rest > 0) {
    auto const busy = static_cast<double>(pieces_for(rest, room.processors));
    rounds += std::max(busy, std::min<double>(least_busy, room.blocks)) / room.blocks;
  }
  // Where they are not all there at once, the last ones are waited for, above all those that need care.
  double const waits = t.tile_n() > at_once ? t.depth / 4.0 : 0;
  return rounds * (t.depth + 2) + waits;
}

/// Tiles of that width and height, so deep that a sweep is the shortest. A quarter of 400^3 cells is one round of 100 planes; in four rounds of 25 it takes a
/// twelfth more. Deeper ones gain less than sweeps lose by them that need care.
inline tiling tiling_of(box const& inner, int width, int height, device_room const& room) {
  if (inner.is_empty()) return {};
  constexpr std::int64_t least_depth = 4;
  constexpr std::int64_t most_depth = 100;
  auto const layer = inner.extent()[2];
  tiling best{};
  for (std::int64_t layers = pieces_for(layer, most_depth);
       best.n_z == 0 || pieces_for(layer, layers) >= least_depth; ++layers) {
    tiling const t = cut_into_tiles(inner, width, height, static_cast<int>(pieces_for(layer, layers)));
    if (best.n_z == 0 || planes_walked(t, room) < planes_walked(best, room)) best = t;
  }
  return best;
}

/// For blocks of up to `threads` threads: as wide as makes a sweep the shortest. Narrow ones read more lines twice.
inline tiling tiling_of(box const& inner, int threads, device_room const& room) {
  constexpr int most_width = 64;
  int const least_width = static_cast<int>(std::clamp<std::int64_t>(inner.extent()[0], 16, 32));
  tiling best{};
  double best_cost = 0;
  for (int width = least_width; width <= most_width; ++width) {
    auto const t = tiling_of(inner, width, threads / width, room);
    if (t.tile_n() == 0) break;
    // Rows of whole warps are read in whole lines. That some threads are idle counts by the number of tiles only: blocks wait for memory rather than compute.
    double const cost = planes_walked(t, room) * (width % 32 == 0 ? 1 : 1.04);
    if (best_cost == 0 || cost < best_cost || (cost == best_cost && t.tile_n() < best.tile_n())) {
      best_cost = cost;
      best = t;
    }
  }
  return best;
}

/// Nanoseconds of the clock that all kernels of a device have in common.
HEAT3D_CELL std::uint64_t device_nanoseconds() {
#ifdef __CUDA_ARCH__
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
#endif
}

/// The number of a step since the field was loaded, in memory of the device: sweeps that are started again and again as they are cannot hold it. Two words take
/// turns: sweeps of a step read one, and one of them writes the number of the next step into the other.
struct step_clock {
  /// Of the present field and of halos: a kernel is one sweep, and no other one writes to them meanwhile.
  HEAT3D_CELL static double read(double const* p) {
#ifdef __CUDA_ARCH__
    return __ldg(p);
#else
    return *p;
#endif
  }
  /// Compilers move such reads themselves before the writes of earlier cells.
  static constexpr bool reads_ahead = false;

  std::uint32_t* numbers;  ///< by parity
  std::uint64_t* began;    ///< when that sweep began, by step
  std::uint32_t began_n;   ///< of as many steps; 0: nobody asks

  HEAT3D_CELL std::uint32_t number(int parity) const { return numbers[parity]; }
  /// By one thread, when everything of the steps before is done.
  HEAT3D_CELL void stamp(int parity) const {
    auto const step = number(parity);
    if (step < began_n) began[step] = device_nanoseconds();
  }
  HEAT3D_CELL void count(int parity) const {
    stamp(parity);
    numbers[1 - parity] = number(parity) + 1;
  }
};

/// The same in a kernel of many steps, which counts them by itself.
struct known_step {
  /// What is written in one step is read in the next one: not by loads that may give what there was before.
  HEAT3D_CELL static double read(double const* p) { return *p; }
  static constexpr bool reads_ahead = true;

  std::uint32_t step;
  std::uint64_t* began;  ///< see step_clock
  std::uint32_t began_n;

  HEAT3D_CELL std::uint32_t number(int /*parity*/) const { return step; }
  HEAT3D_CELL void stamp() const {
    if (step < began_n) began[step] = device_nanoseconds();
  }
  HEAT3D_CELL void count(int /*parity*/) const { stamp(); }
};

/// Between points of that clock.
inline std::vector<double> seconds_between(std::span<std::uint64_t const> points) {
  std::vector<double> seconds;
  for (std::size_t i = 1; i < points.size(); ++i)
    seconds.push_back(1e-9 * static_cast<double>(points[i] - points[i - 1]));
  return seconds;
}

/// One word for each tile and each of two steps. Those of a tile with small numbers and of the neighbours that read some are set to the number of the step which does, so that nothing needs to be cleared.
template <class Clock>
struct basic_tile_flags {
  std::uint32_t* words[2];
  tiling tiles;
  Clock clock;

  HEAT3D_CELL bool need_care(sweep_work const& w, tile_place const& tile) const {
    if (w.tiny == 0) return false;
    auto const step = clock.number(w.parity);
    // Nobody has looked at a field that was loaded.
    return step == 0 || of_step(step)[tile.number_in(tiles)] == step;
  }

  /// The sweep has written a small number into this tile, which a neighbour reads only if it is in a cell at that side.
  HEAT3D_CELL void note_tiny(sweep_work const& w, tile_place const& tile, tile_sides const& at) const {
    auto const [x, y, z] = tile;
    auto const next = clock.number(w.parity) + 1;
    set(next, tile);
    if (at.x_low && x > 0) set(next, {x - 1, y, z});
    if (at.x_high && x + 1 < tiles.n_x) set(next, {x + 1, y, z});
    if (at.y_low && y > 0) set(next, {x, y - 1, z});
    if (at.y_high && y + 1 < tiles.n_y) set(next, {x, y + 1, z});
    if (z > 0) set(next, {x, y, z - 1});
    if (z + 1 < tiles.n_z) set(next, {x, y, z + 1});
  }
  /// And into a cell at a face: all inner cells that read it are in the tile that is nearest to it.
  HEAT3D_CELL void note_tiny_cell(sweep_work const& w, std::int64_t x, std::int64_t y, std::int64_t z) const {
    if (tiles.n_x == 0) return;
    set(clock.number(w.parity) + 1, {nearest(x - tiles.low[0], tiles.width, tiles.n_x),
                                     nearest(y - tiles.low[1], tiles.height, tiles.n_y),
                                     nearest(z - tiles.low[2], tiles.depth, tiles.n_z)});
  }

 private:
  HEAT3D_CELL static int nearest(std::int64_t at, int size, int n) {
    auto const number = at < 0 ? 0 : at / size;
    return static_cast<int>(number < n ? number : n - 1);
  }
  HEAT3D_CELL std::uint32_t* of_step(std::uint32_t step) const { return step % 2 == 0 ? words[0] : words[1]; }
  HEAT3D_CELL void set(std::uint32_t step, tile_place const& tile) const {
    std::uint32_t* const word = of_step(step) + tile.number_in(tiles);
    // Many set it, to the same value.
#ifdef __CUDA_ARCH__
    *static_cast<std::uint32_t volatile*>(word) = step;
#else
    std::atomic_ref(*word).store(step, std::memory_order_relaxed);
#endif
  }
};
using tile_flags = basic_tile_flags<step_clock>;

}  // namespace heat3d
