#include "engine/period.hpp"

#include <atomic>
#include <mutex>
#include <vector>

namespace atl::engine {

namespace {
/// Relaxed: read between periods or heaps, which threads of the program keep apart.
constinit std::atomic<std::uint64_t> ended{0};
constinit std::atomic<std::uint64_t> heaps{0};
}  // namespace

calls_at_end::~calls_at_end() { ended.fetch_add(1, std::memory_order_relaxed); }

void calls_at_end::add(void (*function)()) {
  std::lock_guard const held(lock_);
  functions_.push_back(function);
}

void calls_at_end::run() {
  std::vector<void (*)()> functions;
  {
    std::lock_guard const held(lock_);
    functions.swap(functions_);
  }
  for (auto* const function : functions) function();
  heaps.fetch_add(1, std::memory_order_relaxed);
}

void call_at_end(void (*function)()) { calls_at_end::here().add(function); }

std::uint64_t periods_ended() noexcept { return ended.load(std::memory_order_relaxed); }
std::uint64_t heaps_ended() noexcept { return heaps.load(std::memory_order_relaxed); }

}  // namespace atl::engine
