#pragma once

/// What a rank calls when kernels tell it something.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/engine/period.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::device {

/// By the number that kernels give. A call may give another one for its own number; one thread may give some while another makes them.
/// Notices on their way keep all of them, so that none is lost where the team ends first.
class notice_handlers {
 public:
  using call = std::function<void(std::int32_t, std::uint64_t)>;

  void set(std::uint32_t number, call wanted) {
    // What was there before goes when the lock has been given back: its end may be the program's code.
    auto made = std::make_shared<call const>(std::move(wanted));
    std::lock_guard const held(lock_);
    known_[number].swap(made);
  }
  void run(std::int32_t from, std::uint32_t number, std::uint64_t argument) const {
    if (engine::periods_ended() != period_) return;  // the library has ended, and its teams
    std::shared_ptr<call const> found;
    {
      std::lock_guard const held(lock_);
      if (auto const known = known_.find(number); known != known_.end()) found = known->second;
    }
    if (found == nullptr) {
      check_failed(
          "device_team: a kernel of rank %d calls notify() with the number %u, for which on_notice() was given nothing here",
          from, number);
    }
    (*found)(from, argument);
  }

 private:
  std::uint64_t period_ = engine::periods_ended();
  mutable std::mutex lock_;
  std::unordered_map<std::uint32_t, std::shared_ptr<call const>> known_;
};

}  // namespace atl::inline UPCXX_MODE::device
