#include "transport/message_pool.hpp"

#include <cstdlib>

#include "base/error.hpp"

namespace atl::transport::pool {

constinit thread_local free_lists lists{};

namespace {

constexpr int classes = 3;
/// Of the smallest, what a flood of answers over TCP brings before the first of them is used: one read of a socket gives
/// thousands. Freed and taken from the system again they take as long as all else.
constexpr std::int32_t longest_list[classes] = {16384, 512, 128};

/// Opens the lists at a thread's first use, and frees what is in them at its end. Messages that are returned
/// later on that thread go to the global allocator.
struct owner {
  owner() {
    for (int c = 0; c < classes; ++c) lists.spare[c] = longest_list[c];
  }
  ~owner() {
    for (int c = 0; c < classes; ++c) {
      while (lists.head[c] != nullptr) {
        message* const block = lists.head[c];
        lists.head[c] = static_cast<message*>(block->next);
        std::free(block);
      }
      lists.spare[c] = 0;
    }
  }
};

}  // namespace

message* try_new(int size_class) noexcept {
  thread_local owner const own;
  return static_cast<message*>(
      std::aligned_alloc(buffer_alignment, buffer_alignment + pooled_room[size_class]));
}

message* take_new(int size_class) noexcept {
  message* const block = try_new(size_class);
  if (block == nullptr) {
    fatal(
        "messages",
        "the system has no memory for a message of up to %zu bytes that has arrived. Give the ranks more memory, or send less "
        "at a time.",
        pooled_room[size_class]);
  }
  return block;
}

void return_elsewhere(message* record) noexcept { std::free(record); }

}  // namespace atl::transport::pool
