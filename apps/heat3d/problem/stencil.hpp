#pragma once

/// One sweep over a part of a block, as back ends on devices compute it: what a kernel is told, and the value
/// of one cell. Compiled for the host and for devices.

#include <bit>
#include <cmath>
#include <cstdint>

#include "problem/cell.hpp"
#include "problem/geometry.hpp"

namespace heat3d {

/// What a kernel is told. Pointers are addresses on the device.
struct sweep_work {
  double const* from;  ///< the present field
  double* to;          ///< the field to be
  double const* halos[face_n];
  triple extent;  ///< of the block
  box part;       ///< cells to compute, in local coordinates
  coefficients k;
  bool heated;         ///< the block touches the heated face
  std::uint32_t tiny;  ///< see is_tiny(); 0 keeps denormal numbers
  int parity;          ///< of the step, see step_clock
  bool counts;         ///< one of the sweeps of a step does
};

/// All cells at faces with a neighbour, as disjoint boxes, and where their new values go beside the field.
struct boundary_work {
  box parts[face_n];
  std::uint32_t ends[face_n];  ///< cells up to the end of each part
  double* planes[face_n];      ///< null where there is no neighbour

  HEAT3D_CELL std::uint32_t cell_n() const { return ends[face_n - 1]; }
};

/// Words by which kernels send planes and await them, without the streams that they are in: see stream_planes.
struct plane_words {
  bool used = false;
  std::uint64_t const* heard[face_n] =
      {};                            ///< of halos that the kernel reads; null where there is no neighbour
  std::uint64_t heard_value = 0;     ///< when they are there
  std::uint64_t* told[face_n] = {};  ///< of planes that it writes, at the neighbours
  std::uint64_t told_value = 0;      ///< when all of them are
};

/// A double whose operations flush denormal results to zero, as the host's processor is told to do. Devices
/// have no such mode for double precision.
struct flushing {
  double value;

  /// By the exponent, since devices have more room for integers than for comparisons of doubles.
  HEAT3D_CELL static flushing of(double v) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
    constexpr std::uint64_t exponent = std::uint64_t{0x7ff} << 52U;
    auto const bits = std::bit_cast<std::uint64_t>(v);
    return {std::bit_cast<double>((bits & exponent) == 0 ? bits & sign : bits)};
  }
  HEAT3D_CELL friend flushing operator+(flushing a, flushing b) { return of(a.value + b.value); }
  HEAT3D_CELL friend flushing operator-(flushing a, flushing b) { return of(a.value - b.value); }
  HEAT3D_CELL friend flushing operator*(flushing a, flushing b) { return of(a.value * b.value); }
};

/// Numbers of at least so much need no flushing, nor do zeros. Infinite where constants are unusual.
///
/// Let all cells be zero or at least L. They are multiples of L / 2^53, and so are their differences and the sums of those. So conduction, q times such a sum, is zero or at least
/// q L / 2^53. Power is zero or at least 1e-287, so the sum r of both is zero, or at least that, or where they cancel at least 1e-303. Normal numbers all, also times dt, as is what
/// remains of a cell where these cancel, if 2^54 smallest normal numbers, 4e-292, are no more than L and than q dt L.
///
/// What is radiated, s, makes no difference. A cell of less than 1e-81 radiates nothing, with flushing or without: its fourth power is below half of the smallest number of all. In
/// others, where a product in s is denormal, s is less than 1e-290 with flushing and without. Either r outweighs it 2^54 times, and r - s is r; or r - s is less than 1e-273,
/// as it is where r - s itself is denormal, and times dt far less than half the last digit of the cell, which then stays as it is.
inline double least_without_care(coefficients const& k) {
  bool const usual = (k.q == 0 || k.q >= 1e-20) && k.dt >= 1e-4 && k.dt <= 1 && k.sigma >= 0 &&
                     k.sigma <= 1e15 && (k.power == 0 || k.power >= 1e-287);
  if (!usual) return INFINITY;
  return 1e-291 / (k.q == 0 ? 1 : std::fmin(k.q * k.dt, 1));
}

