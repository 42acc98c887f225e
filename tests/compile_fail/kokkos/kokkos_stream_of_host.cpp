// expect: kernels of this execution space are in no stream of a device
#include <atoll/kokkos.hpp>

struct on_device {
  using execution_space = on_device;
  CUstream_st* stream;
};
template <>
struct atl::kokkos::execution_stream<on_device> {
  static CUstream_st* of(on_device const& instance) { return instance.stream; }
};

atl::stream f(Kokkos::DefaultHostExecutionSpace const& host, on_device const& device) {
#ifndef CONTROL
  return atl::kokkos::stream_of(host);
#endif
  static_cast<void>(host);
  return atl::kokkos::stream_of(device);
}
