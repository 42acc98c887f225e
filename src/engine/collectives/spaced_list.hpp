#pragma once

/// Numbers by place, such as those of the hosts of a team. Mostly they are evenly spaced: then nothing is kept but the
/// first and the step, so that a team of many hosts costs no more than one of two.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace atl::engine {

class spaced_list {
 public:
  void push_back(std::int32_t number) {
    if (size_ == 0) first_ = number;
    if (size_ == 1) step_ = number - first_;
    if (table_.empty() && number != spaced(size_)) {
      table_.reserve(size_ + 1);
      for (std::size_t place = 0; place < size_; ++place) table_.push_back(spaced(place));
    }
    if (!table_.empty()) table_.push_back(number);
    ++size_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::int32_t operator[](std::size_t place) const noexcept {
    return table_.empty() ? spaced(place) : table_[place];
  }
  [[nodiscard]] std::int32_t largest() const noexcept {
    return table_.empty() ? std::max(first_, spaced(size_ - 1))
                          : *std::max_element(table_.begin(), table_.end());
  }
  /// Whether places can be computed from numbers.
  [[nodiscard]] bool ascends_evenly() const noexcept { return table_.empty() && step_ > 0; }
  /// Where a number is that is in the list; of those that ascend evenly.
  [[nodiscard]] std::int32_t place_of(std::int32_t number) const noexcept {
    return (number - first_) / step_;
  }

 private:
  [[nodiscard]] std::int32_t spaced(std::size_t place) const noexcept {
    return first_ + static_cast<std::int32_t>(place) * step_;
  }

  std::int32_t first_ = 0;
  std::int32_t step_ = 0;
  std::size_t size_ = 0;
  std::vector<std::int32_t> table_;  ///< empty: evenly spaced
};

}  // namespace atl::engine
