// expect: atl::copy_strided: the destination's elements must not be const
#include <atoll/strided.hpp>
#include <upcxx/upcxx.hpp>

using device_ptr = upcxx::global_ptr<int, upcxx::memory_kind::cuda_device>;

void f(device_ptr from, upcxx::global_ptr<int const, upcxx::memory_kind::cuda_device> wrong,
       device_ptr right) {
#ifndef CONTROL
  (void)atl::copy_strided<1>(from, {{8}}, wrong, {{8}}, {{4}});
#endif
  (void)atl::copy_strided<1>(from, {{8}}, right, {{8}}, {{4}});
  static_cast<void>(wrong);
}
