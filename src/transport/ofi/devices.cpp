#include "transport/ofi/devices.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string_view>
#include <vector>

#include "transport/kept_signals.hpp"
#include "transport/nearest_devices.hpp"

namespace atl::transport::ofi {
namespace {

/// In a job whose hosts are simulated, what is between them.
constexpr char const* devices_of_one_machine = "lo";

/// What there is besides, the better first: messages come after the puts before them; a put ends at its target.
struct wish {
  std::uint64_t order;
  std::uint64_t flags;
};
constexpr wish wishes[] = {{FI_ORDER_SAS | FI_ORDER_SAW, FI_DELIVERY_COMPLETE},
                           {FI_ORDER_SAS | FI_ORDER_SAW, 0},
                           {FI_ORDER_SAS, FI_DELIVERY_COMPLETE},
                           {FI_ORDER_SAS, 0}};

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

/// The lower, the better: what others can reach, IPv4 first. Negative: of no use, as it needs to be told a device.
int rank_of(fi_info const& info) {
  auto const* const address = static_cast<sockaddr const*>(info.src_addr);
  if (address == nullptr) return 2;
  if (address->sa_family == AF_INET && info.src_addrlen >= sizeof(sockaddr_in)) {
    std::uint32_t const host = ntohl(reinterpret_cast<sockaddr_in const*>(address)->sin_addr.s_addr);
    if (host >> 16 == 0xa9fe) return -1;  // 169.254/16
    return host >> 24 == 127 ? 3 : 0;
  }
  if (address->sa_family == AF_INET6 && info.src_addrlen >= sizeof(sockaddr_in6)) {
    in6_addr const& host = reinterpret_cast<sockaddr_in6 const*>(address)->sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&host)) return -1;
    return IN6_IS_ADDR_LOOPBACK(&host) ? 4 : 1;
  }
  return 2;
}

/// Bits a second; 0: unknown.
std::uint64_t speed_of(fi_info const& info) {
  if (info.nic != nullptr && info.nic->link_attr != nullptr && info.nic->link_attr->speed != 0) {
    return info.nic->link_attr->speed;
  }
  return interface_speed(info.domain_attr->name);
}

bool same_provider(fi_info const& a, fi_info const& b) {
  return std::strcmp(a.fabric_attr->prov_name, b.fabric_attr->prov_name) == 0;
}

/// "eth0", "tcp/eth0", or "mlx5_0:1" with the port behind it, as UCX names devices.
bool is_named(fi_info const& info, std::string const& devices) {
  if (devices.empty() || devices == "all") return true;
  std::istringstream names(devices);
  for (std::string name; std::getline(names, name, ',');) {
    std::string const without_port = name.substr(0, name.find(':'));
    for (std::string const& one : {name, without_port}) {
      if (one == info.domain_attr->name || one == name_of(info)) return true;
    }
  }
  return false;
}

/// The best of a list, of equal ones that which is nearest to this process; null if there is none.
fi_info const* best_of(fi_info const* list, std::string const& devices) {
  auto const distance = [](fi_info const& info) {
    return distance_of(info.domain_attr->name, cpus_of_this_process());
  };
  fi_info const* best = nullptr;
  for (fi_info const* each = list; each != nullptr; each = each->next) {
    int const rank = rank_of(*each);
    if (rank < 0 || !is_named(*each, devices)) continue;
    bool const loops = rank >= 3;
    bool const best_loops = best != nullptr && rank_of(*best) >= 3;
    if (best == nullptr || (best_loops && !loops)) {
      best = each;
    } else if (same_provider(*best, *each) && rank <= rank_of(*best)) {
      if (rank < rank_of(*best) || distance(*each) < distance(*best)) best = each;
    }
  }
  return best;
}

