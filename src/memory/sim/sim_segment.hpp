#pragma once

/// Simulated device memory: host memory at addresses that nobody can load from or store to.

#include <cstddef>
#include <cstdint>

#include "base/os/unique_fd.hpp"
#include "memory/kind.hpp"

namespace atl::memory::sim {

/// A memory object that copies reach through an alias mapping, while the addresses that programs know are
/// reserved without access, so that a forgotten copy() is a fault here as it is with a device.
class sim_segment final : public device_segment {
 public:
  /// New memory. Throws segment_error.
  explicit sim_segment(std::uint64_t bytes);
  /// Memory of the caller, whole pages: it turns into device memory, with its content, and back when the
  /// segment ends. Throws segment_error.
  sim_segment(void* memory, std::uint64_t bytes);
  /// A peer's, behind the descriptor that the peer exported. Throws segment_error.
  sim_segment(os::unique_fd descriptor, std::uint64_t base, std::uint64_t bytes);
  ~sim_segment() override;

  /// Where an address of the owner's lies here.
  [[nodiscard]] std::byte* alias(std::uint64_t address) const noexcept { return alias_ + (address - base()); }
  /// Of this process.
  [[nodiscard]] bool own() const noexcept { return from_ != origin::imported; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }

  void flush() const noexcept { ++flushes_; }
  /// So often what a network has written was flushed; for tests.
  [[nodiscard]] std::uint64_t flushes() const noexcept { return flushes_; }

  /// Where these bytes of a segment of this process can be read and written, as network cards read and write devices;
  /// null if they are in none.
  static std::byte* reach(void* begin, std::size_t bytes) noexcept;

 private:
  enum class origin { created, wrapped, imported };

  sim_segment(std::uint64_t bytes, os::unique_fd pages);
  sim_segment(std::uint64_t base, std::uint64_t bytes, os::unique_fd descriptor, origin from);

  os::unique_fd descriptor_;
  origin from_;
  std::byte* alias_;
  mutable std::uint64_t flushes_ = 0;
};

/// Where this process reaches it.
inline std::byte* place_of(copy_end end) noexcept {
  if (end.segment == nullptr) return reinterpret_cast<std::byte*>(end.address);
  return static_cast<sim_segment const*>(end.segment)->alias(end.address);
}

}  // namespace atl::memory::sim
