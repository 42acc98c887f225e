#pragma once

/// Whole lines of each rank, out of what a launcher has merged.
///
/// Launchers read the pipes of ranks in pieces and write these one behind the other, so that lines are cut where pieces end, and go on behind
/// those of others. They put a tag before each piece and each line, if asked to: with it the lines come together again. srun makes lines of pieces,
/// which are known by their length.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "run/hosts/launchers.hpp"

namespace atl::tools {

class tagged_lines {
 public:
  /// Gets each line with its end; it has one even if the rank's last had none.
  using taker = std::function<void(std::string_view line)>;

  /// @param style  what tags look like; nothing: there are none, and all lines are the launcher's.
  /// @param named  whether "[rank] " is to stand before the lines of ranks.
  tagged_lines(tag_style style, bool named, taker take)
      : style_(style), named_(named), take_(std::move(take)) {}

  void add(std::string_view bytes);
  /// No more comes: passes on what has no end.
  void finish();

 private:
  static constexpr int launcher = -1;
  void add_text(std::string_view text);
  void pass_on(int rank, std::string& line, std::string_view end);

  tag_style style_;
  bool named_;
  taker take_;
  int now_ = launcher;         ///< whose bytes come
  bool begins_ = true;         ///< with the next byte a line of the stream
  std::size_t since_tag_ = 0;  ///< characters
  std::string held_;           ///< what may become a tag
  std::map<int, std::string> open_;
};

}  // namespace atl::tools
