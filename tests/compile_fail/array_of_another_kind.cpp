// expect: (no matching function|no viable constructor|could not convert|cannot convert|no known conversion)
#include <atoll/extensions/array/view.hpp>

using upcxx::memory_kind;

void f(upcxx::global_ptr<int, memory_kind::cuda_device> on_device, upcxx::global_ptr<int> on_host) {
  atl::domain<1> const where{{0}, {4}};
#ifndef CONTROL
  atl::array<int, 1> const wrong(on_device, where);
#endif
  atl::array<int, 1> const right(on_host, where);
  atl::array<int, 1, memory_kind::any> const either = right;
  (void)either;
}
