#pragma once

/// Output of the ranks, line by line, to the launcher's own standard output and standard error.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace atl::tools {

/// One of our own output streams. Never blocks: what cannot be written yet is kept.
class sink {
 public:
  /// `descriptor` stays the caller's and stays as it is (it may be shared with other programs,
  /// so it is not made non-blocking). `screen`: somebody looks at it while lines are being written.
  explicit sink(int descriptor, bool screen = false) noexcept : descriptor_(descriptor), screen_(screen) {}

  void add(std::string_view text);
  /// On a screen: the beginning of somebody's line, below all others until he hides it or another's is shown.
  void show(std::string_view beginning, void const* whose);
  void hide(void const* whose);
  bool is_screen() const noexcept { return screen_; }
  /// Writes what can be written at once.
  void flush();
  bool empty() const noexcept { return text_.size() == written_; }
  /// So much is waiting that the ranks had better wait too.
  bool full() const noexcept { return text_.size() - written_ > limit; }
  /// Nothing more can be written: the reader has gone (`| head`), or there is a failure().
  bool broken() const noexcept { return broken_; }
  /// Why the last write failed (errno); 0 if it did not, or only since the reader has gone.
  int failure() const noexcept { return failure_; }
  int descriptor() const noexcept { return descriptor_; }

 private:
  static constexpr std::size_t limit = 1 << 20;
  void clear_last_row();

  int descriptor_;
  bool screen_;
  std::string shown_;  ///< the beginning of a line
  void const* whose_ = nullptr;
  bool in_last_row_ = false;  ///< where it stands but while a line is added
  std::string text_;
  std::size_t written_ = 0;
  bool broken_ = false;
  int failure_ = 0;
};

/// Whether two descriptors write into one file, pipe or terminal: then one sink is for both, as two would cut each other's lines.
bool same_file(int a, int b);

/// What the user hears when standard output has a failure(): a line.
std::string lost_output(sink const& output);

/// As much of the beginning of a line as stands in so many columns of a terminal.
std::string_view fitting(std::string_view beginning, std::size_t columns);

/// A "line" longer than this is cut, so that a program that writes binary data cannot exhaust our memory.
inline constexpr std::size_t longest_line = std::size_t{64} << 20;

/// Cuts what a rank writes to one of its streams into lines.
class line_splitter {
 public:
  /// @param prefix  put before every line.
  /// @param whole   false: bytes are passed on as they come (a job of one rank needs no lines).
  line_splitter(std::string prefix, bool whole) : prefix_(std::move(prefix)), whole_(whole) {}

  void add(std::string_view bytes, sink& to);
  /// Nothing more is there now: what there is of a line is shown on a screen, such as a question, or how far a run is.
  void pause(sink& to);
  /// The stream has ended: passes on a last line without an end, and ends it.
  void finish(sink& to);

 private:
  /// Of a line that is written again and again (`\r`), only what stands on the screen in the end is wanted there.
  void keep_last_version();

  std::string prefix_;
  std::string partial_;
  bool whole_;
  bool unseen_ = false;  ///< there is more of partial_ than was shown
};

}  // namespace atl::tools
