// libucp, of which one function fails when it is told to: what is not here is looked up in the library that this one is linked with.

#include <dlfcn.h>

#include <cstring>

#include <ucp/api/ucp.h>

namespace {
int failures = 0;
}

/// The next endpoints cannot be made: so many.
extern "C" [[gnu::visibility("default")]] void failing_ucp_endpoints(int count) { failures = count; }

extern "C" [[gnu::visibility("default")]] ucs_status_t ucp_ep_create(ucp_worker_h worker,
                                                                     ucp_ep_params_t const* how,
                                                                     ucp_ep_h* endpoint) {
  if (failures > 0) {
    --failures;
    return UCS_ERR_UNREACHABLE;
  }
  decltype(&ucp_ep_create) real = nullptr;
  void* const found = ::dlsym(RTLD_NEXT, "ucp_ep_create");
  std::memcpy(&real, &found, sizeof real);
  return real(worker, how, endpoint);
}
