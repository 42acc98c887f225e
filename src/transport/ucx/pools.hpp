#pragma once

/// Memory of what is sent, kept for reuse.

#include <cstddef>
#include <new>

#include "transport/common/object_pool.hpp"
#include "transport/ucx/peer.hpp"

namespace atl::transport::ucx {

/// Blocks of three sizes. Of the largest no more memory is touched than is used.
class block_pool {
 public:
  /// Of any block: the wire's header and the longest one of a message.
  static constexpr std::size_t headers = sizeof(wire) + longest_header;
  static constexpr std::size_t small = 2048;
  static constexpr std::size_t large = 8192;
  static constexpr std::size_t largest = std::size_t{512} << 10;

  block_pool() = default;
  block_pool(block_pool const&) = delete;
  block_pool& operator=(block_pool const&) = delete;
  ~block_pool() {
    for (block* list : free_) {
      while (list != nullptr) {
        block* const next = list->next;
        ::operator delete(list);
        list = next;
      }
    }
  }

  static bool is_largest(block const& b) noexcept { return b.room == headers + largest; }
  /// With room for a payload of so many bytes, `largest` at most, behind the headers.
  block* take(std::size_t payload) {
    std::size_t const room = headers + (payload <= small ? small : payload <= large ? large : largest);
    block*& list = list_of(room);
    if (list == nullptr) return new (::operator new(sizeof(block) + room)) block{nullptr, room};
    block* const taken = list;
    list = taken->next;
    return taken;
  }
  void give(block* b) noexcept {
    block*& list = list_of(b->room);
    b->next = list;
    list = b;
  }

 private:
  block*& list_of(std::size_t room) noexcept {
    return free_[room == headers + small ? 0 : room == headers + large ? 1 : 2];
  }

  block* free_[3]{};
};

}  // namespace atl::transport::ucx
