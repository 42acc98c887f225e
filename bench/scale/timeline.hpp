#pragma once

/// Virtual time: what happens when, and which rank it happens to.

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "scale/costs.hpp"

namespace atl::scale {

struct occurrence {
  picoseconds time;
  std::uint64_t order;  ///< of its making: decides between equal times
  std::int32_t rank;
  std::int32_t depth;  ///< steps between hosts that led to it
  void* what;          ///< null: a line that was published may be of interest
  bool from_network;

  bool operator>(occurrence const& o) const { return time != o.time ? time > o.time : order > o.order; }
};

class timeline {
 public:
  void add(picoseconds time, std::int32_t rank, std::int32_t depth, void* what, bool from_network) {
    queue_.push({time, made_++, rank, depth, what, from_network});
  }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  occurrence next() {
    occurrence const first = queue_.top();
    queue_.pop();
    return first;
  }

 private:
  std::priority_queue<occurrence, std::vector<occurrence>, std::greater<>> queue_;
  std::uint64_t made_ = 0;
};

}  // namespace atl::scale
