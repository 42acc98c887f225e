#pragma once

/// Memory on a device, whoever allocates it: the communication library, which can copy it between ranks, or
/// the device's own run time.

#include <cstdint>
#include <string>

#include "problem/decomposition.hpp"

namespace heat3d {

/// Memory on one device. Pointers are addresses on the device, which the host must not follow. All of it is
/// freed by the destructor, which is collective where the communication library allocated.
class device_memory {
 public:
  virtual ~device_memory() = default;
  device_memory(device_memory const&) = delete;
  device_memory& operator=(device_memory const&) = delete;

  /// Number of the device in this process.
  virtual int device() const = 0;
  /// What it is called, and what tells it from every other device.
  virtual std::string name() const = 0;
  virtual std::string uuid() const = 0;
  /// `n` doubles. Throws std::bad_alloc.
  virtual double* allocate(std::int64_t n) = 0;
  /// Start copies in and out.
  virtual void put(double* device, double const* host, std::int64_t n) = 0;
  virtual void get(double* host, double const* device, std::int64_t n) = 0;
  /// Returns when the copies so far are complete.
  virtual void finish() = 0;

 protected:
  device_memory() = default;
};

/// Bytes that a back end on a device and any exchange allocate for a block: two fields, and four buffers per
/// neighbour that the exchange or the back end owns.
std::uint64_t device_bytes(block const& own);

}  // namespace heat3d
