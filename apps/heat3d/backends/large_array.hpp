#pragma once

/// Memory for fields: aligned, zeroed, and in huge pages where the system has them, because a stencil walks
/// seven streams through it and would otherwise spend its time on page tables.

#include <cstddef>
#include <cstdint>

namespace heat3d {

/// Owns `size()` doubles, all zero at first.
class large_array {
 public:
  /// Throws std::bad_alloc.
  explicit large_array(std::int64_t size);
  ~large_array();
  large_array(large_array const&) = delete;
  large_array& operator=(large_array const&) = delete;

  double* data() { return data_; }
  double const* data() const { return data_; }
  std::int64_t size() const { return size_; }
  friend void swap(large_array& a, large_array& b) noexcept;

 private:
  double* data_ = nullptr;
  std::int64_t size_ = 0;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace heat3d
