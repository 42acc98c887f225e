#pragma once

/// Words on their way to a reader who may have stopped reading (a pager at its first page, a terminal that is held): nobody waits for
/// that, since a keeper that says nothing to its neighbours counts as lost.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/os/write_at_once.hpp"

namespace atl::keeping {

class unhurried_text {
 public:
  /// `descriptor` stays the caller's, and as it is: other processes have it, too.
  explicit unhurried_text(int descriptor) noexcept : descriptor_(descriptor) {}

  void add(std::string_view text) {
    if (text_.size() < longest) text_ += text;
    go_on();
  }

  /// Writes what can be written at once.
  void go_on() {
    os::written_at_once const done = os::write_at_once(descriptor_, text_);
    // Where writing fails nobody is there to read it.
    text_.erase(0, done.failure == 0 ? done.bytes : text_.size());
  }

  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }

 private:
  /// Whoever does not read that will not read more.
  static constexpr std::size_t longest = std::size_t{1} << 20;

  int descriptor_;
  std::string text_;
};

}  // namespace atl::keeping
