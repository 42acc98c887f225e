#pragma once

/// The physics of one cell. Every back end calls these functions, so that all of them, and every process
/// grid, give the same field bit for bit.
///
/// Two things make that hold. The six neighbours are added in one fixed order, wherever they come from. And a
/// neighbour that does not exist (beyond the outer surface of the domain) is replaced by the cell itself: its
/// difference is exactly zero, so it changes no bit, and rows need no branches. Files that include this
/// header are compiled without contraction of multiply and add (-ffp-contract=off, -fmad=false).
///
/// `Real` is double, or a type that computes as double with the mode
/// of the host's processor (see stencil.hpp).

/// What is seldom needed: a function of its own.
#if defined(__CUDACC__)
#define HEAT3D_APART __host__ __device__ __noinline__ inline
#else
#define HEAT3D_APART [[gnu::noinline]] inline
#endif

#if defined(KOKKOS_INLINE_FUNCTION)
#define HEAT3D_CELL KOKKOS_FORCEINLINE_FUNCTION
#elif defined(__CUDACC__)
#define HEAT3D_CELL __host__ __device__ __forceinline__
#else
#define HEAT3D_CELL [[gnu::always_inline]] inline
#endif

namespace heat3d {

/// Constants of the run, all dimensionless.
struct coefficients {
  double dt;     ///< step width
  double q;      ///< thermal transfer coefficient between two neighbouring cells
  double sigma;  ///< radiation coefficient per exposed cell face
  double power;  ///< power per cell of the heated face x = 0 in this step; 0 once it is switched off
};

/// Heat that flows in from the six neighbours, in units of temperature per time.
template <class Real>
HEAT3D_CELL Real conduction(Real c, Real x_low, Real x_high, Real y_low, Real y_high, Real z_low, Real z_high,
                            Real q) {
  Real sum = x_low - c;
  sum = sum + (x_high - c);
  sum = sum + (y_low - c);
  sum = sum + (y_high - c);
  sum = sum + (z_low - c);
  sum = sum + (z_high - c);
  return q * sum;
}

/// Fourth power as a product in this order.
template <class Real>
HEAT3D_CELL Real fourth_power(Real c) {
  return c * c * c * c;
}

/// Exchange with the outside: `power` heats, `exposed_sigma` = sigma times the number of exposed faces
/// radiates. With both zero the result equals the conduction, so inner cells may leave this out.
template <class Real>
HEAT3D_CELL Real with_outside(Real conducted, Real c, Real power, Real exposed_sigma) {
  return conducted + power - exposed_sigma * fourth_power(c);
}

/// Explicit Euler step.
template <class Real>
HEAT3D_CELL Real advanced(Real c, Real rate, Real dt) {
  return c + dt * rate;
}

/// Sum that carries its rounding error along (two-sum), so that adding 10^7 cells costs no digits.
struct compensated_sum {
  double high = 0;
  double low = 0;

  HEAT3D_CELL void add(double value) {
    double const sum = high + value;
    double const part = sum - high;
    low += (high - (sum - part)) + (value - part);
    high = sum;
  }
  HEAT3D_CELL void add(compensated_sum const& other) {
    add(other.high);
    low += other.low;
  }
  HEAT3D_CELL double value() const { return high + low; }
};

}  // namespace heat3d
