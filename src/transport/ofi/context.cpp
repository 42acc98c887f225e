#include "transport/ofi/context.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "transport/ofi/windows.hpp"

namespace atl::transport::ofi {
namespace {

/// What an address begins with; the length of the provider's name, the name, and what the provider gives follow.
constexpr std::uint32_t address_mark = 0x3149464f;  // "OFI1"
constexpr std::size_t longest_given_address = 256;
/// Of most providers it grows; of adapters it has to hold what all endpoints have under way.
constexpr std::size_t most_completions = 8192;

std::string failure(char const* what, long error) {
  return std::string("libfabric ") + what + ": " + words_of(error);
}

bool add_to(int all, int one) {
  epoll_event what{};
  what.events = EPOLLIN;
  what.data.fd = one;
  return ::epoll_ctl(all, EPOLL_CTL_ADD, one, &what) == 0;
}

}  // namespace

context::~context() {
  if (descriptor_ >= 0) ::close(descriptor_);
  close_object(listener_);
  close_object(endpoint_);
  close_object(addresses_);
  close_object(shared_receives_);
  close_object(completions_);
  close_object(domain_);
  close_object(events_);
  close_object(fabric_);
}

std::string context::open(device chosen, network_config const& config) {
  info_ = std::move(chosen.info);
  why_ = std::move(chosen.why);
  says_delivered_ = chosen.says_delivered;
  if (int const e = fi.fabric(info_->fabric_attr, &fabric_, nullptr); e != 0) {
    return failure("opens no fabric", e);
  }
  if (int const e = fi_domain(fabric_, info_.get(), &domain_, nullptr); e != 0) {
    return failure("opens no domain", e);
  }
  bool can_wait = false;
  std::string problem = open_queues(can_wait);
  if (problem.empty()) problem = info_->ep_attr->type == FI_EP_MSG ? listen() : open_endpoint();
  if (problem.empty() && can_wait) open_descriptor();
  if (problem.empty() && address_.size() > config.address_room) {
    problem = "the address of this rank has " + std::to_string(address_.size()) + " bytes, and " +
              std::to_string(config.address_room) + " can be passed on";
  }
  return problem;
}

std::string context::open_queues(bool& can_wait) {
  fi_cq_attr how{};
  how.size = most_completions;
  bool const each_receives = info_->ep_attr->type == FI_EP_MSG && info_->domain_attr->max_ep_srx_ctx == 0;
  if (each_receives) how.size += most_connections * own_receives;
  how.format = FI_CQ_FORMAT_MSG;
  how.wait_obj = FI_WAIT_FD;
  int e = fi_cq_open(domain_, &how, &completions_, nullptr);
  can_wait = e == 0;
  if (!can_wait) {  // it may have no such descriptor
    how.wait_obj = FI_WAIT_NONE;
    e = fi_cq_open(domain_, &how, &completions_, nullptr);
  }
  if (e != 0) return failure("opens no queue of completions", e);
  if (info_->ep_attr->type != FI_EP_MSG) return {};
  fi_eq_attr events{};
  events.wait_obj = how.wait_obj;
  e = fi_eq_open(fabric_, &events, &events_, nullptr);
  if (e != 0) return failure("opens no queue of events", e);
  if (info_->domain_attr->max_ep_srx_ctx != 0 &&
      fi_srx_context(domain_, info_->rx_attr, &shared_receives_, nullptr) == 0) {
    info_->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  } else {
    shared_receives_ = nullptr;
  }
  return {};
}

std::string context::listen() {
  int e = fi_passive_ep(fabric_, info_.get(), &listener_, nullptr);
  if (e == 0) e = fi_pep_bind(listener_, &events_->fid, 0);
  if (e == 0) e = fi_listen(listener_);
  if (e != 0) return failure("cannot listen", e);
  return keep_address(&listener_->fid);
}

std::string context::open_endpoint() {
  fi_av_attr how{};
  how.type = info_->domain_attr->av_type;
  int e = fi_av_open(domain_, &how, &addresses_, nullptr);
  if (e != 0) return failure("opens no vector of addresses", e);
  e = fi_endpoint(domain_, info_.get(), &endpoint_, nullptr);
  if (e == 0) e = fi_ep_bind(endpoint_, &addresses_->fid, 0);
  if (e == 0) e = fi_ep_bind(endpoint_, &completions_->fid, FI_TRANSMIT | FI_RECV);
  if (e == 0) e = fi_enable(endpoint_);
  if (e != 0) return failure("makes no endpoint", e);
  return keep_address(&endpoint_->fid);
}

fi_addr_t context::insert(std::span<std::byte const> to, std::string& error) {
  fi_addr_t made = FI_ADDR_UNSPEC;
  int const n = fi_av_insert(addresses_, to.data(), 1, &made, 0, nullptr);
  if (n == 1) return made;
  error = failure("does not take an address", n < 0 ? n : -FI_EADDRNOTAVAIL);
  return FI_ADDR_UNSPEC;
}

std::string context::keep_address(fid* of) {
  std::array<std::byte, longest_given_address> given{};
  std::size_t length = given.size();
  int const e = fi_getname(of, given.data(), &length);
  if (e != 0 || length > given.size()) return failure("does not tell its address", e);
  std::string_view const provider = info_->fabric_attr->prov_name;
  address_.resize(sizeof address_mark + 1 + provider.size() + length);
  std::byte* to = address_.data();
  std::memcpy(to, &address_mark, sizeof address_mark);
  to += sizeof address_mark;
  *to++ = static_cast<std::byte>(provider.size());
  std::memcpy(to, provider.data(), provider.size());
  std::memcpy(to + provider.size(), given.data(), length);
  return {};
}

bool context::reads_address(std::span<std::byte const> address, std::span<std::byte const>& to) const {
  std::string_view const provider = info_->fabric_attr->prov_name;
  std::size_t const begin = sizeof address_mark + 1 + provider.size();
  // The same mark, length and name as our own.
  if (address.size() <= begin || std::memcmp(address.data(), address_.data(), begin) != 0) return false;
  to = address.subspan(begin);
  return true;
}

/// The queues in one descriptor.
void context::open_descriptor() {
  int one = -1;
  int other = -1;
  if (fi_control(&completions_->fid, FI_GETWAIT, &one) != 0 ||
      (events_ != nullptr && fi_control(&events_->fid, FI_GETWAIT, &other) != 0)) {
    return;
  }
  int const both = ::epoll_create1(EPOLL_CLOEXEC);
  if (both < 0) return;
  for (int const each : {one, other}) {
    if (each < 0) continue;
    if (!add_to(both, each)) {
      ::close(both);
      return;
    }
  }
  descriptor_ = both;
}

bool context::watch(int other) { return other >= 0 && add_to(descriptor_, other); }

bool context::arm() {
  fid* queues[] = {&completions_->fid, events_ != nullptr ? &events_->fid : nullptr};
  return descriptor_ >= 0 && fi_trywait(fabric_, queues, events_ != nullptr ? 2 : 1) == FI_SUCCESS;
}

bool context::has_adapter() const noexcept {
  switch (info_->ep_attr->protocol) {
    case FI_PROTO_RDMA_CM_IB_RC:
    case FI_PROTO_RDMA_CM_IB_XRC:
    case FI_PROTO_IWARP:
      return true;
    default:
      return is_adapter(*info_);
  }
}

bool context::moves_alone() const noexcept {
  // One endpoint for all peers may be made of software that needs polls, whatever moves the data in the end.
  return has_adapter() && (!connectionless() || info_->domain_attr->data_progress == FI_PROGRESS_AUTO);
}

std::string context::description() const {
  std::uint32_t const version = fi.version();
  return "libfabric " + std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version)) + ": " +
         name_of(*info_);
}

