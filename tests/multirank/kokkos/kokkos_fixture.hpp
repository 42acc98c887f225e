#pragma once

/// What tests of the bridge to Kokkos have in common. Where Kokkos computes on the host devices are simulated ones, whose
/// Views are made and copied, but never touched.

#include <atoll/kokkos.hpp>

#include "multirank/common.hpp"

#ifndef KOKKOS_ENABLE_CUDA
template <>
struct atl::kokkos::kokkos_space<upcxx::memory_kind::cuda_device> {
  using type = Kokkos::HostSpace;
};
#endif

/// Kokkos starts once in a process.
class kokkos_test : public multirank::fixture {
 protected:
  static void SetUpTestSuite() { atl::kokkos::initialize(); }
  static void TearDownTestSuite() { Kokkos::finalize(); }
};
