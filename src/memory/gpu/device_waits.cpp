#include "memory/gpu/device_waits.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/os/signals_are_for_others.hpp"

namespace atl::memory::gpu {

struct device_waits::one {
  std::uint64_t number = 0;
  std::atomic<bool> over{false};
  std::thread waiter;
  ~one() {
    if (waiter.joinable()) waiter.join();
  }
};

device_waits::device_waits() = default;
device_waits::~device_waits() = default;

std::uint64_t device_waits::begin(std::function<bool()> wait_for_all) {
  all_.push_back(std::make_unique<one>());
  one& made = *all_.back();
  made.number = ++last_;
  os::signals_are_for_others const masked;
  made.waiter = std::thread([&made, wait = std::move(wait_for_all)] {
    if (!wait()) {
      warn(
          "device",
          "a segment ends while the program captures a stream into a graph: that capture is lost, and kernels may run that use the segment. "
          "End captures before segments");
    }
    made.over.store(true, std::memory_order_release);
  });
  return made.number;
}

bool device_waits::has_ended(std::uint64_t number) {
  auto const found =
      std::find_if(all_.begin(), all_.end(), [number](auto const& each) { return each->number == number; });
  if (found == all_.end()) return true;
  if (!(*found)->over.load(std::memory_order_acquire)) return false;
  all_.erase(found);
  return true;
}

}  // namespace atl::memory::gpu
