#include "run/report.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <map>
#include <string_view>

#include "base/error.hpp"
#include "bootstrap/picture.hpp"
#include "run/options.hpp"

namespace atl::tools {
namespace {

using bootstrap::crash_state;
using bootstrap::crash_text;
using bootstrap::signal_name;

/// The rank itself has printed what was wrong.
constexpr char const* stopped_text = "stopped over the mistake above";

/// "rank 1", "ranks 0, 2".
std::string ranks_in_words(std::vector<int> const& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += format("%s%d", i == 0 ? "" : ", ", ranks[i]);
  return text;
}

}  // namespace

bool has_crashed(bootstrap::rank_slot const& slot) noexcept {
  if (slot.crash.state.load(std::memory_order_acquire) == crash_state::none) return false;
  // 0: it died before it had written more.
  return slot.crash.pid == 0 || slot.crash.pid == slot.diagnostics.pid.load(std::memory_order_relaxed);
}

verdict judge(int rank, int wait_status, bootstrap::board const& board) {
  bootstrap::rank_slot const& slot = board.slot(rank);
  auto const state = slot.diagnostics.state.load(std::memory_order_acquire);
  bool const crashed = has_crashed(slot);
  verdict v;
  if (board.abort_rank() == rank && board.abort_status() == exit_status::signal_base + SIGABRT) {
    return {true, true, true, board.abort_status(), stopped_text};
  }
  if (WIFSIGNALED(wait_status)) {
    int const signal = WTERMSIG(wait_status);
    int const cause = crashed ? slot.crash.signal : signal;
    v = {true, true, false, exit_status::signal_base + cause, ""};
    if (crashed) {
      v.how = crash_text(slot.crash);
    } else if (signal == SIGKILL) {
      v.how = "was killed by SIGKILL (kill -9, or the kernel was out of memory)";
    } else {
      v.how = "died of " + signal_name(signal);
    }
    return v;
  }
  int const code = WEXITSTATUS(wait_status);
  if (board.abort_rank() == rank && code != 0) {
    return {true, true, true, code, format("ended the job with status %d", code)};
  }
  if (crashed) {
    return {true, true, false, code != 0 ? code : exit_status::signal_base + slot.crash.signal,
            crash_text(slot.crash)};
  }
  if (state == rank_state::initialized) {
    return {true, true, false, code != 0 ? code : 1,
            format("exited with status %d without calling upcxx::finalize()", code)};
  }
  if (code != 0) {
    // After finalize every rank gets to its end by itself.
    return {true, state != rank_state::finalized, false, code, format("exited with status %d", code)};
  }
  return v;
}

verdict judge_vanished(int rank, int pid, bootstrap::board const& board) {
  bootstrap::rank_slot const& slot = board.slot(rank);
  if (board.abort_rank() == rank && board.abort_status() == exit_status::signal_base + SIGABRT) {
    return {true, true, true, board.abort_status(), stopped_text};
  }
  if (has_crashed(slot)) {
    return {true, true, false, exit_status::signal_base + slot.crash.signal, crash_text(slot.crash)};
  }
  if (board.abort_rank() == rank) {
    int const status = board.abort_status();
    return {true, true, true, status, format("ended the job with status %d", status)};
  }
  if (slot.diagnostics.state.load(std::memory_order_acquire) != rank_state::initialized) return {};
  return {true, true, false, 1,
          format("lost its process %d, which ended without calling upcxx::finalize() (killed?)", pid)};
}

std::string table_of_ranks(bootstrap::board const& board, std::vector<rank_view> const& ranks, int except) {
  std::vector<bootstrap::seen_rank> seen;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (static_cast<int>(rank) == except) continue;
    seen.push_back({static_cast<int>(rank), ranks[rank].pid, ranks[rank].running, ranks[rank].program,
                    &board.slot(static_cast<int>(rank)).diagnostics});
  }
  std::string const table = bootstrap::picture_of(seen);
  if (table.empty()) return {};
  return (except < 0 ? "  what each rank is doing:\n" : "  what the other ranks were doing:\n") + table;
}

std::string where_all_are(bootstrap::board const& board, inquiry const& question,
                          bootstrap::symbolizer& names) {
  std::map<std::string, std::vector<int>> places;
  std::vector<std::string> order;
  std::vector<int> silent;
  for (int const rank : question.asked) {
    auto const& live = board.slot(rank).live;
    if (live.answered.load(std::memory_order_acquire) != question.number) {
      silent.push_back(rank);
      continue;
    }
    std::string text;
    int number = 0;
    for (auto const& line : names.describe(live.where))
      text += format("    #%-2d %s\n", number++, line.c_str());
    if (!places.contains(text)) order.push_back(text);
    places[text].push_back(rank);
  }
  std::string all;
  for (auto const& text : order) all += "  " + ranks_in_words(places[text]) + ":\n" + text;
  if (!silent.empty()) {
    all += format(
        "  %s: no answer. Whoever is stopped, is in the kernel for long or blocks SIGQUIT gives none\n",
        ranks_in_words(silent).c_str());
  }
  return all;
}

}  // namespace atl::tools
