#pragma once

/// libucp, opened at run time: the one that is in the process already, where there is one. Nothing here is linked with it, so
/// that one module serves all versions that have the functions below.

#include <string>

#include <ucp/api/ucp.h>

namespace atl::transport::ucx {

// ucp_init itself is inline and says which version it was compiled with.
#define ATOLL_UCP_FUNCTIONS(each)                                                                          \
  each(get_version) each(get_version_string) each(init_version) each(cleanup) each(context_print_info)     \
      each(config_read) each(config_print) each(config_modify) each(config_release) each(worker_create)    \
          each(worker_destroy) each(worker_query) each(worker_release_address)                             \
              each(worker_set_am_recv_handler) each(worker_progress) each(worker_get_efd) each(worker_arm) \
                  each(ep_create) each(ep_close_nbx) each(ep_flush_nbx) each(ep_rkey_unpack)               \
                      each(am_send_nbx) each(am_recv_data_nbx) each(am_data_release) each(put_nbx)         \
                          each(get_nbx) each(atomic_op_nbx) each(mem_map) each(mem_unmap) each(mem_query)  \
                              each(context_query) each(rkey_pack) each(rkey_buffer_release)                \
                                  each(rkey_destroy) each(request_check_status) each(request_free)

struct ucp_functions {
#define ATOLL_UCP_DECLARE(name) decltype(&::ucp_##name) name = nullptr;
  ATOLL_UCP_FUNCTIONS(ATOLL_UCP_DECLARE)
#undef ATOLL_UCP_DECLARE
  decltype(&::ucs_status_string) status_string = nullptr;
};

/// Usable once open_ucp() has succeeded; stays so to the end of the process.
extern ucp_functions ucp;

/// Opens it, once a process; returns why that cannot be, or nothing. `file`: instead of libucp.so.0; may be empty.
std::string open_ucp(char const* file);

/// 13 of 1.13.1.
unsigned ucp_minor();

/// Has the libucp that was opened this module, such as "uct_cuda"? UCX looks for those beside its libraries.
bool has_module(std::string const& name);

inline std::string words_of(ucs_status_t status) { return ucp.status_string(status); }

}  // namespace atl::transport::ucx
