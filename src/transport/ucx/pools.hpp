#pragma once

/// Memory of what is sent, kept for reuse.

#include <cstddef>
#include <new>

#include "transport/object_pool.hpp"
#include "transport/ucx/peer.hpp"

namespace atl::transport::ucx {

/// Blocks of two sizes.
class block_pool {
 public:
  /// Of any block: the wire's header and the longest one of a message.
  static constexpr std::size_t headers = sizeof(wire) + 256;
  static constexpr std::size_t small = 2048;
  static constexpr std::size_t large = 8192;

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

  /// With room for a payload of so many bytes, `large` at most, behind the headers.
  block* take(std::size_t payload) {
    std::size_t const room = headers + (payload <= small ? small : large);
    block*& list = free_[payload <= small ? 0 : 1];
    if (list == nullptr) return new (::operator new(sizeof(block) + room)) block{nullptr, room};
    block* const taken = list;
    list = taken->next;
    return taken;
  }
  void give(block* b) noexcept {
    block*& list = free_[b->room == headers + small ? 0 : 1];
    b->next = list;
    list = b;
  }

 private:
  block* free_[2]{};
};

}  // namespace atl::transport::ucx
