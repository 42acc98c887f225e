#pragma once

/// Words on their way to a reader who may have stopped reading (a pager at its first page, a terminal that is held): nobody waits for
/// that, since a keeper that says nothing to its neighbours counts as lost.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

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
    // After POLLOUT a pipe takes this much without blocking.
    constexpr std::size_t piece = 4096;
    while (!text_.empty()) {
      pollfd item{descriptor_, POLLOUT, 0};
      if (::poll(&item, 1, 0) <= 0) return;
      ::ssize_t const done = ::write(descriptor_, text_.data(), std::min(piece, text_.size()));
      if (done > 0) {
        text_.erase(0, static_cast<std::size_t>(done));
      } else if (errno == EAGAIN) {
        return;
      } else if (errno != EINTR) {
        text_.clear();  // nobody is there to read it
      }
    }
  }

  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }

 private:
  /// Whoever does not read that will not read more.
  static constexpr std::size_t longest = std::size_t{1} << 20;

  int descriptor_;
  std::string text_;
};

}  // namespace atl::keeping
