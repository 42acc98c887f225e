#pragma once

/// Blocks of members on their way. Those that go to one host, or come from one, travel together, as one array: a
/// *row*. At its ends they lie in the order of ranks, which is another one where the ranks of a host are not
/// consecutive.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace atl::engine {

/// The order of a row's blocks: places in the array that they lie in. Kept as runs of neighbours.
class block_order {
 public:
  struct run {
    std::uint32_t begin;  ///< in the row
    std::uint32_t place;
    std::uint32_t count;
  };

  /// Whose blocks come next.
  void add(std::int32_t place, std::int32_t count = 1);
  /// The run that has this block of the row.
  [[nodiscard]] run const* find(std::size_t index) const;

 private:
  std::vector<run> runs_;
  std::uint32_t size_ = 0;
};

/// Where the bytes of a row are: in one piece, or (with an order) as blocks of an array.
class row_view {
 public:
  row_view(void const* data) : data_(static_cast<std::byte*>(const_cast<void*>(data))) {}
  /// Of blocks of `block` bytes in `array`, those in this order, but for the first `skipped` bytes.
  row_view(void const* array, std::size_t block, block_order const& order, std::size_t skipped = 0)
      : row_view(array) {
    order_ = &order;
    block_ = block;
    skipped_ = skipped;
  }

  /// The bytes from `at` on, if they are in one piece; else null.
  [[nodiscard]] std::byte const* in_one_piece(std::size_t at, std::size_t bytes) const;
  void copy_out(std::size_t at, std::byte* to, std::size_t bytes) const;
  void copy_in(std::size_t at, std::byte const* from, std::size_t bytes) const;
  /// The first bytes of another row.
  void copy_from(row_view const& other, std::size_t bytes) const;

  /// Calls visit(data, offset, bytes) for each piece, the offset being from `at`.
  template <class Visit>
  void each_piece(std::size_t at, std::size_t bytes, Visit visit) const {
    if (bytes == 0) return;
    if (order_ == nullptr) return visit(data_ + at, std::size_t{0}, bytes);
    std::size_t const begin = skipped_ + at;
    auto const* r = order_->find(begin / block_);
    for (std::size_t done = 0; done < bytes; ++r) {
      std::size_t const in_run = begin + done - r->begin * block_;
      std::size_t const piece = std::min(r->count * block_ - in_run, bytes - done);
      visit(data_ + r->place * block_ + in_run, done, piece);
      done += piece;
    }
  }

 private:
  std::byte* data_;
  block_order const* order_ = nullptr;
  std::size_t block_ = 0;
  std::size_t skipped_ = 0;
};

}  // namespace atl::engine