/// Those of the list that are as good as the best one, which is not among them, each once.
std::vector<info_ptr> alike(fi_info const* list, fi_info const& best, std::string const& devices) {
  std::vector<info_ptr> found;
  std::vector<int> const cpus = cpus_of_this_process();
  std::string_view const best_name = best.domain_attr->name;
  std::uint64_t const speed = speed_of(best);
  bool const named = !devices.empty() && devices != "all";
  if (rank_of(best) >= 3 || (speed == 0 && !named)) return found;
  int const distance = distance_of(best_name, cpus);
  for (fi_info const* each = list; each != nullptr && found.size() + 1 < most_rails; each = each->next) {
    std::string_view const name = each->domain_attr->name;
    auto const has_it = [&](info_ptr const& other) { return name == other->domain_attr->name; };
    if (name == best_name || std::any_of(found.begin(), found.end(), has_it)) continue;
    bool const good = rank_of(*each) == rank_of(best) && same_provider(*each, best) &&
                      is_named(*each, devices) && speed_of(*each) == speed && !is_bridge(name) &&
                      distance_of(name, cpus) == distance;
    info_ptr copy(good ? fi.dupinfo(each) : nullptr);
    if (copy == nullptr) continue;
    copy->tx_attr->op_flags = 0;
    found.push_back(std::move(copy));
  }
  return found;
}

void add_names(fi_info const* list, std::string& text) {
  for (fi_info const* each = list; each != nullptr; each = each->next) {
    std::string const name = name_of(*each);
    if (rank_of(*each) < 0 || text.find(name) != std::string::npos) continue;
    text += (text.empty() ? "" : ", ") + name;
  }
}

/// The best device that has such endpoints; where none is named so, `all` tells what there is.
device best_with(fi_ep_type type, std::string const& devices, std::string& all) {
  for (wish const& what : wishes) {
    info_ptr const list = ask(type, what, devices);
    if (list == nullptr) continue;
    fi_info const* const best = best_of(list.get(), devices);
    if (best == nullptr) add_names(list.get(), all);
    if (best == nullptr) continue;
    info_ptr mine(fi.dupinfo(best));
    if (mine == nullptr) continue;
    // Else messages would be acknowledged, too.
    mine->tx_attr->op_flags = 0;
    device found{std::move(mine), {}, what.flags != 0};
    if (type == FI_EP_MSG) found.alike = alike(list.get(), *best, devices);
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
  std::string devices = config.devices;
  if (devices.empty() && config.one_machine) devices = devices_of_one_machine;
  std::string all;
  device connected = best_with(FI_EP_MSG, devices, all);
  bool const settled = !devices.empty() || (connected.info != nullptr && is_adapter(*connected.info));
  if (connected.info != nullptr && settled) return connected;
  device without = best_with(FI_EP_RDM, devices, all);
  bool const better = without.info != nullptr && (connected.info == nullptr || is_adapter(*without.info));
  if (better) return without;
  if (connected.info != nullptr) return connected;
  if (!all.empty()) {
    return {nullptr, "libfabric finds no such device among ATOLL_NET_DEVICES=" + devices + "; it has " + all};
  }
  return {
      nullptr,
      "libfabric finds no device whose provider has endpoints (FI_EP_MSG, or FI_EP_RDM) with messages in their "
      "order and remote memory (`fi_info` lists them)"};
}

}  // namespace

bool is_adapter(fi_info const& info) {
  return info.nic != nullptr && info.nic->bus_attr != nullptr && info.nic->bus_attr->bus_type == FI_BUS_PCI;
}

std::string name_of(fi_info const& info) {
  return std::string(info.fabric_attr->prov_name) + "/" + info.domain_attr->name;
}

device choose_device(network_config const& config) {
  device chosen = choose_among_all(config);
  if (chosen.info != nullptr && config.device_memory.value_or(is_adapter(*chosen.info) && has_devices())) {
    chosen.info = with_device_memory(std::move(chosen.info));
  }
  return chosen;
}

}  // namespace atl::transport::ofi
