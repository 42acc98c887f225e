#pragma once

/// Tests of ranks that have memory on a device each.

#include <vector>

#include <upcxx/upcxx.hpp>

#include "multirank/common.hpp"

inline constexpr std::size_t mib = std::size_t{1} << 20;

/// What each rank has, by rank. Collective.
template <class T>
std::vector<T> of_all(T const& mine) {
  upcxx::dist_object<T> shared(mine);
  std::vector<T> all;
  for (int r = 0; r < upcxx::rank_n(); ++r) all.push_back(shared.fetch(r).wait());
  upcxx::barrier();
  return all;
}

/// Skipped where a rank has no device.
template <class Device>
class on_devices : public multirank::fixture {
 protected:
  void SetUp() override {
    fixture::SetUp();
    int const least = upcxx::reduce_all(Device::device_n(), upcxx::op_fast_min).wait();
    if (least == 0) GTEST_SKIP() << Device::kind_info();
    gpu_ = upcxx::make_gpu_allocator<Device>(mib);
  }
  void TearDown() override {
    if (!gpu_.is_active()) return;
    upcxx::barrier();
    gpu_.destroy();
  }

  upcxx::device_allocator<Device> gpu_;
};
