#pragma once

/// Whether a rank had the core that it wanted.

#include <optional>

namespace apps {

/// A look at the scheduler over the time of a run, by the thread that computes. Each rank has its own: which of
/// them others disturb is a matter of chance, and all wait for it.
class core_watch {
 public:
  /// Less than any share, for the maximum over ranks.
  static constexpr double unknown = -1;

  core_watch();
  /// Share of the time since then that the calling thread, which must be the same, was ready to run but had no
  /// core; or `unknown`.
  double waited() const;

 private:
  double began_;  ///< first of all: who waits for a core in between waits within the time
  std::optional<double> waited_before_;  ///< seconds, ever
};

}  // namespace apps
