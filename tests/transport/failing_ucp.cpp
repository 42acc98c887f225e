// libucp, of which one function fails when it is told to: what is not here is looked up in the library that this one is linked with.

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include <ucp/api/ucp.h>

namespace {

int failures = 0;
ucs_status_t how_to_fail = UCS_ERR_NO_RESOURCE;

/// FAILING_UCP_ENDPOINTS: so many attempts fail for each peer; in the rank that FAILING_UCP_RANK names, or in all.
int failures_for_each() {
  char const* const count = std::getenv("FAILING_UCP_ENDPOINTS");
  char const* const whose = std::getenv("FAILING_UCP_RANK");
  char const* const rank = std::getenv("ATOLL_RANK");
  bool const here = whose == nullptr || (rank != nullptr && std::string_view(whose) == rank);
  return count != nullptr && here ? std::atoi(count) : 0;
}

bool fails(ucp_ep_params_t const& how) {
  if (failures > 0) {
    --failures;
    return true;
  }
  static int const for_each = failures_for_each();
  if (for_each == 0) return false;
  // An address does not say how long it is. Peers of one machine differ in what comes first.
  static std::map<std::string, int> attempts;
  return ++attempts[std::string(reinterpret_cast<char const*>(how.address), 16)] <= for_each;
}

}  // namespace

/// The next endpoints cannot be made: so many. `for_good`: as no interface leads there.
extern "C" [[gnu::visibility("default")]] void failing_ucp_endpoints(int count, bool for_good) {
  failures = count;
  how_to_fail = for_good ? UCS_ERR_UNREACHABLE : UCS_ERR_NO_RESOURCE;
}

extern "C" [[gnu::visibility("default")]] ucs_status_t ucp_ep_create(ucp_worker_h worker,
                                                                     ucp_ep_params_t const* how,
                                                                     ucp_ep_h* endpoint) {
  if (fails(*how)) return how_to_fail;
  decltype(&ucp_ep_create) real = nullptr;
  void* const found = ::dlsym(RTLD_NEXT, "ucp_ep_create");
  std::memcpy(&real, &found, sizeof real);
  return real(worker, how, endpoint);
}
