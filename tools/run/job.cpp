#include "run/job.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/os/host_name.hpp"
#include "base/os/memfd.hpp"
#include "run/descendants.hpp"
#include "run/keeper.hpp"
#include "run/signals.hpp"

// One thread and one poll() loop. The job is `running` until a rank fails, the time is up or a signal asks
// for the end; then it is `ending`: ranks get SIGTERM, after a second SIGKILL. It is over when the processes
// started here have ended. Processes are not reaped before that: a zombie keeps its number, so that killing
// its process group cannot meet strangers.
//
// How it starts is in job_start.cpp, how output is passed on in job_output.cpp.
//
// Nothing here polls on a timer, with three exceptions. Until a rank's program has attached to the board, we
// look four times a second whether it has, because the program may be the child of a wrapper, whose end would
// tell us nothing. And when a rank has ended, whether others wait on the board for all, as they would for ever.
// Of a terminal in whose background this runs, whether it has come to the foreground.

namespace atl::tools {
namespace {

using namespace std::chrono_literals;

constexpr auto grace = 1s;
constexpr auto look_for_programs_every = 250ms;
constexpr auto missed_for = 1s;  ///< a rank, before that is told

}  // namespace

job::job(run_options const& options)
    : options_(options),
      host_(os::host_name("this host")),
      board_(bootstrap::board::create(options.ranks, os::random_hex(16), options.environment)),
      output_(STDOUT_FILENO, ::isatty(STDOUT_FILENO) != 0 && same_file(STDOUT_FILENO, STDERR_FILENO)),
      errors_(STDERR_FILENO),
      messages_(same_file(STDOUT_FILENO, STDERR_FILENO) ? output_ : errors_),
      started_(clock::now()) {}

job::~job() = default;

int job::run() {
  signals_ = watch_signals();
  not_ours_ = children_of_self();      // of the shell that has become this program
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of ranks become ours, so that we can end them
  keeper const guard(board_);
  try {
    start();
    while (phase_ != phase::over) {
      wait_for_events();
      check_clocks();
      flush();
      if (!anyone_running()) phase_ = phase::over;
    }
  } catch (startup_error const& error) {
    tell(format("atoll run: %s\n", error.what()));
    if (!decided_) status_ = 1;
  }
  phase_ = phase::over;
  board_.end();
  kill_groups(SIGKILL);
  not_ours_.push_back(guard.pid());
  end_children(not_ours_);
  // Their numbers may be others' from here on; the keeper, which outlives us, is to leave those alone.
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
    board_.slot(rank).spawned_pid.store(0, std::memory_order_release);
  finish();
  tell_lost_output();
  flush();
  return status_;
}

// --- the loop ---

int job::poll_limit() const {
  std::optional<time_point> next;
  auto const consider = [&](time_point t) { next = next ? std::min(*next, t) : t; };
  if (phase_ == phase::running && options_.timeout) consider(started_ + *options_.timeout);
  if (kill_at_) consider(*kill_at_);
  bool const terminal_in_background = input_ && input_->active() && !input_->wants_input();
  if (anyone_unattached() || terminal_in_background || ended_rank() >= 0)
    consider(clock::now() + look_for_programs_every);
  if (!next) return -1;
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(*next - clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

void job::wait_for_events() {
  enum class source { signals, output, errors, watch, other };
  struct item {
    source what;
    int rank;
  };
  std::vector<pollfd> descriptors{{signals_.get(), POLLIN, 0}};
  std::vector<item> items{{source::signals, 0}};
  auto const watch = [&](int descriptor, short events, source what, int rank = 0) {
    descriptors.push_back({descriptor, events, 0});
    items.push_back({what, rank});
  };
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    rank_process const& r = ranks_[static_cast<std::size_t>(rank)];
    if (r.output.end && !r.output.to->full()) watch(r.output.end.get(), POLLIN, source::output, rank);
    if (r.errors.end && !r.errors.to->full()) watch(r.errors.end.get(), POLLIN, source::errors, rank);
    if (r.watch) watch(r.watch.get(), POLLIN, source::watch, rank);
  }
  for (sink const* to : {&output_, &errors_}) {
    if (!to->empty() && !to->broken()) watch(to->descriptor(), POLLOUT, source::other);
  }
  std::size_t input_item = 0;
  if (input_ && input_->active()) {
    for (int const descriptor : input_->congested()) watch(descriptor, POLLOUT, source::other);
    if (input_->wants_input()) {
      input_item = items.size();
      watch(STDIN_FILENO, POLLIN, source::other);
    }
  }
  if (::poll(descriptors.data(), descriptors.size(), poll_limit()) < 0) return;
  // Output first: what a rank wrote comes before what we have to say about its end.
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (descriptors[i].revents == 0) continue;
    rank_process& r = ranks_[static_cast<std::size_t>(items[i].rank)];
    if (items[i].what == source::output) drain(r.output);
    if (items[i].what == source::errors) drain(r.errors);
  }
  if (input_ && input_->active()) input_->work(input_item != 0 && descriptors[input_item].revents != 0);
  if (descriptors[0].revents != 0) handle_signals();
  find_programs_behind_wrappers();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].what == source::watch && descriptors[i].revents != 0) note_vanished(items[i].rank);
  }
}

