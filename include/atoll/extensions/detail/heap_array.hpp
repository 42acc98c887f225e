#pragma once

/// Objects in the own shared heap, freed with their owner.

#include <cstddef>
#include <cstdint>
#include <utility>

#include <atoll/engine/period.hpp>
#include <upcxx/allocate.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// new_array and delete_array. Moves; empty by default, and after it was moved from. May outlive the heap, and the library.
template <class T>
class heap_array {
 public:
  heap_array() = default;
  explicit heap_array(std::size_t count) {
    if (count != 0) first_ = upcxx::new_array<T>(count);
  }
  heap_array(heap_array&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), heap_(other.heap_) {}
  heap_array& operator=(heap_array&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(heap_, other.heap_);
    return *this;
  }
  ~heap_array() {
    if (first_ && heap_ == atl::engine::heaps_ended()) upcxx::delete_array(first_);
  }
  upcxx::global_ptr<T> get() const { return first_; }

 private:
  upcxx::global_ptr<T> first_;
  std::uint64_t heap_ = atl::engine::heaps_ended();  ///< that it is in
};

}  // namespace atl::inline UPCXX_MODE::detail
