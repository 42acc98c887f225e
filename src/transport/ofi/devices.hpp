#pragma once

/// Which provider and device of libfabric to use. What is needed is asked for, no provider by name.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "memory/kind.hpp"
#include "transport/ofi/choice.hpp"
#include "transport/ofi/libfabric.hpp"
#include "transport/plugin.hpp"

namespace atl::transport::ofi {

struct free_info {
  void operator()(fi_info* info) const noexcept { fi.freeinfo(info); }
};
using info_ptr = std::unique_ptr<fi_info, free_info>;

struct device {
  info_ptr info;                ///< null: there is none that can be used
  std::string why_not;          ///< then
  bool says_delivered = false;  ///< a put can say that its data are in the target's memory
  /// Others that are as good: of the same provider, as near and as fast. Only where endpoints connect.
  std::vector<info_ptr> alike = {};
  std::string why = {};  ///< not others that are as good otherwise; may be empty
};

/// Of those that ATOLL_NET_DEVICES names, or of all: adapters before what a processor does, connected endpoints (FI_EP_MSG)
/// before one for all peers (FI_EP_RDM); then the provider that libfabric has first; addresses that others can reach before
/// loop-back ones, IPv4 before others; then what is near (choice.hpp). Devices of unknown speed are alike only where they are named.
device choose_device(network_config const& config);

/// Kinds of device memory, and what libfabric calls them.
struct home_of_kind {
  memory::kind_id kind;
  fi_hmem_iface home;
};
constexpr home_of_kind homes_of_kinds[] = {{memory::kind_id::cuda, FI_HMEM_CUDA},
                                           {memory::kind_id::hip, FI_HMEM_ROCR},
                                           {memory::kind_id::ze, FI_HMEM_ZE}};

/// Bytes of the longest put of which a device can tell that it has arrived: by itself, or by a read behind it. 0: of none.
std::size_t longest_put(fi_info const& info, bool says_delivered);

/// An adapter moves the data.
bool is_adapter(fi_info const& info);

}  // namespace atl::transport::ofi
