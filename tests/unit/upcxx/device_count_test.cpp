// Devices are counted whether the library is initialised or not.

#include <upcxx/upcxx.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

TEST(device_count, does_not_need_the_library_to_be_initialised) {
  for (int period = 0; period < 3; ++period) {
    EXPECT_EQ(upcxx::cuda_device::device_n(), 2);
    EXPECT_NE(upcxx::cuda_device::kind_info(), "");
    upcxx::init();
    EXPECT_EQ(upcxx::cuda_device::device_n(), 2);
    // Kinds that were made for the question alone leave nothing that announcements of this period would go to.
    auto gpu = upcxx::make_gpu_allocator<upcxx::cuda_device>(std::size_t{1} << 20);
    upcxx::global_ptr<int, upcxx::memory_kind::cuda_device> const there = gpu.allocate<int>(1);
    int const written = 40 + period;
    int read = 0;
    upcxx::copy(&written, there, 1, upcxx::operation_cx::as_future()).wait();
    upcxx::copy(there, &read, 1).wait();
    EXPECT_EQ(read, written);
    gpu.deallocate(there);
    gpu.destroy();
    upcxx::finalize();
  }
  EXPECT_EQ(upcxx::hip_device::device_n(), 0);
}

TEST(device_count, says_which_setting_is_wrong) {
  EXPECT_DEATH(
      {
        setenv("ATOLL_SIM_DEVICES", "two", 1);
        (void)upcxx::cuda_device::device_n();
      },
      "device: ATOLL_SIM_DEVICES=two: not a whole number");
}

}  // namespace
