#pragma once

/// Until where streams of the program that have used memory of peers are known to have come.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace atl::engine {

/// When a stream of the program has used something.
struct stream_use {
  std::uint64_t stream;  ///< see device_copies::known_as; 0: one that is not known
  std::uint64_t when;    ///< so many uses, of all streams
};

/// Programs may make any number of streams, and ask none of them where it is; so of the last ones only it is known which has not come by.
class stream_passes {
 public:
  static constexpr std::size_t most = 256;

  void note_use(stream_use u) {
    if (u.stream == 0) return;
    if (auto const known = find(u.stream); known != open_.end()) {
      known->last = u.when;
      return;
    }
    if (open_.size() == most) {
      auto const oldest = std::min_element(open_.begin(), open_.end(),
                                           [](open const& a, open const& b) { return a.last < b.last; });
      lost_ = std::max(lost_, oldest->last);
      open_.erase(oldest);
    }
    open_.push_back({u.stream, u.when, u.when, 0});
  }
  /// The stream has come to where it was at the end of so many uses.
  void note_passed(stream_use u) {
    auto const known = find(u.stream);
    if (known == open_.end()) return;
    known->passed = std::max(known->passed, u.when);
    if (known->passed >= known->last) open_.erase(known);
  }
  void note_all_passed(std::uint64_t until) {
    all_ = std::max(all_, until);
    std::erase_if(open_, [this](open const& o) { return o.last <= all_; });
  }
  [[nodiscard]] bool has_passed(stream_use u) const {
    if (u.when <= all_) return true;
    if (u.stream == 0) return false;
    auto const known = find(u.stream);
    return known == open_.end() || u.when < known->first ? u.when > lost_ : known->passed >= u.when;
  }
  /// Adds a use to those of one segment.
  void add(std::vector<stream_use>& uses, stream_use u) const {
    auto const known =
        std::find_if(uses.begin(), uses.end(), [&](stream_use const& k) { return k.stream == u.stream; });
    if (known != uses.end()) {
      known->when = u.when;
      return;
    }
    std::erase_if(uses, [this](stream_use const& k) { return has_passed(k); });
    if (uses.size() >= most) {
      uses = {{0, u.when}};
    } else {
      uses.push_back(u);
    }
  }

 private:
  struct open {
    std::uint64_t stream;
    std::uint64_t first;  ///< use; it has passed all before, or that is lost
    std::uint64_t last;
    std::uint64_t passed;  ///< until then it has come by
  };
  std::vector<open>::iterator find(std::uint64_t stream) {
    return std::find_if(open_.begin(), open_.end(), [&](open const& o) { return o.stream == stream; });
  }
  [[nodiscard]] std::vector<open>::const_iterator find(std::uint64_t stream) const {
    return std::find_if(open_.begin(), open_.end(), [&](open const& o) { return o.stream == stream; });
  }

  std::vector<open> open_;  ///< streams that have used what they are not known to have passed
  std::uint64_t all_ = 0;   ///< until then all have come by
  std::uint64_t lost_ = 0;  ///< until then streams that are not known may be open
};

}  // namespace atl::engine
