#include "transport/ucx/context.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/os/interfaces.hpp"
#include "base/os/link_local.hpp"
#include "transport/common/module.hpp"
#include "transport/nearest_devices.hpp"

namespace atl::transport::ucx {
namespace {

/// Older ones fault on puts of device memory.
constexpr unsigned first_for_devices = 16;

/// Over TCP, between endpoints that notice losses, UCX uses one of several; libfabric may use all that are of one speed.
bool leaves_devices_unused(std::vector<device> const& devices) {
  std::map<std::uint64_t, int> of_speed;
  for (device const& each : devices) {
    std::uint64_t const speed = interface_speed(each.name);
    if (speed != 0 && each.name != "lo" && !is_bridge(each.name) && ++of_speed[speed] > 1) return true;
  }
  return false;
}

/// In a job whose hosts are simulated, the transports between them: those that copy device memory have no part in what passes
/// between processes. UCX complains of such as it does not find.
std::string transports_of_one_machine() {
  std::string names = "tcp";
  if (has_module("uct_cuda") && ::access("/dev/nvidiactl", F_OK) == 0) names += ",cuda_copy";
  if (has_module("uct_rocm") && ::access("/dev/kfd", F_OK) == 0) names += ",rocm_copy";
  return names;
}

/// What UCX prints for people.
template <class Print>
std::string printed(Print const& print) {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const out = ::open_memstream(&text, &length);
  if (out == nullptr) return {};
  print(out);
  std::fclose(out);
  std::string all(text, length);
  std::free(text);
  return all;
}

struct option {
  char const* name;
  char const* value;
};

/// Addresses name networks alone, so that shared memory would carry nothing; but each worker takes 4 MiB in /dev/shm, which has 64 MiB
/// in all in many containers, and as much of System V's. Those who name transports, also in a file of the system's (since 1.14), get what they name.
constexpr option without_shared_memory = {"TLS", "^sm"};
constexpr unsigned first_without = 13;  ///< as for of_calls

bool takes_any_transport(ucp_config_t const* settings) {
  std::string const all =
      printed([&](std::FILE* out) { ucp.config_print(settings, out, nullptr, UCS_CONFIG_PRINT_CONFIG); });
  return all.find("UCX_TLS=all\n") != std::string::npos;
}

/// How much of a message TCP reads and writes at once, as UCX calls that before 1.17 and since. As they come (8 and 64 KiB), puts
/// of 1 MiB move at a third of the speed.
constexpr option of_tcp[] = {{"RX_SEG_SIZE", "1m"}, {"TX_SEG_SIZE", "256k"}};
constexpr option of_newer_tcp[] = {{"TCP_RX_SEG_SIZE", "1m"}, {"TCP_TX_SEG_SIZE", "256k"}};
/// As it comes, UCX waits in connect(): for two minutes where nobody answers, as behind a firewall, in which a rank does nothing else. (SYN_CNT,
/// which is to shorten that, is refused by 1.13: "Invalid memory pool parameter(s)".) Not tried with older ones.
constexpr option of_calls[] = {{"CONN_NB", "y"}, {"TCP_CONN_NB", "y"}};
constexpr unsigned first_with_calls = 13;
/// Atomic operations have to agree with those of processors. And a rank that is gone is noticed sooner than after 20 s.
constexpr option of_all[] = {{"ATOMIC_MODE", "cpu"}, {"KEEPALIVE_INTERVAL", "2s"}};

/// May there be TCP among these? UCX complains of options that nobody reads.
bool may_use_tcp(std::string const& devices) {
  if (devices.empty() || devices == "all") return true;
  std::istringstream names(devices);
  for (std::string name; std::getline(names, name, ',');) {
    if (::access(("/sys/class/net/" + name).c_str(), F_OK) == 0) return true;
  }
  return false;
}

bool is_network(std::string_view transport) {
  for (std::string_view const inside :
       {"self", "sysv", "posix", "cma", "knem", "xpmem", "cuda", "gdr", "rocm", "ze", "mm", "gga"}) {
    if (transport.substr(0, inside.size()) == inside) return false;
  }
  return true;
}

/// Names of interfaces that have an address which others may reach; no link-local ones.
std::set<std::string> interfaces_with_ipv4() {
  std::set<std::string> names;
  auto const all = os::own_interfaces();
  for (ifaddrs const* at = all.get(); at != nullptr; at = at->ifa_next) {
    bool const is_ipv4 = at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET;
    if (is_ipv4 && !os::is_link_local(*at->ifa_addr)) names.insert(at->ifa_name);
  }
  return names;
}

std::string list(std::vector<device> const& devices) {
  std::string text;
  for (device const& each : devices) text += (text.empty() ? "" : ", ") + each.transport + "/" + each.name;
  return text.empty() ? "none" : text;
}

}  // namespace

context::~context() {
  if (worker_ != nullptr) ucp.worker_destroy(worker_);
  if (context_ != nullptr) ucp.cleanup(context_);
}

std::string context::open(network_config const& config) {
  std::string const devices = wanted_devices(config);
  std::string problem = open_context(config, devices.c_str());
  if (!problem.empty()) return problem;
  list_devices();
  bool const is_named = !devices.empty();
  if (is_named || std::getenv("UCX_NET_DEVICES") == nullptr) problem = leave_some_out(config, is_named);
  if (!problem.empty()) return problem;
  if (devices_.empty()) {
    if (devices.empty())
      return "UCX finds no network device on this host" + own_settings({"UCX_TLS", "UCX_NET_DEVICES"});
    context any;
    network_config unlimited = config;
    unlimited.devices = "";
    std::string const other = any.open_context(unlimited, "");
    if (other.empty()) any.list_devices();
    return "UCX finds no network device among ATOLL_NET_DEVICES=" + devices + "; it has " +
           list(any.devices_) + own_settings({"UCX_TLS"});
  }
  problem = open_worker();
  if (problem.empty() && address_.size() > config.address_room) {
    problem = "the address of this rank has " + std::to_string(address_.size()) + " bytes, and " +
              std::to_string(config.address_room) +
              " can be passed on. Name fewer devices in ATOLL_NET_DEVICES; there are " + list(devices_);
  }
  return problem;
}

std::string context::open_context(network_config const& config, char const* devices) {
  ucp_config_t* settings = nullptr;
  if (ucs_status_t const s = ucp.config_read(nullptr, nullptr, &settings); s != UCS_OK) {
    return "UCX cannot read its settings (UCX_…): " + words_of(s);
  }
  std::string problem;
  auto const set = [&](option const& what) {
    ucs_status_t const s = ucp.config_modify(settings, what.name, what.value);
    if (s != UCS_OK && problem.empty()) {
      problem = std::string("UCX does not accept ") + what.name + "=" + what.value + ": " + words_of(s);
    }
  };
  if (may_use_tcp(devices)) {
    auto const& names = ucp_minor() < 17 ? of_tcp : of_newer_tcp;
    std::for_each(std::begin(names), std::end(names), set);
    if (ucp_minor() >= first_with_calls) set(of_calls[ucp_minor() < 17 ? 0 : 1]);
  }
  std::for_each(std::begin(of_all), std::end(of_all), set);
  if (config.one_machine) {
    set({"TLS", transports_of_one_machine().c_str()});
  } else if (ucp_minor() >= first_without && takes_any_transport(settings)) {
    set(without_shared_memory);
  }
  if (*devices != '\0') set({"NET_DEVICES", devices});
  if (problem.empty()) {
    ucp_params_t how{};
    how.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    how.features =
        UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64 | UCP_FEATURE_WAKEUP;
    how.estimated_num_eps = static_cast<std::size_t>(config.ranks);
    // Structures are those that we were compiled with.
    unsigned const minor = std::min<unsigned>(ucp_minor(), UCP_API_MINOR);
    ucs_status_t const s = ucp.init_version(UCP_API_MAJOR, minor, &how, settings, &context_);
    if (s != UCS_OK) {
      context_ = nullptr;
      problem = "UCX cannot be started: " + words_of(s);
      if (*devices != '\0') problem += std::string(" (ATOLL_NET_DEVICES=") + devices + ")";
    }
    ucp_context_attr_t attributes{};
    attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
    if (s == UCS_OK && ucp_minor() >= first_for_devices &&
        ucp.context_query(context_, &attributes) == UCS_OK) {
      memory_types_ = attributes.memory_types;
    }
  }
  ucp.config_release(settings);
  return problem;
}

/// UCX takes any interface that has an address. It cannot know that the other host has the same one; and where two hosts, which list their
/// interfaces in different orders, take one of IPv4 and one of IPv6 to each other, UCX 1.13 ends both ("endpoint reconfiguration not
/// supported yet"), whether somebody has named both or nobody any. So it is opened anew with those by IPv4, if there are any; and with those that lead outside,
/// unless others are named.
std::string context::leave_some_out(network_config const& config, bool is_named) {
  std::set<std::string> const by_ipv4 = interfaces_with_ipv4();
  auto const is_tcp = [](device const& d) { return d.transport == "tcp" && d.name != "lo"; };
  auto const leads_outside = [&](device const& d) { return is_named || !joins_guests_only(d.name); };
  bool const any_by_ipv4 = std::any_of(devices_.begin(), devices_.end(), [&](device const& d) {
    return is_tcp(d) && leads_outside(d) && by_ipv4.contains(d.name);
  });
  std::string rest;
  bool any_left_out = false;
  bool any_outside = false;
  for (device const& each : devices_) {
    if (!leads_outside(each) || (any_by_ipv4 && is_tcp(each) && !by_ipv4.contains(each.name))) {
      any_left_out = true;
      continue;
    }
    any_outside = any_outside || each.name != "lo";
    rest += (rest.empty() ? "" : ",") + each.name;
  }
  if (!any_left_out || !any_outside) return {};
  ucp.cleanup(std::exchange(context_, nullptr));
  devices_.clear();
  std::string problem = open_context(config, rest.c_str());
  if (problem.empty()) list_devices();
  return problem;
}

/// UCX tells what it has found as text for people only: "resource 1 : md 1 dev 1 flags -- tcp/lo".
void context::list_devices() {
  std::istringstream lines(printed([this](std::FILE* out) { ucp.context_print_info(context_, out); }));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("resource ") == std::string::npos) continue;
    std::size_t const space = line.find_last_not_of(" \t");
    line.resize(space + 1);
    std::string const name = line.substr(line.find_last_of(" \t") + 1);
    std::size_t const slash = name.find('/');
    if (slash == std::string::npos || !is_network(name)) continue;
    devices_.push_back({name.substr(0, slash), name.substr(slash + 1)});
  }
  // They come as the system lists them, which differs between hosts that are alike.
  std::sort(devices_.begin(), devices_.end(), [](device const& a, device const& b) {
    return std::tie(a.transport, a.name) < std::tie(b.transport, b.name);
  });
}

