#pragma once

/// Private memory of the program on its way to a device: through buffers that the device reads by itself, which is quicker than through a
/// driver's.

#include <array>
#include <cstddef>
#include <memory>

#include "memory/gpu/driver.hpp"
#include "memory/gpu/event_pool.hpp"
#include "memory/pinned_ranges.hpp"

namespace atl::memory::gpu {

class private_staging {
 public:
  /// Shorter copies are the driver's.
  static constexpr std::size_t least = std::size_t{64} << 10U;

  private_staging(driver& with, event_pool& events) : driver_(with), events_(events) {}
  ~private_staging();
  private_staging(private_staging const&) = delete;
  private_staging& operator=(private_staging const&) = delete;

  /// Gets the buffers, or else the driver does all: to get them later would wait for kernels, which may wait for just that.
  void prepare();
  /// Whether there are buffers, and a copy of so many bytes gains by them.
  [[nodiscard]] bool pays(std::size_t bytes) const noexcept { return memory_ != nullptr && bytes >= least; }
  /// Starts a copy on a stream of `device`, on which nothing waits for this process; the source may change when the call returns. What the device reaches directly, `pinned` by us or by others, is the driver's.
  void copy(int device, stream s, address to, address from, std::size_t bytes, pinned_ranges& pinned);

 private:
  static constexpr std::size_t buffers = 3;
  static constexpr std::size_t buffer_bytes = std::size_t{4} << 20U;
  static constexpr std::size_t last_piece_bytes = std::size_t{512} << 10U;

  struct buffer {
    event read = nullptr;  ///< by the device, when it has happened; null: nothing is to be read
    int device = 0;
    stream in;
  };

  /// The driver's calls for each piece take 5 to 8 us, so pieces are long; and shorter at the end, as nothing hides how long the last one takes
  /// to the device.
  static std::size_t next_piece(std::size_t left) noexcept;
  void copy_part(int device, stream s, address to, address from, std::size_t bytes);
  void wait_for(buffer& which);

  driver& driver_;
  event_pool& events_;
  struct deleter {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, deleter> memory_;
  bool tried_ = false;
  std::array<buffer, buffers> all_{};
  std::size_t next_ = 0;
};

}  // namespace atl::memory::gpu
