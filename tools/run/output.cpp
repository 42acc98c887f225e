#include "run/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace atl::tools {

void sink::add(std::string_view text) {
  if (!broken_) text_ += text;
}

void sink::flush() {
  // After POLLOUT a pipe takes this much without blocking, even when it is a blocking descriptor.
  constexpr std::size_t piece = 4096;
  while (!empty() && !broken_) {
    pollfd item{descriptor_, POLLOUT, 0};
    if (::poll(&item, 1, 0) <= 0) break;
    ssize_t const done =
        ::write(descriptor_, text_.data() + written_, std::min(piece, text_.size() - written_));
    if (done > 0) {
      written_ += static_cast<std::size_t>(done);
    } else if (errno != EINTR && errno != EAGAIN) {
      broken_ = true;
      failure_ = errno == EPIPE ? 0 : errno;
    } else if (errno == EAGAIN) {
      break;
    }
  }
  if (empty() || broken_) {
    text_.clear();
    written_ = 0;
  } else if (written_ > limit) {
    text_.erase(0, written_);
    written_ = 0;
  }
}

std::string lost_output(sink const& output) {
  return format("atoll run: cannot write standard output: %s\n", std::strerror(output.failure()));
}

void line_splitter::add(std::string_view bytes, sink& to) {
  if (!whole_) {
    to.add(bytes);
    return;
  }
  while (!bytes.empty()) {
    auto const end = bytes.find('\n');
    if (end == std::string_view::npos) {
      partial_ += bytes;
      if (partial_.size() > longest_line) finish(to);
      return;
    }
    to.add(prefix_);
    to.add(partial_);
    to.add(bytes.substr(0, end + 1));
    partial_.clear();
    bytes.remove_prefix(end + 1);
  }
}

void line_splitter::finish(sink& to) {
  if (partial_.empty()) return;
  to.add(prefix_);
  to.add(partial_);
  to.add("\n");
  partial_.clear();
}

}  // namespace atl::tools
