#pragma once

/// What a network of this folder has open in libfabric: a domain with a queue for completions, and, for endpoints that
/// connect, a queue for their events and a listener, whose address is what others connect to; else the one endpoint for all
/// peers and the vector of their addresses. A descriptor for the queues.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/ofi/devices.hpp"
#include "transport/ofi/libfabric.hpp"
#include "transport/plugin.hpp"

namespace atl::transport::ofi {

/// Where memory lies: in a host, or in a device with a number in this process.
struct home_of_memory {
  fi_hmem_iface kind = FI_HMEM_SYSTEM;
  std::int32_t device = -1;
};

class context {
 public:
  context() = default;
  ~context();
  context(context const&) = delete;
  context& operator=(context const&) = delete;

  /// Why it cannot be opened, or nothing.
  std::string open(device chosen, network_config const& config);

  // ---- what it is ----

  /// "libfabric 1.17: tcp/eth0"
  [[nodiscard]] std::string description() const;
  /// Why it is this device; may be empty.
  [[nodiscard]] std::string const& why() const noexcept { return why_; }
  /// What others connect to; begins with the provider's name, as both have to have the same one.
  [[nodiscard]] std::vector<std::byte> const& address() const noexcept { return address_; }
  [[nodiscard]] fi_info const& info() const noexcept { return *info_; }
  /// An adapter moves the data, or the processor does.
  [[nodiscard]] bool has_adapter() const noexcept;
  /// Put and get come to an end although their target does not poll.
  [[nodiscard]] bool moves_alone() const noexcept;
  /// Memory that libfabric reads or writes has to be registered, also at this end.
  [[nodiscard]] bool registers_local() const noexcept { return has_mode(FI_MR_LOCAL); }
  /// Keys are the provider's, and may come again.
  [[nodiscard]] bool gives_keys() const noexcept { return has_mode(FI_MR_PROV_KEY); }
  /// Device memory is taken, if it is entered.
  [[nodiscard]] bool takes_devices() const noexcept { return (info_->caps & FI_HMEM) != 0; }
  /// A put says that it is over when its data are there.
  [[nodiscard]] bool says_delivered() const noexcept { return says_delivered_; }
  /// Messages are taken after puts that were started before.
  [[nodiscard]] bool orders_messages_behind_puts() const noexcept {
    return (info_->tx_attr->msg_order & FI_ORDER_SAW) != 0;
  }

  // ---- endpoints ----

  /// One endpoint serves all peers. What is under way to one of them cannot be ended.
  [[nodiscard]] bool connectionless() const noexcept { return endpoint_ != nullptr; }
  [[nodiscard]] fid_ep* endpoint() const noexcept { return endpoint_; }
  /// Makes a peer's address known to it; FI_ADDR_UNSPEC and words in `error`: that cannot be.
  fi_addr_t insert(std::span<std::byte const> to, std::string& error);
  /// Closes it, after the memory that was entered. Nothing that was given to it is used from then on.
  void close_endpoint() noexcept { close_object(endpoint_); }

  /// For a peer at `to`, as its address() says; or null and words in `error`.
  fid_ep* make_endpoint(std::span<std::byte const> to, void* of, std::string& error);
  /// For one that wants to connect.
  fid_ep* make_endpoint(fi_info& request, void* of, std::string& error);
  void reject(fi_info const& request);
  /// Splits an address; false if it is none of a network over this provider.
  bool reads_address(std::span<std::byte const> address, std::span<std::byte const>& to) const;

  // ---- memory ----

  /// 0, or an error. `of`: the device whose memory it is, if it is one's.
  int enter(void const* begin, std::size_t bytes, std::uint64_t access, fid_mr*& memory,
            home_of_memory const& of = {});
  /// Where peers see the byte at `address` in memory that was entered and begins at `begin`.
  [[nodiscard]] std::uint64_t far_address(void const* begin, void const* address) const noexcept {
    auto const from = has_mode(FI_MR_VIRT_ADDR) ? 0 : reinterpret_cast<std::uintptr_t>(begin);
    return reinterpret_cast<std::uintptr_t>(address) - from;
  }

  // ---- queues ----

  [[nodiscard]] fid_cq* completions() const noexcept { return completions_; }
  [[nodiscard]] fid_eq* events() const noexcept { return events_; }
  /// Where receives for all peers are posted; null: the endpoint of each has its own.
  [[nodiscard]] fid_ep* shared_receives() const noexcept {
    return endpoint_ != nullptr ? endpoint_ : shared_receives_;
  }
  /// Few receives will do, as messages for which there is none wait in their connections, in the kernel: so each may be long. All
  /// ranks agree, as all use one provider.
  [[nodiscard]] bool waits_for_receives() const noexcept {
    return shared_receives_ != nullptr && info_->ep_attr->protocol == FI_PROTO_SOCK_TCP;
  }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The descriptor tells of what happens to this one, too; false: that cannot be.
  bool watch(int other);
  /// Arms the descriptor; false: there is something to do.
  bool arm();

 private:
  [[nodiscard]] bool has_mode(std::uint64_t bit) const noexcept {
    return (static_cast<std::uint64_t>(info_->domain_attr->mr_mode) & bit) != 0;
  }
  std::string open_queues(bool& can_wait);
  std::string listen();
  std::string open_endpoint();
  std::string keep_address(fid* of);
  void open_descriptor();

  info_ptr info_;
  std::string why_;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_cq* completions_ = nullptr;
  fid_eq* events_ = nullptr;
  fid_pep* listener_ = nullptr;
  fid_ep* shared_receives_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  int descriptor_ = -1;
  bool says_delivered_ = false;
  std::uint64_t last_key_ = 0;
  std::vector<std::byte> address_;
};

}  // namespace atl::transport::ofi
