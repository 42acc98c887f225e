#pragma once

/// Memory on a device, whoever allocates it: the communication library, which can copy it between ranks, or
/// the device's own run time.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "problem/decomposition.hpp"

namespace heat3d {

/// A point in a stream that was passed or not.
class stream_point {
 public:
  virtual ~stream_point() = default;
  stream_point(stream_point const&) = delete;
  stream_point& operator=(stream_point const&) = delete;

  [[nodiscard]] virtual bool reached() const = 0;

 protected:
  stream_point() = default;
};

/// A stream of a simulated device, in which the host does what kernels do elsewhere. Nothing waits.
class device_stream {
 public:
  virtual ~device_stream() = default;
  device_stream(device_stream const&) = delete;
  device_stream& operator=(device_stream const&) = delete;

  /// For who else puts something into the stream.
  virtual void* native() = 0;
  /// At the end of the stream, whose turn poll() finds; the stream goes on when it is done.
  virtual void start(std::function<void()> work) = 0;
  /// The present end.
  virtual std::shared_ptr<stream_point const> end() = 0;
  /// What follows happens when a point of another stream was passed.
  virtual void wait(std::shared_ptr<stream_point const> const& point) = 0;
  /// Makes progress, and does the next work if the stream has come there.
  virtual void poll() = 0;

 protected:
  device_stream() = default;
};

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
  /// Only of simulated devices. Ends before this.
  virtual std::unique_ptr<device_stream> make_stream() { return nullptr; }

 protected:
  device_memory() = default;
};

/// Bytes that a back end on a device and any exchange allocate for a block: two fields, and four buffers per
/// neighbour that the exchange or the back end owns.
std::uint64_t device_bytes(block const& own);

}  // namespace heat3d
