#pragma once

/// What the Kokkos back ends on the host and on CUDA devices have in common.

#include <Kokkos_Core.hpp>

#include "problem/cell.hpp"

namespace heat3d {

/// A compensated sum as Kokkos adds up.
struct kokkos_sum {
  compensated_sum sum;

  KOKKOS_INLINE_FUNCTION kokkos_sum& operator+=(kokkos_sum const& other) {
    sum.add(other.sum);
    return *this;
  }
  /// For Kokkos before 4.0, where threads of a device add up in shared memory: each access counts.
  KOKKOS_INLINE_FUNCTION void operator+=(kokkos_sum const volatile& other) volatile {
    compensated_sum total{sum.high, sum.low};
    total.add(compensated_sum{other.sum.high, other.sum.low});
    sum.high = total.high;
    sum.low = total.low;
  }
};

/// Kokkos itself, for as long as a back end lives, unless the program has started it already.
class kokkos_runtime {
 public:
  /// With its default device, or that number.
  explicit kokkos_runtime(int device = -1) : ours_(!Kokkos::is_initialized()) {
    if (!ours_) return;
    if (device < 0) {
      Kokkos::initialize();
      return;
    }
#if KOKKOS_VERSION >= 30700
    Kokkos::initialize(Kokkos::InitializationSettings().set_device_id(device).set_disable_warnings(true));
#else
    Kokkos::InitArguments arguments;
    arguments.device_id = device;
    arguments.disable_warnings = true;
    Kokkos::initialize(arguments);
#endif
  }
  ~kokkos_runtime() {
    if (ours_) Kokkos::finalize();
  }
  kokkos_runtime(kokkos_runtime const&) = delete;
  kokkos_runtime& operator=(kokkos_runtime const&) = delete;

 private:
  bool ours_;
};

}  // namespace heat3d

template <>
struct Kokkos::reduction_identity<heat3d::kokkos_sum> {
  KOKKOS_FORCEINLINE_FUNCTION static heat3d::kokkos_sum sum() { return {}; }
};
