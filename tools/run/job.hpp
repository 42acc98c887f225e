#pragma once

/// One run of a program on several ranks, from start to the last process.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/os/unique_fd.hpp"
#include "bootstrap/board.hpp"
#include "run/binding.hpp"
#include "run/input.hpp"
#include "run/options.hpp"
#include "run/output.hpp"
#include "run/report.hpp"

namespace atl::tools {

class job {
 public:
  explicit job(run_options const& options);
  ~job();

  /// Runs to the end; returns the exit status.
  int run();

 private:
  using clock = std::chrono::steady_clock;
  using time_point = clock::time_point;

  /// One end of a pipe from a rank.
  struct stream {
    os::unique_fd end;
    line_splitter lines;
    sink* to = nullptr;
  };
  struct rank_process {
    int pid = -1;
    bool running = false;
    int program = 0;  ///< process of the program when a wrapper started it, watched through `watch`
    os::unique_fd watch;
    stream output;
    stream errors;
  };
  enum class phase { running, ending, over };

  void start();
  void start_rank(int rank, std::vector<std::string> const& environment, std::vector<int> const& cores,
                  int failure_pipe);
  void print_layout(core_plan const& cores);
  void end_after_failed_exec(int failure_pipe);

  void wait_for_events();
  void handle_signals();
  void handle_exits();
  void note_exit(int rank, int wait_status);
  void find_programs_behind_wrappers();
  void note_vanished(int rank);
  void check_clocks();
  void look_for_missed();

  void fail(int rank, verdict const& v);
  int program_of(int rank) const;
  void tell(std::string const& text);
  bool tell_lost_output();
  inquiry ask_all_where();
  int poll_limit() const;
  void draw_picture(std::string const& heading);
  void begin_end(int status, int signal);
  void kill_groups(int signal);

  bool drain(stream& from);
  bool drain_all();
  void flush();
  void finish();
  bool wait_for_reader();

  std::vector<rank_view> views() const;
  bool anyone_running() const;
  bool anyone_unattached() const;
  int ended_rank() const;

  run_options const& options_;
  std::string host_;
  bootstrap::board board_;
  os::unique_fd signals_;
  sink output_;
  sink errors_;
  sink& messages_;  ///< errors_, or output_ when both are the same file
  std::optional<input_relay> input_;
  std::vector<rank_process> ranks_;
  std::vector<int> not_ours_;  ///< children of before, and the keeper
  bootstrap::symbolizer names_;
  phase phase_ = phase::running;
  int status_ = 0;
  bool decided_ = false;  ///< status_ is final
  bool told_lost_output_ = false;
  time_point started_;
  std::optional<time_point> kill_at_;       ///< when patience with ending ranks ends
  std::optional<time_point> missed_since_;  ///< a rank that has ended, by others that wait for it
  bool killed_ = false;
  core_plan cores_;
};

}  // namespace atl::tools
