#pragma once

#include <cstddef>
#include <vector>

#include "memory/gpu/driver.hpp"
#include "memory/gpu/no_room.hpp"

namespace atl::memory::gpu {

/// Events to be used again, by device.
class event_pool {
 public:
  explicit event_pool(driver& with) : driver_(with), spare_(static_cast<std::size_t>(with.device_n())) {}
  ~event_pool() {
    for (std::size_t i = 0; i < spare_.size(); ++i) {
      for (event const e : spare_[i]) driver_.drop_event(static_cast<int>(i), e);
    }
  }
  event_pool(event_pool const&) = delete;
  event_pool& operator=(event_pool const&) = delete;

  /// Or ends the job.
  event take(int device) {
    auto& spare = spare_[static_cast<std::size_t>(device)];
    if (spare.empty()) return make_event(driver_, device);
    event const e = spare.back();
    spare.pop_back();
    return e;
  }
  void give_back(int device, event e) { spare_[static_cast<std::size_t>(device)].push_back(e); }

 private:
  driver& driver_;
  std::vector<std::vector<event>> spare_;
};

}  // namespace atl::memory::gpu
