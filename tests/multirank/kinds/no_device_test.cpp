// Devices on a machine that has none: everything exists, nothing is active, collectives
// are still collectives.

#define UPCXX_GPU_DEFAULT_DEVICE_HIP 1
#include <atoll/pin.hpp>

#include "multirank/common.hpp"

static_assert(std::is_same_v<upcxx::gpu_default_device, upcxx::hip_device>);
static_assert(std::is_same_v<upcxx::gpu_heap_allocator, upcxx::device_allocator<upcxx::hip_device>>);

using no_device_test = multirank::fixture;

TEST_F(no_device_test, nothing_is_active_and_everything_can_be_called) {
  EXPECT_EQ(upcxx::cuda_device::device_n(), 0);
  EXPECT_EQ(upcxx::hip_device::device_n(), 0);
  EXPECT_EQ(upcxx::ze_device::device_n(), 0);
  EXPECT_NE(upcxx::ze_device::kind_info().find("no device"), std::string::npos);
  upcxx::hip_device device(upcxx::hip_device::auto_device_id);
  EXPECT_FALSE(device.is_active());
  upcxx::device_allocator<upcxx::hip_device> allocator(device, 1 << 20);
  EXPECT_FALSE(allocator.is_active());
  auto other = upcxx::make_gpu_allocator(1 << 20);
  EXPECT_FALSE(other.is_active());
  EXPECT_EQ(other.segment_size(), 0u);
  int value = 0;
  auto const pinned = atl::pin(&value, sizeof value);
  EXPECT_FALSE(pinned.is_pinned());
  other.destroy();
  allocator.destroy();
  device.destroy();
}
