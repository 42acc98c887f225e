#pragma once

/// The face of a transport: one endpoint per rank that moves messages. A transport never waits: when it has
/// no room it says so, and the engine decides whether to wait, to spill into private memory, or to give up.
///
/// The engine calls the shared-memory endpoint directly (its class is final, so the calls are not virtual)
/// and every other transport through this interface.

#include <cstdint>
#include <string_view>

#include <atoll/transport/message.hpp>

namespace atl::transport {

enum capability : std::uint32_t {
  in_place_payload = 1U << 0,  ///< arrived payloads may be used where the transport put them
  direct_access = 1U << 1,     ///< peers' segments are mapped: put and get are copies
  orders_put_before_message = 1U << 2,
};

class endpoint {
 public:
  virtual ~endpoint() = default;

  virtual std::string_view name() const = 0;
  virtual std::uint32_t capabilities() const = 0;
  /// Largest message (header included) that travels in one piece without a descriptor.
  virtual std::size_t eager_bytes() const = 0;

  /// Negotiates a buffer for a message of at most `bytes` (header included) to `out.target`.
  virtual status begin(outgoing& out, std::size_t bytes, std::size_t alignment, spill allowed) = 0;
  /// Sends `bytes` of the buffer. Always succeeds: what finds no room is parked, and sent by flush().
  virtual void commit(outgoing& out, message_kind kind, std::uint64_t token, std::size_t bytes) = 0;
  /// Gives the buffer back unsent.
  virtual void cancel(outgoing& out) noexcept = 0;

  /// Next arrived message, or null.
  /// With `in_place` false its payload no longer occupies memory of its sender.
  virtual message* receive(bool in_place) = 0;
  virtual void release(message* arrived) noexcept = 0;

  /// Sends what was parked; true if anything moved.
  virtual bool flush() = 0;
  /// Messages parked, or sent but still read from this rank's private memory.
  virtual std::size_t unsent() const = 0;
};

}  // namespace atl::transport
