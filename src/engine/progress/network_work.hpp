#pragma once

/// The network between hosts, as work that progress looks after for as long as the job runs.

#include "engine/network/network_messages.hpp"
#include "engine/progress/work.hpp"

namespace atl::engine {

class network_work final : public work_source {
 public:
  /// `network` may be null: then there is nothing to do.
  network_work(network_messages* network, open_work& all)
      : work_source(all, ending::rings), network_(network) {
    if (network != nullptr) count(1);
  }

 private:
  bool advance() override { return network_->poll(); }

  network_messages* network_;
};

}  // namespace atl::engine
