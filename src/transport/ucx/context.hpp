#pragma once

/// A context of libucp with one worker, as networks of this folder use it: its settings, devices and address.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/kind.hpp"
#include "transport/plugin.hpp"
#include "transport/ucx/ucp.hpp"

namespace atl::transport::ucx {

/// "tcp", "eth0"
struct device {
  std::string transport;
  std::string name;
};

/// Memory of devices, as UCX calls it and as we do.
struct device_memory {
  ucs_memory_type_t type;
  memory::kind_id kind;
  char const* name;
};
constexpr device_memory kinds_of_devices[] = {{UCS_MEMORY_TYPE_CUDA, memory::kind_id::cuda, "cuda"},
                                              {UCS_MEMORY_TYPE_ROCM, memory::kind_id::hip, "hip"}};

class context {
 public:
  context() = default;
  ~context();
  context(context const&) = delete;
  context& operator=(context const&) = delete;

  /// Why it cannot be opened, or nothing.
  std::string open(network_config const& config);

  [[nodiscard]] ucp_context_h handle() const noexcept { return context_; }
  [[nodiscard]] ucp_worker_h worker() const noexcept { return worker_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// What others make endpoints of; networks only, nothing of the own host's memory.
  [[nodiscard]] std::vector<std::byte> const& address() const noexcept { return address_; }
  [[nodiscard]] std::size_t longest_header() const noexcept { return longest_header_; }
  /// Devices of networks.
  [[nodiscard]] std::vector<device> const& devices() const noexcept { return devices_; }
  /// Put and get are done by adapters, on some device at least.
  [[nodiscard]] bool has_adapters() const noexcept;
  /// Of memory that put and get take: bits (1 << ucs_memory_type_t).
  [[nodiscard]] std::uint64_t memory_types() const noexcept { return memory_types_; }
  /// "libucp 1.13.1: tcp/eth0, tcp/lo", whether devices are left unused, and which devices' memory it takes.
  [[nodiscard]] std::string description() const;

 private:
  std::string open_context(network_config const& config, char const* devices);
  std::string leave_some_out(network_config const& config, bool is_named);
  std::string open_worker();
  void list_devices();

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
  std::vector<std::byte> address_;
  std::size_t longest_header_ = 0;
  std::uint64_t memory_types_ = 0;
  std::vector<device> devices_;
};

}  // namespace atl::transport::ucx