/// sweep_work::tiny of these constants. Steps may differ in their power.
inline std::uint32_t tiny_limit(coefficients const& k, bool flush_denormals) {
  if (!flush_denormals) return 0;
  return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(least_without_care(k)) >> 32U) - 1;
}

/// Smaller for smaller numbers, but largest for zero, which wraps around. From the upper half only.
HEAT3D_CELL std::uint32_t size_code(double v) {
  return (static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(v) >> 32U) & 0x7fffffffU) - 1;
}
/// Nonzero, and so small that results may be denormal.
HEAT3D_CELL bool is_tiny(double v, std::uint32_t limit) { return size_code(v) < limit; }

/// A cell and its neighbours; those beyond the outer surface equal the cell, and are counted as exposed.
struct neighborhood {
  double c, x_low, x_high, y_low, y_high, z_low, z_high;
  double power;
  int exposed;
};

template <class Real>
HEAT3D_CELL double advanced_as(neighborhood const& a, coefficients const& k) {
  Real const c{a.c};
  Real rate = conduction(c, Real{a.x_low}, Real{a.x_high}, Real{a.y_low}, Real{a.y_high}, Real{a.z_low},
                         Real{a.z_high}, Real{k.q});
  if (a.exposed != 0) rate = with_outside(rate, c, Real{a.power}, Real{k.sigma * a.exposed});
  return std::bit_cast<double>(advanced(c, rate, Real{k.dt}));
}

/// Is one of them tiny? Without branches, which take longer than the comparisons that they save.
HEAT3D_CELL bool needs_care(neighborhood const& a, std::uint32_t limit) {
  std::uint32_t least = size_code(a.c);
  for (double const v : {a.x_low, a.x_high, a.y_low, a.y_high, a.z_low, a.z_high}) {
    auto const code = size_code(v);
    least = code < least ? code : least;
  }
  return least < limit;
}

/// The new value of a cell, the same bit for bit as the host's.
HEAT3D_CELL double advanced_cell(neighborhood const& a, sweep_work const& w) {
  return needs_care(a, w.tiny) ? advanced_as<flushing>(a, w.k) : advanced_as<double>(a, w.k);
}

/// Any cell with its neighbours, from the block or from halos.
HEAT3D_CELL neighborhood neighbors_of(sweep_work const& w, std::int64_t x, std::int64_t y, std::int64_t z) {
  auto const nx = w.extent[0];
  auto const ny = w.extent[1];
  auto const nz = w.extent[2];
  double const* const at = w.from + position(w.extent, x, y, z);
  neighborhood a{};
  a.c = *at;
  auto const side = [&](bool inside, std::int64_t offset, face f, std::int64_t in_halo) {
    if (inside) return at[offset];
    if (w.halos[f] != nullptr) return w.halos[f][in_halo];
    ++a.exposed;
    return a.c;
  };
  a.x_low = side(x > 0, -1, left, y + ny * z);
  a.x_high = side(x + 1 < nx, 1, right, y + ny * z);
  a.y_low = side(y > 0, -nx, down, x + nx * z);
  a.y_high = side(y + 1 < ny, nx, up, x + nx * z);
  a.z_low = side(z > 0, -nx * ny, front, x + nx * y);
  a.z_high = side(z + 1 < nz, nx * ny, back, x + nx * y);
  a.power = w.heated && x == 0 ? w.k.power : 0.0;
  return a;
}

/// Where a plane comes from: cells `origin + i * stride_i + j * stride_j` of the field, i fastest.
struct plane_work {
  double const* origin;
  std::int64_t stride_i, stride_j;
  std::int64_t width, height;
};

inline plane_work plane_of(double const* field, triple const& n, face f) {
  auto const axis = axis_of(f);
  triple const stride = {1, n[0], n[0] * n[1]};
  int const i = axis == 0 ? 1 : 0;
  int const j = axis == 2 ? 1 : 2;
  return {field + (is_high(f) ? (n[axis] - 1) * stride[axis] : 0), stride[i], stride[j], n[i], n[j]};
}

}  // namespace heat3d
