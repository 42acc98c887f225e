#pragma once

/// A segment in GPU memory, own or a peer's, which devices of this process reach it, and copies between what a device reaches.

#include <cstdint>

#include "memory/gpu/driver.hpp"
#include "memory/kind.hpp"
#include "memory/pinned_ranges.hpp"

namespace atl::memory::gpu {

class gpu_segment final : public device_segment {
 public:
  /// Own memory.
  gpu_segment(driver& with, block memory)
      : device_segment(memory.base, memory.bytes),
        driver_(with),
        memory_(memory),
        home_(memory.device),
        granted_(bit(memory.device)) {}
  /// A peer's, which names it by the addresses from `base`.
  /// `home`: the device here that it lies on, or negative if this process does not see that.
  gpu_segment(driver& with, block memory, std::uint64_t base, std::uint64_t bytes, int home)
      : device_segment(base, bytes),
        driver_(with),
        memory_(memory),
        own_(false),
        home_(home),
        granted_(bit(memory.device)) {}
  ~gpu_segment() override { driver_.drop(memory_); }

  [[nodiscard]] bool ends_at_once() const noexcept override { return memory_.from != block::origin::plain; }
  [[nodiscard]] block const& memory() const noexcept { return memory_; }
  [[nodiscard]] bool own() const noexcept { return own_; }
  /// Own: where it lies. A peer's: the device it was imported through.
  [[nodiscard]] int device() const noexcept { return memory_.device; }
  /// Where it lies; negative: on a device that this process does not see.
  [[nodiscard]] int home() const noexcept { return home_; }
  /// Where an address of the owner's lies here.
  [[nodiscard]] address here(std::uint64_t owners) const noexcept { return memory_.base + (owners - base()); }

  /// Whether a device of this process can copy to and from it; asks the driver once.
  bool reachable_from(int device) const noexcept {
    if ((granted_ & bit(device)) != 0) [[likely]]
      return true;
    if ((refused_ & bit(device)) != 0) return false;
    (driver_.grant(memory_, device) ? granted_ : refused_) |= bit(device);
    return (granted_ & bit(device)) != 0;
  }

 private:
  static std::uint64_t bit(int device) noexcept { return std::uint64_t{1} << (device & 63); }

  driver& driver_;
  mutable block memory_;
  bool own_ = true;
  int home_;
  mutable std::uint64_t granted_;
  mutable std::uint64_t refused_ = 0;
};

/// Of one end of a copy; null: host memory.
inline gpu_segment const* segment_of(copy_end end) noexcept {
  return static_cast<gpu_segment const*>(end.segment);
}

/// Where devices of this process find it.
inline address place_of(copy_end end) noexcept {
  return end.segment == nullptr ? end.address : segment_of(end)->here(end.address);
}

/// Starts a copy on a stream of `device`, which reaches both ends, the host's in parts if it crosses borders of what is `pinned`.
inline void copy_directly(driver& with, pinned_ranges& pinned, int device, stream s, copy_end to,
                          copy_end from, std::size_t bytes) {
  address const target = place_of(to);
  address const source = place_of(from);
  if (pinned.empty() || (to.segment != nullptr && from.segment != nullptr)) {
    with.copy(device, s, target, source, bytes);
    return;
  }
  // No range is at addresses of devices, so what lies there is one part.
  pinned.for_each_part(target, bytes, [&](pinned_ranges::part in_target, std::size_t offset) {
    pinned.for_each_part(
        source + offset, in_target.bytes, [&](pinned_ranges::part in_both, std::size_t more) {
          with.copy(device, s, target + offset + more, source + offset + more, in_both.bytes);
        });
  });
}

}  // namespace atl::memory::gpu
