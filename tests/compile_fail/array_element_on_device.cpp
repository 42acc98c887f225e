// expect: is for host memory; elements on devices are there for kernels
#include <atoll/extensions/array/view.hpp>

double f(atl::array<double, 1, upcxx::memory_kind::cuda_device> const& on_device,
         atl::array<double, 1> const& on_host) {
#ifndef CONTROL
  (void)on_device[atl::point{1}];
#endif
  return on_host[atl::point{1}] + static_cast<double>(on_device.extent(0));
}
