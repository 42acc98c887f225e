#pragma once

/// Memory of a rank's device, as the library allocates and copies it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <upcxx/upcxx.hpp>

#include "backends/device_memory.hpp"

namespace heat3d {

using gpu = upcxx::gpu_default_device;  // a simulated one has this kind as well

/// A segment on a device of this rank.
class segment final : public device_memory {
 public:
  /// Collective. Throws failure.
  explicit segment(std::uint64_t bytes);
  ~segment() override { allocator_.destroy(); }

  int device() const override { return allocator_.device_id(); }
  std::string name() const override;
  std::string uuid() const override { return gpu::uuid(device()); }
  double* allocate(std::int64_t n) override;
  void put(double* device, double const* host, std::int64_t n) override;
  void get(double* host, double const* device, std::int64_t n) override;
  void finish() override;
  std::unique_ptr<device_stream> make_stream() override;

  upcxx::device_allocator<gpu>& allocator() { return allocator_; }
  upcxx::global_ptr<double, gpu::kind> global(double const* p) const {
    return allocator_.to_global_ptr(const_cast<double*>(p));
  }

 private:
  upcxx::device_allocator<gpu> allocator_;
  std::optional<upcxx::promise<>> copies_{std::in_place};
};

}  // namespace heat3d
