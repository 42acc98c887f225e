#pragma once

/// Blocks that hold arrived messages: a record and, behind it, room for a payload of up to one ring message.
/// Free blocks are kept per thread, so taking and returning one is a few instructions.

#include <cstddef>
#include <cstdint>
#include <new>

#include <atoll/transport/message.hpp>

namespace atl::transport {

/// Room behind the record in each size class.
inline constexpr std::size_t pooled_room[] = {64, 256, 2048};

namespace pool {

/// Free blocks of one thread. Blocks may be returned on another thread than the one that took them.
struct free_lists {
  message* head[3];
  std::int32_t
      spare[3];  ///< how many more each list may take; 0 before the thread's first use and at its end
};
extern __attribute__((tls_model("initial-exec"))) constinit thread_local free_lists lists;

/// A block from the global allocator; null if the system has no memory.
message* try_new(int size_class) noexcept;
/// The same for what has arrived, which cannot be refused: ends the job instead.
message* take_new(int size_class) noexcept;
/// For a list that is full, or of a thread that has not used the pool yet.
void return_elsewhere(message* record) noexcept;

inline int class_of(std::size_t bytes) {
  return bytes <= pooled_room[0] ? 0 : bytes <= pooled_room[1] ? 1 : 2;
}

}  // namespace pool

/// A block of that class, whose record is still to be made.
inline void* take_block(int size_class) noexcept {
  message* const block = pool::lists.head[size_class];
  if (block == nullptr) [[unlikely]]
    return pool::take_new(size_class);
  pool::lists.head[size_class] = static_cast<message*>(block->next);
  ++pool::lists.spare[size_class];
  return block;
}

/// Room behind the record in a block.
inline std::byte* room_in(void* block) { return static_cast<std::byte*>(block) + buffer_alignment; }

/// Makes the record in a block of that class.
inline message* message_in(void* block, int size_class) noexcept {
  auto* const m = ::new (block) message;
  m->size_class = static_cast<std::uint8_t>(size_class);
  m->base = room_in(block);
  return m;
}

/// A record with room for `bytes` of payload behind it (0: none needed). `base` points to the room.
inline message* take_message(std::size_t bytes) noexcept {
  int const c = pool::class_of(bytes);
  return message_in(take_block(c), c);
}
/// The same for what is to leave; null if the system has no memory.
inline message* try_message(std::size_t bytes) noexcept {
  int const c = pool::class_of(bytes);
  void* const block = pool::lists.head[c] != nullptr ? take_block(c) : pool::try_new(c);
  return block != nullptr ? message_in(block, c) : nullptr;
}

inline void return_message(message* record) noexcept {
  int const c = record->size_class;
  if (pool::lists.spare[c] > 0) [[likely]] {
    record->next = pool::lists.head[c];
    pool::lists.head[c] = record;
    --pool::lists.spare[c];
  } else {
    pool::return_elsewhere(record);
  }
}

}  // namespace atl::transport
