#pragma once

/// What a test may ask of the fake driver beyond the driver's own interface: counts of calls and of things
/// that were made and not ended, and to stop the devices. A test finds it by dlsym of "fake_cuda".

#include <atomic>
#include <cstdint>

namespace fake_cuda {

struct control {
  // Calls that were accepted.
  std::atomic<std::uint64_t> copies{0};
  std::atomic<std::uint64_t> peer_copies{0};
  std::atomic<std::uint64_t> batches{0};  ///< of which each counts as its copies, too
  std::atomic<std::uint64_t> kernels{0};
  std::atomic<std::uint64_t> additions{0};   ///< by kernels or by themselves
  std::atomic<std::uint64_t> operations{0};  ///< calls with several on words
  std::atomic<std::uint64_t> writes{0};
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> queries{0};  ///< of events
  std::atomic<std::uint64_t> flushes{0};
  std::atomic<std::uint64_t> attributes{0};    ///< of devices
  std::atomic<std::uint64_t> for_networks{0};  ///< memory objects that adapters may reach
  std::atomic<int> contexts_ever{0};           ///< primary contexts that were opened
  // What there is now in this process.
  std::atomic<int> contexts{0};  ///< primary contexts that are retained
  std::atomic<int> streams{0};
  std::atomic<int> events{0};
  std::atomic<int> reservations{0};
  std::atomic<int> mappings{0};
  std::atomic<int> objects{0};  ///< memory objects of cuMemCreate, cuMemImport… and cuMemAlloc
  std::atomic<int> registrations{0};
  std::atomic<int> modules{0};
  std::atomic<int> user_objects{0};

  /// Stops all devices of this process before the next thing on their streams, or lets them go on.
  void (*hold)(bool stop) = nullptr;
  /// The same for kernels that copy boxes alone: as if others left them no room on their device.
  void (*hold_boxes)(bool stop) = nullptr;
  /// Lets the next cuInit read FAKE_CUDA and CUDA_VISIBLE_DEVICES again. Nothing may be left of the last one.
  void (*restart)() = nullptr;
};

/// Exported as "fake_cuda".
using get_control = control*();

}  // namespace fake_cuda
