#include "engine/collectives/block_row.hpp"

#include <algorithm>
#include <cstring>

namespace atl::engine {

void block_order::add(std::int32_t place, std::int32_t count) {
  auto const at = static_cast<std::uint32_t>(place);
  auto const more = static_cast<std::uint32_t>(count);
  if (!runs_.empty() && runs_.back().place + runs_.back().count == at) {
    runs_.back().count += more;
  } else {
    runs_.push_back({size_, at, more});
  }
  size_ += more;
}

block_order::run const* block_order::find(std::size_t index) const {
  auto const next = std::upper_bound(runs_.begin(), runs_.end(), index,
                                     [](std::size_t i, run const& r) { return i < r.begin; });
  return &*(next - 1);
}

std::byte const* row_view::in_one_piece(std::size_t at, std::size_t bytes) const {
  if (order_ == nullptr || bytes == 0) return data_ + (bytes == 0 ? 0 : at);
  std::size_t const begin = skipped_ + at;
  auto const& r = *order_->find(begin / block_);
  std::size_t const in_run = begin - r.begin * block_;
  return in_run + bytes <= r.count * block_ ? data_ + r.place * block_ + in_run : nullptr;
}

void row_view::copy_out(std::size_t at, std::byte* to, std::size_t bytes) const {
  each_piece(at, bytes, [&](std::byte const* data, std::size_t offset, std::size_t piece) {
    std::memcpy(to + offset, data, piece);
  });
}

void row_view::copy_in(std::size_t at, std::byte const* from, std::size_t bytes) const {
  each_piece(at, bytes, [&](std::byte* data, std::size_t offset, std::size_t piece) {
    std::memcpy(data, from + offset, piece);
  });
}

void row_view::copy_from(row_view const& other, std::size_t bytes) const {
  other.each_piece(0, bytes, [&](std::byte const* data, std::size_t offset, std::size_t piece) {
    copy_in(offset, data, piece);
  });
}

}  // namespace atl::engine
