#pragma once

/// Private memory of the program that devices reach directly, and the copies that concern it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace atl::memory {

/// Ranges without a common byte. A driver takes host memory that is pinned as a whole, by one call, or not at all: what crosses a border
/// is copied in parts.
class pinned_ranges {
 public:
  /// A copy is over when the counter has reached the number.
  struct use {
    std::uint64_t const* over;
    std::uint64_t number;
  };
  struct range {
    std::size_t bytes;
    bool ours;              ///< else it is somebody else in the process who has pinned it
    std::vector<use> uses;  ///< the last of each counter
  };
  struct part {
    range* in;  ///< null: of none
    std::size_t bytes;
  };

  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  void add(std::uint64_t begin, std::size_t bytes, bool ours) { ranges_[begin] = {bytes, ours, {}}; }

  /// The first part of a piece of memory, which is in one range, or in none.
  [[nodiscard]] part first_part(std::uint64_t at, std::size_t bytes) noexcept {
    auto const next = ranges_.upper_bound(at);
    if (next != ranges_.begin()) {
      auto& [begin, last] = *std::prev(next);
      if (at - begin < last.bytes) return {&last, std::min<std::size_t>(bytes, begin + last.bytes - at)};
    }
    return {nullptr, next == ranges_.end() ? bytes : std::min<std::size_t>(bytes, next->first - at)};
  }
  /// Calls `f(part, offset)` for all of them.
  template <class F>
  void for_each_part(std::uint64_t at, std::size_t bytes, F&& f) {
    for (std::size_t offset = 0; offset < bytes;) {
      part const p = first_part(at + offset, bytes - offset);
      f(p, offset);
      offset += p.bytes;
    }
  }
  template <class F>
  void for_each(F&& f) const {
    for (auto const& [begin, each] : ranges_) f(begin, each);
  }
  [[nodiscard]] bool covers(std::uint64_t at, std::size_t bytes) {
    bool all = true;
    for_each_part(at, bytes, [&](part p, std::size_t) { all = all && p.in != nullptr; });
    return all;
  }

  /// A copy concerns the memory.
  void note(std::uint64_t at, std::size_t bytes, use last) {
    for_each_part(at, bytes, [&](part p, std::size_t) {
      if (p.in == nullptr) return;
      auto& uses = p.in->uses;
      auto const known = std::find_if(uses.begin(), uses.end(), [&](use u) { return u.over == last.over; });
      if (known == uses.end()) {
        uses.push_back(last);
      } else {
        known->number = last.number;
      }
    });
  }

  /// Takes the ranges away that begin there, unless copies are under way in one of them: false, and nothing was done.
  /// Calls `f(begin, range)` for each.
  template <class F>
  bool remove(std::uint64_t at, std::size_t bytes, F&& f) {
    auto const first = ranges_.lower_bound(at);
    auto const end = ranges_.lower_bound(at + bytes);
    bool const busy = std::any_of(first, end, [](auto const& each) {
      auto const& uses = each.second.uses;
      return std::any_of(uses.begin(), uses.end(), [](use u) { return *u.over < u.number; });
    });
    if (busy) return false;
    for (auto each = first; each != end; ++each) f(each->first, each->second);
    ranges_.erase(first, end);
    return true;
  }

 private:
  std::map<std::uint64_t, range> ranges_;  ///< by where they begin
};

}  // namespace atl::memory
