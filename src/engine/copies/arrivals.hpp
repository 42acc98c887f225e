#pragma once

/// Calls that travel ahead of the data they are for. The initiator sends them when it starts the copy; its
/// device writes the data and then a word of the initiator's region, which the target reads. The initiator's
/// processor is not needed for that.

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include <atoll/transport/message.hpp>

#include "engine/progress/work.hpp"

namespace atl::engine {

/// Calls here whose data has not arrived. Under the engine's lock.
class arrivals {
 public:
  /// Counts what is kept as part of `work`.
  explicit arrivals(work_source& work) : work_(work) {}

  /// Keeps a call until `word` is at least `value`; calls of one word are let go in order.
  void keep(std::atomic<std::uint64_t> const& word, std::uint64_t value, transport::message* call);
  /// Hands calls whose data is there to the message sink; true if any.
  bool let_go();

 private:
  struct announced_call {
    std::uint64_t value;
    transport::message* call;
  };
  /// Calls that wait for one word. A device writes growing numbers there.
  struct word_queue {
    std::atomic<std::uint64_t> const* word;
    std::deque<announced_call> calls;
  };
  word_queue& queue_of(std::atomic<std::uint64_t> const& word);

  work_source& work_;
  std::vector<word_queue> queues_;
};

}  // namespace atl::engine
