#pragma once

/// Memory of small objects that come and go with each operation: taken from the system in lots, and given back at the end.

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace atl::transport {

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

}  // namespace atl::transport