// ---- endpoints -----------------------------------------------------------------------------------

fid_ep* context::make_endpoint(std::span<std::byte const> to, void* of, std::string& error) {
  info_ptr const how(fi.dupinfo(info_.get()));
  void* const copy = how != nullptr ? std::malloc(to.size()) : nullptr;  // freeinfo() frees it
  if (copy == nullptr) {
    error = "there is no memory for an endpoint";
    return nullptr;
  }
  std::memcpy(copy, to.data(), to.size());
  how->dest_addr = copy;
  how->dest_addrlen = to.size();
  return make_endpoint(*how, of, error);
}

fid_ep* context::make_endpoint(fi_info& request, void* of, std::string& error) {
  if (shared_receives_ != nullptr) {
    request.ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  } else {
    request.rx_attr->size = own_receives;  // providers keep as much of the queue of completions for them
  }
  request.tx_attr->op_flags = 0;
  fid_ep* made = nullptr;
  int e = fi_endpoint(domain_, &request, &made, of);
  if (e == 0) e = fi_ep_bind(made, &events_->fid, 0);
  if (e == 0) e = fi_ep_bind(made, &completions_->fid, FI_TRANSMIT | FI_RECV);
  if (e == 0 && shared_receives_ != nullptr) e = fi_ep_bind(made, &shared_receives_->fid, 0);
  if (e == 0) e = fi_enable(made);
  if (e == 0) return made;
  error = failure("makes no endpoint", e);
  close_object(made);
  return nullptr;
}

void context::reject(fi_info const& request) {
  static_cast<void>(fi_reject(listener_, request.handle, nullptr, 0));
}

int context::enter(void const* begin, std::size_t bytes, std::uint64_t access, fid_mr*& memory,
                   home_of_memory const& of) {
  iovec const what{const_cast<void*>(begin), bytes};
  fi_mr_attr how{};
  how.mr_iov = &what;
  how.iov_count = 1;
  how.access = access;
  // Keys are never used twice, so that one that is forgotten finds nothing.
  how.requested_key = gives_keys() ? 0 : ++last_key_;
  how.iface = of.kind;
  if (of.kind == FI_HMEM_CUDA) how.device.cuda = of.device;
  if (of.kind == FI_HMEM_ZE) how.device.ze = of.device;  // of the first driver
  int e = fi_mr_regattr(domain_, &how, 0, &memory);
  if (e != 0 || !has_mode(FI_MR_ENDPOINT)) return e;
  e = fi_mr_bind(memory, &endpoint_->fid, 0);
  if (e == 0) e = fi_mr_enable(memory);
  if (e != 0) close_object(memory);
  return e;
}

}  // namespace atl::transport::ofi
