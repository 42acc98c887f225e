#pragma once

/// Queue of objects that are chained by their own `next`, and belong to whoever queues them.

namespace atl::transport {

template <class T>
struct fifo {
  T* first = nullptr;
  T* last = nullptr;

  [[nodiscard]] bool empty() const noexcept { return first == nullptr; }
  void push(T* item) noexcept {
    item->next = nullptr;
    if (last == nullptr) {
      first = item;
    } else {
      last->next = item;
    }
    last = item;
  }
  /// Before all others.
  void push_first(T* item) noexcept {
    item->next = first;
    first = item;
    if (last == nullptr) last = item;
  }
  /// The front one, which is the caller's now.
  T* pop() noexcept {
    T* const item = first;
    first = static_cast<T*>(item->next);
    if (first == nullptr) last = nullptr;
    item->next = nullptr;
    return item;
  }
};

}  // namespace atl::transport
