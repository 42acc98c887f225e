// expect: (no matching|constraint|associated constraints)
#include <atoll/extensions/array/ghosts.hpp>

void f(atl::stream const& s, atl::ghost_exchange<double, 1>& of_hosts,
       atl::ghost_exchange<double, 1, upcxx::memory_kind::cuda_device>& of_devices) {
#ifndef CONTROL
  of_hosts.run(s);
#endif
  of_hosts.run();
  of_devices.run(s);
}
