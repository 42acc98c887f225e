#include "transport/ofi/devices.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "transport/common/kept_signals.hpp"
#include "transport/common/module.hpp"
#include "transport/nearest_devices.hpp"

namespace atl::transport::ofi {
namespace {

/// What there is besides, the better first: messages come after the puts before them; a put ends at its target, or reads that
/// confirm it come after it.
struct wish {
  std::uint64_t order;
  std::uint64_t flags;
};
constexpr wish wishes[] = {{FI_ORDER_SAS | FI_ORDER_SAW, FI_DELIVERY_COMPLETE},
                           {FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_RAW, 0},
                           {FI_ORDER_SAS, FI_DELIVERY_COMPLETE},
                           {FI_ORDER_SAS | FI_ORDER_RAW, 0}};

info_ptr list_of(fi_info const& hints) {
  fi_info* list = nullptr;
  kept_signals const keep;  // all providers are loaded
  return info_ptr(fi.getinfo(interface_version(), nullptr, nullptr, 0, &hints, &list) == 0 ? list : nullptr);
}

/// What providers may want of memory that is registered.
int registration_modes(fi_ep_type type) {
  int const all = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  // Memory serves all peers: it can belong to an endpoint where that does so, too.
  return type == FI_EP_MSG ? all : all | FI_MR_ENDPOINT;
}

info_ptr ask(fi_ep_type type, wish const& what, std::string const& devices) {
  info_ptr const hints(fi.dupinfo(nullptr));
  if (hints == nullptr) return nullptr;
  bool const connected = type == FI_EP_MSG;
  hints->caps = FI_MSG | FI_RMA;
  // Not what moves data inside a host only, unless it is named.
  if (!connected && devices.empty()) hints->caps |= FI_REMOTE_COMM;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = type;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = what.order;
  hints->tx_attr->op_flags = what.flags;
  hints->domain_attr->mr_mode = registration_modes(type);
  if (!connected) {
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;  // more may arrive than there are receives
  }
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  return list_of(*hints);
}

void add_names(fi_info const* list, std::string& text) {
  for (fi_info const* each = list; each != nullptr; each = each->next) {
    std::string const name = name_of(*each);
    if (!is_usable(*each) || text.find(name) != std::string::npos) continue;
    text += (text.empty() ? "" : ", ") + name;
  }
}

/// Without the flags that were asked for: messages would be acknowledged, too.
info_ptr copy_of(fi_info const& info) {
  info_ptr copy(fi.dupinfo(&info));
  if (copy != nullptr) copy->tx_attr->op_flags = 0;
  return copy;
}

/// The best device that has such endpoints; where none is named so, `all` tells what there is.
device best_with(fi_ep_type type, std::string const& devices, surroundings const& here, std::string& all) {
  for (wish const& what : wishes) {
    info_ptr const list = ask(type, what, devices);
    if (list == nullptr) continue;
    choice const best = choose_among(list.get(), devices, here);
    if (best.first == nullptr) add_names(list.get(), all);
    if (best.first == nullptr || longest_put(*best.first, what.flags != 0) == 0) continue;
    info_ptr mine = copy_of(*best.first);
    if (mine == nullptr) continue;
    device found{std::move(mine), {}, what.flags != 0, {}, best.why};
    if (type != FI_EP_MSG) return found;
    for (fi_info const* each : best.alike) {
      if (info_ptr copy = copy_of(*each)) found.alike.push_back(std::move(copy));
    }
    return found;
  }
  return {};
}

/// Providers pay for it, `efa` by sending nothing inline. So it is not asked for where no device is.
bool has_devices() {
  return ::access("/dev/nvidiactl", F_OK) == 0 || ::access("/dev/kfd", F_OK) == 0 ||
         ::access("/dev/dri/renderD128", F_OK) == 0;
}

/// The same device and provider, with device memory if it takes that.
info_ptr with_device_memory(info_ptr chosen) {
  info_ptr const hints(fi.dupinfo(chosen.get()));
  if (hints == nullptr) return chosen;
  hints->caps |= FI_HMEM;
  hints->domain_attr->mr_mode = registration_modes(chosen->ep_attr->type) | FI_MR_HMEM;
  info_ptr const list = list_of(*hints);
  if (list == nullptr || !same_provider(*list, *chosen)) return chosen;
  info_ptr found(fi.dupinfo(list.get()));
  return found != nullptr ? std::move(found) : std::move(chosen);
}

device choose_among_all(network_config const& config) {
  std::string const devices = wanted_devices(config);
  surroundings const here{cpus_of_this_process(), config.gpu};
  std::string all;
  device connected = best_with(FI_EP_MSG, devices, here, all);
  bool const settled = !devices.empty() || (connected.info != nullptr && is_adapter(*connected.info));
  if (connected.info != nullptr && settled) return connected;
  device without = best_with(FI_EP_RDM, devices, here, all);
  bool const better = without.info != nullptr && (connected.info == nullptr || is_adapter(*without.info));
  if (better) return without;
  if (connected.info != nullptr) return connected;
  if (!all.empty()) {
    return {nullptr, "libfabric finds no such device among ATOLL_NET_DEVICES=" + devices + "; it has " + all};
  }
  return {
      nullptr,
      "libfabric finds no device whose provider has endpoints (FI_EP_MSG, or FI_EP_RDM) with messages in their "
      "order, remote memory, and puts that can be known to have arrived (`fi_info` lists them)" +
          own_settings({"FI_PROVIDER"})};
}

}  // namespace

bool is_adapter(fi_info const& info) {
  return info.nic != nullptr && info.nic->bus_attr != nullptr && info.nic->bus_attr->bus_type == FI_BUS_PCI;
}

std::size_t longest_put(fi_info const& info, bool says_delivered) {
  fi_ep_attr const& of = *info.ep_attr;
  // 0: reads are in no order with what is written.
  return says_delivered ? of.max_msg_size : std::min(of.max_msg_size, of.max_order_raw_size);
}

device choose_device(network_config const& config) {
  device chosen = choose_among_all(config);
  if (chosen.info != nullptr && config.device_memory.value_or(is_adapter(*chosen.info) && has_devices())) {
    chosen.info = with_device_memory(std::move(chosen.info));
  }
  return chosen;
}

}  // namespace atl::transport::ofi
