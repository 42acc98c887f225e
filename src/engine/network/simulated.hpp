#pragma once

/// The simulated network between simulated hosts, in memory that all ranks of the machine share.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "transport/network.hpp"
#include "transport/sim/options.hpp"

namespace atl::engine {

/// What all ranks of the machine map, and the descriptors by which the network wakes them.
class simulated_machine {
 public:
  /// Collective over the machine. Throws startup_error.
  explicit simulated_machine(bootstrap::channel& channel);
  ~simulated_machine();
  simulated_machine(simulated_machine const&) = delete;
  simulated_machine& operator=(simulated_machine const&) = delete;

  /// The network; this object outlives it.
  std::unique_ptr<transport::network> open();

 private:
  void map(bootstrap::channel& channel);

  bootstrap::placement const& place_;
  transport::sim::options how_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::int32_t event_;  ///< number of this rank's, or -1
  bool remote_fences_ = true;
};

}  // namespace atl::engine
