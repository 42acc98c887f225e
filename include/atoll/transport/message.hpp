#pragma once

/// Messages as transports move them, and buffers between begin and commit.

#include <bit>
#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>

namespace atl::transport {

/// Bytes at the start of every buffer that belong to the transport. Positions count from the buffer's start.
inline constexpr std::size_t header_bytes = 16;
/// Buffers are aligned to this, or to more where the sender asked for it: arrived ones, and all but the network's own while
/// they are written.
inline constexpr std::size_t buffer_alignment = 64;

/// Work queued for a persona: run once, by the thread that makes user-level progress for it.
/// `run` owns the task.
struct task {
  task* next = nullptr;
  void (*run)(task*) = nullptr;
};

/// Where a buffer or a message's payload lives.
enum class storage : std::uint8_t {
  ring,        ///< a reserved place in the target's ring (outgoing); a pooled copy of it (arrived)
  arena,       ///< the sender's transit memory, which the target reads in place
  privately,   ///< private memory
  network,     ///< private memory, on the way to another host (outgoing)
  in_network,  ///< a buffer of the network's (outgoing)
};

/// The two lanes of messages to a rank. What is on one is never behind what is on the other.
enum class lane : std::uint8_t {
  request,  ///< calls of the program: wait where they are while the target has no memory for them
  control,  ///< answers, and what the engine says to itself: always taken in
};

inline constexpr std::size_t lanes = 2;
constexpr std::size_t index_of(lane way) noexcept { return static_cast<std::size_t>(way); }

/// What a message is for.
enum class message_kind : std::uint8_t {
  padding = 1,  ///< fills the end of a ring, or a cancelled send
  active,       ///< handler runs as soon as the message is seen, at any progress level
  request,      ///< runs in user-level progress of the target's master persona
  announced,    ///< a request that waits for data which announces itself (arrivals.cpp)
  reply,        ///< goes to the persona named by the initiator's record in the first payload word
  in_arena,     ///< descriptor of a payload in the sender's arena
  rendezvous,   ///< descriptor of a payload in the sender's private memory
  fragment,     ///< descriptor of a piece of a payload too large for the arena
};

constexpr lane lane_of(message_kind kind) noexcept {
  return kind == message_kind::request || kind == message_kind::announced ? lane::request : lane::control;
}

/// An arrived message. Its payload stays at its address until the message is released.
struct message : task {
  std::byte* base = nullptr;  ///< aligned start of the buffer; the payload begins at base + header_bytes
  std::size_t bytes = 0;      ///< header included
  std::uint64_t token = 0;    ///< function to run
  std::int32_t source = -1;   ///< world rank of the sender; of the target before it is sent
  message_kind kind = message_kind::padding;
  storage where = storage::ring;
  std::uint8_t size_class = 0;  ///< of the pooled block that holds this record
  bool charged = false;         ///< counted against the limit of private memory
  bool owes_credit = false;     ///< its sender is told when the program has it
  bool growing = false;         ///< its sender may still be writing the payload (growing.hpp)
  bool more = false;         ///< another was behind it when it was taken: look for that before anything else
  std::uint32_t period = 0;  ///< of the library, in which it arrived

  std::byte* payload() const { return base + header_bytes; }
};
static_assert(sizeof(message) <= buffer_alignment);

/// A buffer between begin and commit.
struct outgoing {
  std::byte* begin = nullptr;  ///< start; the transport writes the first header_bytes
  std::size_t capacity = 0;    ///< header included
  std::int32_t target = -1;    ///< world rank
  lane way = lane::control;
  storage where = storage::ring;
  std::uint8_t cells = 0;
  std::uint8_t alignment_log2 = 6;
  std::uint64_t position = 0;  ///< where == ring: reserved position; arena: offset of the block

  void align_to(std::size_t alignment) noexcept {
    alignment_log2 = static_cast<std::uint8_t>(std::countr_zero(alignment));
  }
};

/// May a buffer be taken from private memory when the transport has no room?
enum class spill : std::uint8_t {
  never,      ///< no: the caller will try again
  bounded,    ///< while little is spilled, and little of that for this target
  limited,    ///< as long as the limit of private memory allows
  unlimited,  ///< whatever the limit
};

enum class [[nodiscard]] status : std::uint8_t{ok, no_room, no_memory};

}  // namespace atl::transport
