#pragma once

/// Standard input for the ranks.
///
/// What is not a terminal is simply inherited by rank 0. A terminal cannot be: the ranks are in process
/// groups of their own, and the kernel stops background groups that read from it; so the launcher reads and
/// passes on. `--stdin all` always does that, for every rank.

#include <string>
#include <string_view>
#include <vector>

#include "base/os/unique_fd.hpp"
#include "run/options.hpp"

namespace atl::tools {

class input_relay {
 public:
  input_relay(input_mode mode, int ranks);

  /// Descriptor that `rank` gets as its standard input; stays ours.
  int descriptor_for(int rank) const noexcept;
  /// All ranks have been started: forget their ends.
  void ranks_started();

  /// True when there is something to copy.
  bool active() const noexcept { return !targets_.empty() && (!source_ended_ || pending()); }
  /// True when our standard input should be watched for reading.
  bool wants_input() const noexcept;
  /// Writing ends that have data waiting, to be watched for writing.
  std::vector<int> congested() const;
  /// Reads some input if there is any, and passes on what the ranks take.
  void work(bool readable);

 private:
  struct target {
    os::unique_fd end;
    std::string waiting;
  };
  bool pending() const noexcept;
  void pass_on();

  static constexpr std::size_t limit = 64 * 1024;
  input_mode mode_;
  os::unique_fd nothing_;                 ///< /dev/null
  std::vector<os::unique_fd> rank_ends_;  ///< until the ranks are started
  std::vector<target> targets_;
  bool source_ended_ = false;
};

}  // namespace atl::tools