void job::handle_signals() {
  signalfd_siginfo info{};
  bool exits = false;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    int const signal = static_cast<int>(info.ssi_signo);
    switch (signal) {
      case SIGCHLD:
        exits = true;
        break;
      case SIGTSTP:
        kill_groups(SIGSTOP);
        flush();
        ::raise(SIGSTOP);
        kill_groups(SIGCONT);
        break;
      case SIGQUIT:
        if (phase_ != phase::running) break;
        draw_picture("got SIGQUIT");
        begin_end(exit_status::signal_base + SIGQUIT, SIGTERM);
        break;
      default:
        if (phase_ == phase::running) {
          tell(format("atoll run: got %s, ending %d rank%s\n", bootstrap::signal_name(signal).c_str(),
                      options_.ranks, options_.ranks == 1 ? "" : "s"));
          begin_end(exit_status::signal_base + signal, SIGTERM);
        } else if (kill_at_ && !killed_) {
          kill_at_ = clock::now();  // asked twice: no more patience
        }
    }
  }
  if (exits) handle_exits();
}

void job::handle_exits() {
  struct ended {
    int rank;
    int wait_status;
    bool violent;
  };
  std::vector<ended> news;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    rank_process& r = ranks_[static_cast<std::size_t>(rank)];
    siginfo_t info{};
    if (!r.running || ::waitid(P_PID, static_cast<id_t>(r.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != r.pid) {
      continue;
    }
    r.running = false;
    int const wait_status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
    bool const violent = info.si_code != CLD_EXITED || has_crashed(board_.slot(rank));
    news.push_back({rank, wait_status, violent});
  }
  // When several end at once, a crash explains the exits of others rather than the other way round.
  std::stable_sort(news.begin(), news.end(),
                   [](ended const& a, ended const& b) { return a.violent > b.violent; });
  // A rank that ended the job is the cause, even if others were quicker to go.
  int const culprit = board_.abort_rank();
  bool const still_speaking = culprit >= 0 && ranks_[static_cast<std::size_t>(culprit)].running &&
                              board_.abort_status() == exit_status::signal_base + SIGABRT;
  if (phase_ == phase::running && culprit >= 0 && !still_speaking) note_vanished(culprit);
  for (ended const& e : news) note_exit(e.rank, e.wait_status);
  // Orphans that we adopted.
  for (int const pid : children_of_self()) {
    bool const a_rank =
        std::any_of(ranks_.begin(), ranks_.end(), [&](rank_process const& r) { return r.pid == pid; });
    bool const not_ours = std::find(not_ours_.begin(), not_ours_.end(), pid) != not_ours_.end();
    if (!a_rank && !not_ours) ::waitpid(pid, nullptr, WNOHANG);
  }
}

void job::note_exit(int rank, int wait_status) {
  rank_process& r = ranks_[static_cast<std::size_t>(rank)];
  drain(r.output);
  drain(r.errors);
  if (phase_ != phase::running) return;
  verdict const v = judge(rank, wait_status, board_);
  if (v.failed) fail(rank, v);
}

void job::find_programs_behind_wrappers() {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    rank_process& r = ranks_[static_cast<std::size_t>(rank)];
    bootstrap::rank_slot const& slot = board_.slot(rank);
    int const program = slot.diagnostics.pid.load(std::memory_order_acquire);
    if (program == 0 || program == r.pid) continue;
    // In a process namespace of its own, the program's number means somebody else here.
    if (program != std::exchange(r.program, program) && has_in_environment(program, board_.header().job_id)) {
      r.watch.reset(static_cast<int>(::syscall(SYS_pidfd_open, program, 0)));
    }
    // It may have died before anybody looked.
    if (!r.watch && slot.crash.state.load(std::memory_order_acquire) == bootstrap::crash_state::complete &&
        has_crashed(slot)) {
      note_vanished(rank);
    }
  }
}

