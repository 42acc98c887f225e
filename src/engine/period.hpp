#pragma once

/// What happens at the end of a period of the library.

#include <mutex>
#include <vector>

#include <atoll/engine/period.hpp>

#include "base/single.hpp"

namespace atl::engine {

/// What is to be called when the heap of this period ends: see call_at_end().
class calls_at_end final : public single<calls_at_end> {
 public:
  calls_at_end() : single(this) {}
  ~calls_at_end();

  void add(void (*function)());
  /// Does it (finalize, destroy_heap) and counts the heap's end; what is added meanwhile is for the next one.
  void run();

 private:
  std::mutex lock_;
  std::vector<void (*)()> functions_;
};

}  // namespace atl::engine