std::string context::open_worker() {
  ucp_worker_params_t how{};
  how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
  // The engine calls one at a time, from any thread: the master persona may move in all modes.
  how.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  how.events = UCP_WAKEUP_RMA | UCP_WAKEUP_AMO | UCP_WAKEUP_TX | UCP_WAKEUP_RX;
  if (ucs_status_t const s = ucp.worker_create(context_, &how, &worker_); s != UCS_OK) {
    worker_ = nullptr;
    return "UCX cannot make a worker: " + words_of(s);
  }
  if (ucp.worker_get_efd(worker_, &descriptor_) != UCS_OK) descriptor_ = -1;
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS |
                          UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  attributes.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
  if (ucs_status_t const s = ucp.worker_query(worker_, &attributes); s != UCS_OK) {
    return "UCX does not tell the address of its worker: " + words_of(s);
  }
  auto const* const bytes = reinterpret_cast<std::byte const*>(attributes.address);
  address_.assign(bytes, bytes + attributes.address_length);
  ucp.worker_release_address(worker_, attributes.address);
  longest_header_ = attributes.max_am_header;
  return {};
}

bool context::has_adapters() const noexcept {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](device const& each) { return each.transport.find("tcp") == std::string::npos; });
}

std::string context::description() const {
  std::string text = std::string("libucp ") + ucp.get_version_string() + ": " + list(devices_);
  if (!has_adapters() && leaves_devices_unused(devices_))
    text += "; two ranks use one of those of one speed, over ofi up to four";
  for (device_memory const& each : kinds_of_devices) {
    if ((memory_types_ >> each.type & 1U) == 0) continue;
    text += std::string("; memory of ") + each.name + " devices";
    if (!has_adapters()) text += ", by way of the host";
  }
  return text;
}

}  // namespace atl::transport::ucx