void job::note_vanished(int rank) {
  rank_process& r = ranks_[static_cast<std::size_t>(rank)];
  r.watch.reset();
  drain(r.output);
  drain(r.errors);
  if (phase_ != phase::running) return;
  verdict const v = judge_vanished(rank, r.program, board_);
  if (v.failed) fail(rank, v);
}

void job::check_clocks() {
  auto const now = clock::now();
  if (phase_ == phase::running && output_.broken()) {
    // `| head`: nobody listens any more.
    if (!tell_lost_output()) begin_end(exit_status::signal_base + SIGPIPE, SIGTERM);
  }
  if (phase_ == phase::running && options_.timeout && now >= started_ + *options_.timeout) {
    double const seconds = std::chrono::duration<double>(*options_.timeout).count();
    draw_picture(format("time is up after %g s", seconds));
    begin_end(exit_status::timeout, SIGTERM);
  }
  if (phase_ == phase::running) look_for_missed();
  if (kill_at_ && now >= *kill_at_) {
    if (killed_) {
      tell("atoll run: some ranks do not even end by SIGKILL; leaving them\n");
      phase_ = phase::over;
      kill_at_.reset();
      return;
    }
    kill_groups(SIGKILL);
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
      if (int const program = program_of(rank)) ::kill(program, SIGKILL);
    }
    killed_ = true;
    kill_at_ = now + 5s;
  }
}

/// A rank of which no process is left, or -1.
int job::ended_rank() const {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (!ranks_[static_cast<std::size_t>(rank)].running && program_of(rank) == 0) return rank;
  }
  return -1;
}

/// A rank that has ended well is no failure, unless others come to upcxx::init, or come there again: they wait for all.
void job::look_for_missed() {
  int const rank = ended_rank();
  // Relaxed: nothing else is read.
  if (rank < 0 || board_.header().arrived.load(std::memory_order_relaxed) == 0) {
    missed_since_.reset();
    return;
  }
  if (!missed_since_) missed_since_ = clock::now();
  if (clock::now() - *missed_since_ < missed_for) return;
  // A wrapper may have left the program behind.
  std::string const its_own = format("%s=%d", bootstrap::rank_variable, rank) + '\0';
  for (int const pid : children_of_self()) {
    if (has_in_environment(pid, its_own)) return;
  }
  fail(rank, {true, true, false, 1, "has ended with status 0, and others wait for it in upcxx::init()"});
}

// --- failures and pictures ---

void job::tell(std::string const& text) {
  messages_.add(text);
  flush();
}

