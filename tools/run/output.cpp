#include "run/output.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/os/write_at_once.hpp"

namespace atl::tools {
namespace {

constexpr std::string_view clear_line = "\r\033[K";
/// Of what is longer nobody wants to see the beginning.
constexpr std::size_t longest_shown = 4096;

std::size_t columns_of(int terminal) {
  winsize size{};
  return ::ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

void sink::clear_last_row() {
  if (in_last_row_) text_ += clear_line;
  in_last_row_ = false;
}

void sink::add(std::string_view text) {
  if (broken_) return;
  clear_last_row();
  text_ += text;
  if (shown_.empty() || !text.ends_with('\n')) return;
  text_ += shown_;
  in_last_row_ = true;
}

void sink::show(std::string_view beginning, void const* whose) {
  if (broken_ || !screen_) return;
  clear_last_row();
  // A line that went on in the next row could not be taken back; nor may the last column be filled.
  shown_ = fitting(beginning, columns_of(descriptor_) - 1);
  whose_ = whose;
  text_ += shown_;
  in_last_row_ = true;
}

void sink::hide(void const* whose) {
  if (whose_ != whose) return;
  clear_last_row();
  shown_.clear();
  whose_ = nullptr;
}

void sink::flush() {
  if (!broken_) {
    os::written_at_once const done = os::write_at_once(descriptor_, std::string_view(text_).substr(written_));
    written_ += done.bytes;
    broken_ = done.failure != 0;
    failure_ = done.failure == EPIPE ? 0 : done.failure;
  }
  if (empty() || broken_) {
    text_.clear();
    written_ = 0;
  } else if (written_ > limit) {
    text_.erase(0, written_);
    written_ = 0;
  }
}

bool same_file(int a, int b) {
  struct stat one {};
  struct stat other {};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

std::string lost_output(sink const& output) {
  return format("atoll run: cannot write standard output: %s\n", std::strerror(output.failure()));
}

std::string_view fitting(std::string_view beginning, std::size_t columns) {
  bool escape = false;
  for (std::size_t at = 0; at < beginning.size(); ++at) {
    auto const c = static_cast<unsigned char>(beginning[at]);
    if (c == '\033') {
      escape = true;
    } else if (escape) {
      escape = c == '[' || c < '@';  // "\033[1;31m"
    } else if (c == '\t') {
      columns -= std::min<std::size_t>(columns, 8);
    } else if (c >= ' ' && (c & 0xC0U) != 0x80U) {  // a character of UTF-8 begins
      if (columns == 0) return beginning.substr(0, at);
      --columns;
    }
  }
  return beginning;
}

void line_splitter::add(std::string_view bytes, sink& to) {
  if (!whole_) {
    to.add(bytes);
    return;
  }
  unseen_ = true;
  while (!bytes.empty()) {
    auto const end = bytes.find('\n');
    if (end == std::string_view::npos) {
      partial_ += bytes;
      if (partial_.size() > longest_line) finish(to);
      return;
    }
    if (to.is_screen()) {
      partial_ += bytes.substr(0, end);
      keep_last_version();
      to.hide(this);
      to.add(prefix_);
      to.add(partial_);
      to.add("\n");
    } else {
      to.add(prefix_);
      to.add(partial_);
      to.add(bytes.substr(0, end + 1));
    }
    partial_.clear();
    bytes.remove_prefix(end + 1);
  }
}

void line_splitter::keep_last_version() {
  if (partial_.size() < 2) return;
  auto const again = partial_.rfind('\r', partial_.size() - 2);  // "\r\n" ends a line, too
  if (again != std::string::npos) partial_.erase(0, again + 1);
}

void line_splitter::pause(sink& to) {
  if (!std::exchange(unseen_, false) || !to.is_screen() || partial_.empty()) return;
  keep_last_version();
  if (partial_.size() > longest_shown) return;
  to.show(prefix_ + partial_, this);
}

void line_splitter::finish(sink& to) {
  if (partial_.empty()) return;
  if (to.is_screen()) keep_last_version();
  to.hide(this);
  to.add(prefix_);
  to.add(partial_);
  to.add("\n");
  partial_.clear();
}

}  // namespace atl::tools
