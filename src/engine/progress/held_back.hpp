#pragma once

/// Calls that arrived and do not run yet, since their senders have not taken the answers to earlier ones.
///
/// An answer is never refused memory. What bounds it instead: a rank runs no more calls of an initiator while
/// the answers that it keeps for it take more of the limit than is left for others, at most half for all together.
/// Calls of other ranks go on, and so do those held back as soon as answers have left.

#include <cstddef>
#include <deque>

#include <atoll/transport/message.hpp>

#include "engine/network/network_messages.hpp"
#include "engine/progress/work.hpp"
#include "transport/shm/endpoint.hpp"

namespace atl::engine {

/// Under the engine's lock.
class held_back_calls final : public work_source {
 public:
  held_back_calls(shm::endpoint& transport, network_messages* network, open_work& all)
      : work_source(all, ending::rings), shm_(transport), network_(network) {}
  ~held_back_calls() override {
    for (transport::message* m : calls_) shm_.release(m);
  }

  /// Must calls of that rank wait?
  [[nodiscard]] bool must_wait(std::int32_t source) const noexcept {
    constexpr auto way = transport::lane::control;
    std::size_t answers = shm_.private_bytes_on(way);
    if (network_ != nullptr) answers += network_->private_bytes_on(way);
    if (answers == 0) [[likely]]
      return false;
    std::size_t const most = shm_.memory().limit() / 2;
    std::size_t const its =
        shm_.reaches(source) ? shm_.private_bytes_for(source, way) : network_->private_bytes_for(source, way);
    return its != 0 && (answers >= most || its > most - answers);
  }
  /// Keeps a call.
  void add(transport::message* m) {
    full_ = !shm_.charge(m);
    calls_.push_back(m);
    count(1);
  }
  /// One that need not wait any more, or null.
  transport::message* take() {
    for (auto it = calls_.begin(); it != calls_.end(); ++it) {
      if (must_wait((*it)->source)) continue;
      transport::message* const m = *it;
      calls_.erase(it);
      count(-1);
      full_ = false;
      return m;
    }
    return nullptr;
  }
  /// There is no memory for more: further ones stay where they are.
  [[nodiscard]] bool full() const noexcept { return full_; }

 private:
  bool advance() override { return false; }  // user-level progress takes them

  shm::endpoint& shm_;
  network_messages* network_;
  std::deque<transport::message*> calls_;
  bool full_ = false;
};

}  // namespace atl::engine
