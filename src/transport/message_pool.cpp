#include "transport/message_pool.hpp"

#include <cstdlib>
#include <new>

namespace atl::transport {
namespace {

constexpr int classes = 3;
constexpr int longest_list[classes] = {4096, 512, 128};

/// Free blocks of one thread. Blocks may be freed on another thread than the one that took them.
struct free_lists {
  message* head[classes] = {};
  int length[classes] = {};

  ~free_lists() {
    for (int c = 0; c < classes; ++c) {
      while (head[c] != nullptr) {
        message* const block = head[c];
        head[c] = static_cast<message*>(block->next);
        std::free(block);
      }
      length[c] = longest_list[c];  // later frees on this thread go to the global allocator
    }
  }
};

thread_local free_lists lists;

int class_of(std::size_t bytes) { return bytes <= pooled_room[0] ? 0 : bytes <= pooled_room[1] ? 1 : 2; }

}  // namespace

message* take_message(std::size_t bytes) {
  int const c = class_of(bytes);
  message* block = lists.head[c];
  if (block != nullptr) [[likely]] {
    lists.head[c] = static_cast<message*>(block->next);
    --lists.length[c];
  } else {
    block = static_cast<message*>(std::aligned_alloc(buffer_alignment, buffer_alignment + pooled_room[c]));
    if (block == nullptr) throw std::bad_alloc();
  }
  ::new (block) message;
  block->size_class = static_cast<std::uint8_t>(c);
  block->base = reinterpret_cast<std::byte*>(block) + buffer_alignment;
  return block;
}

void return_message(message* record) noexcept {
  int const c = record->size_class;
  if (lists.length[c] < longest_list[c]) [[likely]] {
    record->next = lists.head[c];
    lists.head[c] = record;
    ++lists.length[c];
  } else {
    std::free(record);
  }
}

}  // namespace atl::transport
