#pragma once

/// The launcher's words: how a rank ended, and what the others were doing.

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/board.hpp"
#include "bootstrap/crash_words.hpp"

namespace atl::tools {

/// How the process of a rank ended, and what that means for the job.
struct verdict {
  bool failed = false;
  bool ends_job = false;   ///< the other ranks cannot go on
  bool explained = false;  ///< the rank has printed why, so the picture of the others is not wanted
  int status = 0;          ///< exit status of the job when this is the first failure
  std::string how;         ///< "died of SIGSEGV (Segmentation fault) at address 0x0"
};

/// Has the rank's own process crashed? Not one that it has forked, whatever that has left.
bool has_crashed(bootstrap::rank_slot const& slot) noexcept;

/// @param wait_status  as from waitpid; of the process that the launcher started.
verdict judge(int rank, int wait_status, bootstrap::board const& board);

/// The same for a rank whose process was started by a wrapper, when only its disappearance was seen.
verdict judge_vanished(int rank, int pid, bootstrap::board const& board);

/// What is known of one rank when a picture is drawn.
struct rank_view {
  int pid = 0;
  bool running = true;
  int program = 0;  ///< the process that has the rank, behind a wrapper maybe; 0: not known
};

/// A table with a line for each rank but `except` (-1: none): its state, what it does, and what is outstanding.
std::string table_of_ranks(bootstrap::board const& board, std::vector<rank_view> const& ranks, int except);

/// Ranks that were asked where they are.
struct inquiry {
  std::uint32_t number = 0;
  std::vector<int> asked;
};

/// Where every rank is, from live reports to a question, and who has not answered it; ranks in the same place
/// are put together.
std::string where_all_are(bootstrap::board const& board, inquiry const& question,
                          bootstrap::symbolizer& names);

}  // namespace atl::tools
