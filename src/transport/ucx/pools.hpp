#pragma once

/// Memory of what comes and goes with each operation: taken from the system in lots, and given back at the end.

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "transport/ucx/peer.hpp"

namespace atl::transport::ucx {

/// Objects that are as new when they are taken, and have a member `next`.
template <class T>
class object_pool {
 public:
  T* take() {
    if (free_ == nullptr) grow();
    T* const object = free_;
    free_ = object->next;
    return new (object) T{};
  }
  void give(T* object) noexcept {
    object->next = free_;
    free_ = object;
  }

 private:
  static constexpr std::size_t lot = 64;

  void grow() {
    lots_.push_back(std::make_unique<T[]>(lot));
    for (std::size_t i = 0; i < lot; ++i) give(&lots_.back()[i]);
  }

  T* free_ = nullptr;
  std::vector<std::unique_ptr<T[]>> lots_;
};

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
