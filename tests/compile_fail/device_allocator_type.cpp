// expect: Device must be cuda_device, hip_device or ze_device
#include <upcxx/device_allocator.hpp>

struct my_device {
  static constexpr upcxx::memory_kind kind = upcxx::memory_kind::cuda_device;
  using id_type = int;
  template <typename T>
  using pointer = T*;
};

#ifndef CONTROL
using allocator = upcxx::device_allocator<my_device>;
#else
using allocator = upcxx::device_allocator<upcxx::ze_device>;
#endif
static_assert(sizeof(allocator) > 0);