/// True: standard output cannot be written, which is said once, and the job ends.
bool job::tell_lost_output() {
  if (output_.failure() == 0) return false;
  if (std::exchange(told_lost_output_, true)) return true;
  tell(lost_output(output_));
  if (phase_ == phase::running) begin_end(1, SIGTERM);
  if (status_ == 0) status_ = 1;
  return true;
}

int job::program_of(int rank) const {
  rank_process const& r = ranks_[static_cast<std::size_t>(rank)];
  int const program = board_.slot(rank).diagnostics.pid.load(std::memory_order_acquire);
  if (program == r.pid) return r.running ? program : 0;
  return r.watch && program == r.program ? program : 0;
}

std::vector<rank_view> job::views() const {
  std::vector<rank_view> result;
  for (auto const& r : ranks_) {
    result.push_back({r.pid, r.running, program_of(static_cast<int>(result.size()))});
  }
  return result;
}

void job::fail(int rank, verdict const& v) {
  if (!decided_) {
    status_ = v.status;
    decided_ = true;
    tell(format("atoll run: rank %d of %d on %s (pid %d) %s\n", rank, options_.ranks, host_.c_str(),
                ranks_[static_cast<std::size_t>(rank)].pid, v.how.c_str()));
    if (v.ends_job && !v.explained) {
      // Taken before the backtrace is looked up, which may take a while.
      bool const any_attached = !std::all_of(ranks_.begin(), ranks_.end(), [&](rank_process const& r) {
        return board_.slot(static_cast<int>(&r - ranks_.data())).diagnostics.pid.load() == 0;
      });
      std::string const table = any_attached ? table_of_ranks(board_, views(), rank) : "";
      tell(bootstrap::backtrace_text(board_.slot(rank).crash, names_));
      tell(table);
    }
  }
  if (v.ends_job) begin_end(status_, SIGTERM);
}

inquiry job::ask_all_where() {
  std::uint32_t const number = board_.header().question.fetch_add(1, std::memory_order_acq_rel) + 1;
  std::vector<int> asked;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    int const program = program_of(rank);
    if (program == 0 || board_.slot(rank).live.listening.load(std::memory_order_acquire) == 0) continue;
    if (::kill(program, SIGQUIT) == 0) asked.push_back(rank);
  }
  // A rank that blocks the signal, or is stuck in the kernel, is not waited for long.
  auto const deadline = clock::now() + 700ms;
  while (clock::now() < deadline && !std::all_of(asked.begin(), asked.end(), [&](int rank) {
           return board_.slot(rank).live.answered.load(std::memory_order_acquire) == number;
         })) {
    std::this_thread::sleep_for(5ms);
  }
  return {number, std::move(asked)};
}

void job::draw_picture(std::string const& heading) {
  find_programs_behind_wrappers();
  std::string const table = table_of_ranks(board_, views(), -1);
  inquiry const question = ask_all_where();
  drain_all();
  tell(format("atoll run: %s: %d rank%s on %s\n", heading.c_str(), options_.ranks,
              options_.ranks == 1 ? "" : "s", host_.c_str()) +
       table);
  tell(where_all_are(board_, question, names_));
}

void job::begin_end(int status, int signal) {
  if (!decided_) status_ = status;
  decided_ = true;
  phase_ = phase::ending;
  board_.end();
  kill_groups(signal);
  kill_groups(SIGCONT);  // a stopped process gets nothing but SIGKILL
  kill_at_ = clock::now() + grace;
}

void job::kill_groups(int signal) {
  for (auto const& r : ranks_) ::kill(-r.pid, signal);
}

bool job::anyone_running() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](rank_process const& r) { return r.running; });
}

bool job::anyone_unattached() const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    rank_process const& r = ranks_[rank];
    if (!r.running) continue;
    int const program = board_.slot(static_cast<int>(rank)).diagnostics.pid.load(std::memory_order_acquire);
    // Behind a wrapper, another program may follow the one that has gone.
    if (program == 0 || (program != r.pid && !r.watch)) return true;
  }
  return false;
}

}  // namespace atl::tools
