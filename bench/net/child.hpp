#pragma once

/// A program that is started, listened to for a while, and ended. It does not outlive this process.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace atl::bench {

class child {
 public:
  /// The first word is searched in PATH. Its standard error goes nowhere. Nothing is copied of this process, whose memory
  /// a network may have registered.
  explicit child(std::vector<std::string> const& words);
  child(child const&) = delete;
  child& operator=(child const&) = delete;
  /// Ends it, however it is.
  ~child();

  /// A process is there; whether it could become the program, its output tells.
  bool started() const { return pid_ > 0; }
  bool running();
  /// Each line of its standard output until it closes that; false if that takes longer.
  bool listen(int limit_ms, std::function<void(std::string const&)> const& take);

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

}  // namespace atl::bench
