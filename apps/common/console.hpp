#pragma once

/// Standard output of a program of many ranks, of which rank 0 prints.

namespace apps {

class console {
 public:
  /// Writes what is buffered. Throws file_problem where some of it could not be written, as on a full disk.
  static void flush();

 protected:
  /// `quiet`: nothing but the verdict.
  console(int rank, bool quiet);

  [[nodiscard]] bool prints() const { return prints_; }  ///< the verdict
  [[nodiscard]] bool speaks() const { return speaks_; }  ///< all the rest

  // On a terminal, a line that is overwritten a few times per second; elsewhere none.

  /// True when it is time for the next one. `seconds` may count from any moment.
  [[nodiscard]] bool live_is_due(double seconds);
  [[gnu::format(printf, 2, 3)]] void live_line(char const* format, ...);
  /// Before anything else is printed.
  void clear_live();

 private:
  bool prints_;
  bool speaks_;
  bool is_terminal_;
  double last_live_ = 0;
  bool live_shown_ = false;
};

}  // namespace apps
