#pragma once

/// The simulated network between simulated hosts, in memory that all ranks of the machine share.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/doorbell.hpp"
#include "bootstrap/bootstrap.hpp"
#include "transport/network.hpp"

namespace atl::engine {

/// What all ranks of the machine map: their doorbells, since the pages of other simulated hosts are out of reach, and
/// behind them the network's own memory.
class simulated_machine {
 public:
  /// Collective over the machine. Throws startup_error.
  explicit simulated_machine(bootstrap::channel& channel);
  ~simulated_machine();
  simulated_machine(simulated_machine const&) = delete;
  simulated_machine& operator=(simulated_machine const&) = delete;

  /// Bell of the first rank of this host; those of the others of this host follow.
  [[nodiscard]] doorbell* bells_of_host() const noexcept { return bells_ + host_begin_; }
  /// The network; this object outlives it.
  std::unique_ptr<transport::network> open();

 private:
  static void wake(void* machine, std::int32_t rank);

  bootstrap::placement const& place_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  doorbell* bells_ = nullptr;  ///< by host, and then by local rank
  std::size_t host_begin_ = 0;
  std::vector<std::uint32_t> bell_of_;  ///< by world rank
};

}  // namespace atl::engine
