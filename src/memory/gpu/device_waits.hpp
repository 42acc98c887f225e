#pragma once

/// Waiting for all that devices do for this process, which no driver can be asked about.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace atl::memory::gpu {

/// Each in a thread of its own: streams may wait for what only this process' progress brings.
class device_waits {
 public:
  device_waits();
  ~device_waits();
  device_waits(device_waits const&) = delete;
  device_waits& operator=(device_waits const&) = delete;

  /// `wait_for_all` is called in a thread; false if a driver did not wait since a stream is captured, of which a warning tells. Gives a
  /// number to ask with.
  std::uint64_t begin(std::function<bool()> wait_for_all);
  /// May not be asked again when it has.
  bool has_ended(std::uint64_t number);

 private:
  struct one;
  std::vector<std::unique_ptr<one>> all_;
  std::uint64_t last_ = 0;
};

}  // namespace atl::memory::gpu
