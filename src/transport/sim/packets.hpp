#pragma once

/// What travels through the queues of the simulated network.
///
/// A packet is a message of the queue's ring: the ring's header names kind, sender and the sender's connection
/// (in the field for alignment); then a word, `token`; then a body. Where the network has a speed, the body is
/// preceded by the time at which the packet is there.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace atl::transport::sim {

/// token and body of each kind; 64 bits each, unless another number is named.
enum class kind : std::uint8_t {
  padding = 1,     ///< the ring's
  message,         ///< sizes | header (padded to 8 bytes), payload
  message_packet,  ///< sizes | packet
  message_part,    ///< sizes | packet, number of the message, place of the part in it, bytes
  message_late,    ///< sizes (payload: 0) | operation, bytes, header
  put,             ///< operation, key | offset, data
  put_packet,      ///< operation, key | offset, packet, bytes
  put_tagged,      ///< operation, key | offset, tag, data
  get,             ///< operation, key | offset, bytes, place in the operation
  data,            ///< operation, outcome | place, data
  data_packet,     ///< operation, outcome | place, packet, bytes
  no_data,         ///< operation, outcome | bytes that will not come
  atomic,          ///< operation, key | offset, code, operands
  answer,          ///< operation, outcome | value
  flush,           ///< operation | puts before it
  notify,          ///< nothing, key | offset, bytes, tag, puts before it
  fetch,           ///< operation of the fetching rank, that of the message
  give_up,         ///< nothing, operation of the message
  connect,         ///<
  accept,          ///< connection that is accepted
  refuse,          ///< connection that is refused
  close,           ///< | messages in both lanes, and puts, sent since the beginning
  lost,            ///<
};

constexpr bool of_connection(kind what) { return what >= kind::connect; }
constexpr bool of_message(kind what) { return what >= kind::message && what <= kind::message_late; }

/// What says that the puts before it have landed, and what those are. All go through one queue, in order.
constexpr bool speaks_of_puts(kind what) { return what == kind::flush || what == kind::notify; }
constexpr bool of_put(kind what) {
  return (what >= kind::put && what <= kind::put_tagged) || what == kind::atomic;
}

inline constexpr std::uint32_t no_operation = 0xffffffff;
/// Bit of an offset: the key must not miss by chance.
inline constexpr std::uint64_t sure_offset = std::uint64_t{1} << 63;

constexpr std::uint64_t two(std::uint32_t low, std::uint32_t high) { return low | std::uint64_t{high} << 32; }
constexpr std::uint32_t low(std::uint64_t token) { return static_cast<std::uint32_t>(token); }
constexpr std::uint32_t high(std::uint64_t token) { return static_cast<std::uint32_t>(token >> 32); }

/// Lengths of a message's header and payload, and how many puts its sender had sent before it (all bits that
/// there is room for), in one word.
constexpr std::uint64_t message_token(std::size_t header, std::size_t payload, std::uint64_t puts) {
  return header | std::uint64_t{payload} << 8 | puts << 32;
}
inline constexpr std::size_t longest_eager = (std::size_t{1} << 24) - 1;
constexpr std::size_t header_of(std::uint64_t token) { return token & 0xff; }
constexpr std::size_t payload_of(std::uint64_t token) { return token >> 8 & longest_eager; }
constexpr std::uint32_t puts_of(std::uint64_t token) { return high(token); }
constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

/// The words of a body. They are copied: rings promise no more than bytes.
template <class... Words>
void write_words(std::byte* body, Words... words) {
  std::uint64_t const values[] = {static_cast<std::uint64_t>(words)...};
  std::memcpy(body, values, sizeof values);
}
inline std::uint64_t word(std::byte const* body, unsigned index) {
  std::uint64_t value = 0;
  std::memcpy(&value, body + 8 * index, 8);
  return value;
}
/// memcpy, also for nothing.
inline void copy_bytes(void* to, void const* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

/// The same, word by word: what was written in words just now can be read before it is in the cache, wider pieces cannot. Small
/// numbers of words without a loop.
[[gnu::always_inline]] inline void copy_by_words(std::byte* to, std::byte const* from, std::size_t bytes) {
  auto const copy = [&](std::size_t at) {
    std::uint64_t each = word(from + at, 0);
    asm("" : "+r"(each));  // compilers would join them
    std::memcpy(to + at, &each, 8);
  };
  if (bytes == 16) {  // headers of the engine's messages, and answers
    copy(0);
    copy(8);
  } else if (bytes == 32) {  // short puts
    copy(0);
    copy(8);
    copy(16);
    copy(24);
  } else {
    std::size_t const whole = bytes & ~std::size_t{7};
    for (std::size_t at = 0; at < whole; at += 8) copy(at);
    if (whole != bytes) std::memcpy(to + whole, from + whole, bytes - whole);
  }
}

/// A packet that has arrived. The body lies in the ring, or in `kept` for one that had to wait.
struct packet {
  std::int32_t source = -1;
  std::uint8_t where = 0;  ///< queue
  sim::kind kind = kind::padding;
  std::uint8_t connection = 0;  ///< the sender's, modulo 256
  std::uint64_t token = 0;
  std::byte* body = nullptr;
  std::size_t bytes = 0;
};

struct held_packet : packet {
  std::uint64_t due = 0;  ///< time from which it is there
  unsigned polls = 0;     ///< for which it is kept back
  std::unique_ptr<std::byte[]> kept;
};

/// A packet that found no room, in the memory of its sender.
struct parked_packet {
  sim::kind kind;
  std::uint8_t connection;
  std::uint64_t token;
  std::size_t bytes;  ///< of the body
  std::size_t moved;  ///< bytes that it stands for, for the network's speed
  std::unique_ptr<std::byte[]> body;
  std::uint32_t operation = no_operation;  ///< that waits for it to leave
};

}  // namespace atl::transport::sim
