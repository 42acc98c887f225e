#include "run/job.hpp"

#include <fcntl.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/os/cores.hpp"
#include "base/os/pipe.hpp"
#include "run/spawn.hpp"
#include "topology/topology.hpp"

// How a job starts: pipes and terminals, the processes of the ranks, and what could not be run.

namespace atl::tools {
namespace {

/// Like a pipe, but the writer sees a terminal. Raw: bytes pass through unchanged.
os::pipe_ends make_terminal() {
  int master = -1;
  int slave = -1;
  termios settings{};
  ::cfmakeraw(&settings);
  if (::openpty(&master, &slave, nullptr, &settings, nullptr) != 0) {
    throw startup_error(format("cannot create a terminal (--pty): %s", std::strerror(errno)));
  }
  ::fcntl(master, F_SETFD, FD_CLOEXEC);
  ::fcntl(slave, F_SETFD, FD_CLOEXEC);
  return {os::unique_fd(master), os::unique_fd(slave)};
}

}  // namespace

void job::start() {
  cores_ = plan_cores(options_);
  input_.emplace(options_.input, options_.ranks);
  auto const environment = rank_environment(options_);
  auto [failures, failure_end] = os::make_pipe();
  ranks_.reserve(static_cast<std::size_t>(options_.ranks));
  for (int rank = 0; rank < options_.ranks; ++rank) {
    start_rank(rank, environment, cores_.cores_of_rank[static_cast<std::size_t>(rank)], failure_end.get());
  }
  failure_end.reset();
  input_->ranks_started();
  end_after_failed_exec(failures.get());
  if (options_.verbosity > 0) print_layout(cores_);
}

void job::start_rank(int rank, std::vector<std::string> const& environment, std::vector<int> const& cores,
                     int failure_pipe) {
  std::string const prefix = options_.tag ? format("[%d] ", rank) : "";
  bool const whole = options_.ranks > 1 || options_.tag;
  rank_process made{-1, false, 0, {}, {{}, {prefix, whole}, &output_}, {{}, {prefix, whole}, &messages_}};
  os::pipe_ends output = options_.terminal ? make_terminal() : os::make_pipe();
  os::pipe_ends errors = os::make_pipe();
  made.output.end = std::move(output.reading);
  made.errors.end = std::move(errors.reading);
  ::fcntl(made.output.end.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(made.errors.end.get(), F_SETFL, O_NONBLOCK);
  rank_start const how{
      rank,         input_->descriptor_for(rank), output.writing.get(), errors.writing.get(), cores,
      failure_pipe, output_.is_screen()};
  made.pid = spawn(options_, board_, environment, how);
  made.running = true;
  board_.slot(rank).spawned_pid.store(made.pid, std::memory_order_release);
  ranks_.push_back(std::move(made));
}

void job::end_after_failed_exec(int failure_pipe) {
  // Every successful exec closes its copy of the other end, so this ends when all ranks have got that far.
  exec_failure failure{};
  ssize_t got = 0;
  do {
    got = ::read(failure_pipe, &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof failure) return;
  status_ = failure.error == ENOENT ? exit_status::not_found : exit_status::not_executable;
  decided_ = true;
  phase_ = phase::over;
  tell(format("atoll run: cannot run %s: %s%s\n", options_.path.c_str(), std::strerror(failure.error),
              failure.error == ENOENT ? " (the interpreter that its first line or header names?)" : ""));
}

void job::print_layout(core_plan const& cores) {
  std::string text = format("atoll run: %d rank%s on %s, %d usable core%s, %s\n", options_.ranks,
                            options_.ranks == 1 ? "" : "s", host_.c_str(), os::usable_cores(),
                            os::usable_cores() == 1 ? "" : "s", cores.reason.c_str());
  if (options_.verbosity > 1) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::vector<int> const& mine = cores.cores_of_rank[rank];
      text += format("atoll run: rank %zu: pid %d%s\n", rank, ranks_[rank].pid,
                     mine.empty()
                         ? ""
                         : format(", core%s %s", mine.size() == 1 ? "" : "s", list_of(mine).c_str()).c_str());
    }
  }
  tell(text);
}

}  // namespace atl::tools
