// libucp, some functions of which fail when they are told to: what is not here is looked up in the library that this one is linked with.

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <ucp/api/ucp.h>

namespace {

/// The function of that name in the real library.
template <class Function>
Function* real(Function* /*ours*/, char const* name) {
  Function* function = nullptr;
  void* const found = ::dlsym(RTLD_NEXT, name);
  std::memcpy(&function, &found, sizeof function);
  return function;
}

int failures = 0;
ucs_status_t how_to_fail = UCS_ERR_NO_RESOURCE;

struct {
  ucp_err_handler_t call;
  ucp_ep_h endpoint;
} last_handler;
bool put_is_to_fail = false;
ucs_status_t message_is_to_fail = UCS_OK;
bool endpoint_is_to_fail = false;
ucp_request_param_t failing_put;  ///< of the put that is to fail; its address stands for a request

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
  ucs_status_t const made = real(&ucp_ep_create, "ucp_ep_create")(worker, how, endpoint);
  if (made == UCS_OK) last_handler = {how->err_handler, *endpoint};
  return made;
}

/// The next put times out, and then the endpoint that was made last: as where a cable is out.
extern "C" [[gnu::visibility("default")]] void failing_ucp_put() { put_is_to_fail = true; }

extern "C" [[gnu::visibility("default")]] ucs_status_ptr_t ucp_put_nbx(ucp_ep_h endpoint, void const* buffer,
                                                                       std::size_t count,
                                                                       std::uint64_t remote, ucp_rkey_h key,
                                                                       ucp_request_param_t const* how) {
  if (!std::exchange(put_is_to_fail, false))
    return real(&ucp_put_nbx, "ucp_put_nbx")(endpoint, buffer, count, remote, key, how);
  failing_put = *how;
  return &failing_put;
}

/// The next message fails at once, with that status.
extern "C" [[gnu::visibility("default")]] void failing_ucp_message(int status) {
  message_is_to_fail = static_cast<ucs_status_t>(status);
}

extern "C" [[gnu::visibility("default")]] ucs_status_ptr_t ucp_am_send_nbx(
    ucp_ep_h endpoint, unsigned id, void const* header, std::size_t header_bytes, void const* buffer,
    std::size_t count, ucp_request_param_t const* how) {
  ucs_status_t const status = std::exchange(message_is_to_fail, UCS_OK);
  if (status != UCS_OK) return reinterpret_cast<ucs_status_ptr_t>(static_cast<std::intptr_t>(status));
  return real(&ucp_am_send_nbx, "ucp_am_send_nbx")(endpoint, id, header, header_bytes, buffer, count, how);
}

extern "C" [[gnu::visibility("default")]] void ucp_request_free(void* request) {
  if (request != &failing_put) real(&ucp_request_free, "ucp_request_free")(request);
}

extern "C" [[gnu::visibility("default")]] unsigned ucp_worker_progress(ucp_worker_h worker) {
  if (failing_put.cb.send != nullptr) {
    std::exchange(failing_put.cb.send, nullptr)(&failing_put, UCS_ERR_TIMED_OUT, failing_put.user_data);
    endpoint_is_to_fail = true;
    return 1;
  }
  if (std::exchange(endpoint_is_to_fail, false)) {
    last_handler.call.cb(last_handler.call.arg, last_handler.endpoint, UCS_ERR_TIMED_OUT);
    return 1;
  }
  return real(&ucp_worker_progress, "ucp_worker_progress")(worker);
}
