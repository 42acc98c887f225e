#include "run/hosts/cluster_job.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/os/exit_status.hpp"
#include "base/os/pipe.hpp"
#include "base/os/unique_fd.hpp"
#include "picture/keepers.hpp"
#include "run/descendants.hpp"
#include "run/hosts/hydra_agents.hpp"
#include "run/hosts/long_list.hpp"
#include "run/hosts/tagged_lines.hpp"
#include "run/input.hpp"
#include "run/output.hpp"
#include "run/signals.hpp"
#include "run/spawn.hpp"

namespace atl::tools {
namespace {

using clock = std::chrono::steady_clock;
using milliseconds = std::chrono::milliseconds;

constexpr std::chrono::seconds patience{5};  ///< with a launcher that is to end, or to ask
constexpr milliseconds first_look{200};
constexpr milliseconds look_every{500};  ///< at Hydra's agents
/// Until keepers have said what ranks are doing, each its own.
constexpr milliseconds pictures_take{1500};
/// Of who still has a pipe of a launcher that has ended.
constexpr milliseconds leftovers_take{500};

/// Of the job that is being run.
class watch {
 public:
  watch(cluster_plan const& plan, run_options const& options)
      : plan_(plan),
        options_(options),
        input_(options.input == input_mode::none ? input_mode::none : input_mode::first, 1) {
    // Intel's has trees of agents, and has not been tried.
    if (plan.by.kind != launcher_kind::hydra || !plan.by.mpi.empty() || plan.start.hosts.empty()) return;
    std::vector<std::string> hosts;
    for (host_share const& each : plan.start.hosts) hosts.push_back(each.name);
    agents_.emplace(std::move(hosts));
    look_at_ = clock::now() + first_look;
  }

  int run() {
    signals_ = watch_signals();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::vector<int> const own_children = children_of_self();
    start();
    if (options_.timeout)
      end_at_ = clock::now() + std::chrono::duration_cast<clock::duration>(*options_.timeout);
    while (!over()) step();
    // Agents (ssh) that lead to a lost host would wait for it for ever; and a launcher that was told to end may have left behind what it started, as
    // a script does that stands for it. What has gone into a session of its own has done so to stay: the keeper, for its last news, or a
    // connection of ssh that others use, too.
    if (ended_by_us_) end_children(spared_of(own_children));
    return status_;
  }

 private:
  static std::vector<int> spared_of(std::vector<int> own_children) {
    for (int const pid : children_of_self()) {
      if (::getsid(pid) != ::getsid(0)) own_children.push_back(pid);
    }
    return own_children;
  }

  struct stream {
    stream(watch& job, sink& to)
        : out(to),
          lines(job.plan_.start.tagged ? job.plan_.by.tags : tag_style::none, job.options_.tag,
                [&job, this](std::string_view line) { job.pass_on(*this, line); }) {}

    os::unique_fd end;
    sink& out;
    tagged_lines lines;
  };

  [[nodiscard]] bool is_slurm() const { return plan_.by.kind == launcher_kind::srun; }
  /// Is the launcher in a group of its own, so that terminals tell it nothing?
  [[nodiscard]] bool is_apart() const { return is_slurm() || under_nohup_; }
  [[nodiscard]] bool over() const {
    return pid_ < 0 && !ranks_output_.end && !ranks_errors_.end && (written() || given_up_);
  }
  [[nodiscard]] bool written() const {
    auto const done = [](sink const& s) { return s.empty() || s.broken(); };
    return done(output_) && done(errors_);
  }
  /// Never waits for who reads it.
  void tell(std::string const& text) {
    messages_.add(text);
    flush();
  }
  void flush() {
    output_.flush();
    errors_.flush();
  }

  /// Else the launcher has our standard output for itself. Two that write into one file would cut each other's lines.
  [[nodiscard]] bool passes_on_output() const {
    return plan_.start.tagged || (&messages_ == &output_ && plan_.start.ranks != 1);
  }

  void start() {
    os::pipe_ends output = os::make_pipe();
    os::pipe_ends errors = os::make_pipe();
    std::vector<std::string> own_words = plan_.words;
    os::unique_fd list;
    if (is_slurm() && !plan_.start.hosts.empty()) list = put_long_list_into_file(own_words);
    std::vector<char*> const words = pointers_to(own_words);
    std::vector<char*> const environment = pointers_to(plan_.environment);
    ::pid_t const us = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw startup_error(format("cannot start %s: %s", words[0], why_no_process(errno).c_str()));
    if (pid_ == 0) {
      // A launcher that is told so ends its ranks.
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != us) ::_exit(1);
      if (passes_on_output()) ::dup2(output.writing.get(), STDOUT_FILENO);
      ::dup2(errors.writing.get(), STDERR_FILENO);
      ::dup2(input_.descriptor_for(0), STDIN_FILENO);
      restore_file_limit();
      forget_signals();
      // On Ctrl-\ it is still needed. srun listens all the same, where it hears it; it asks for no passwords, so it may be in the background.
      ::signal(SIGQUIT, SIG_IGN);
      // Open MPI's, for one, ends the job at the end of a terminal, also under nohup.
      if (is_apart()) ::setpgid(0, 0);
      ::execve(words[0], words.data(), environment.data());
      int const why = errno;
      std::string const said = format("atoll run: cannot run %s: %s\n", words[0], std::strerror(why));
      // Into a pipe that is empty. Where nobody takes it, the status says the rest.
      [[maybe_unused]] ::ssize_t const written = ::write(STDERR_FILENO, said.data(), said.size());
      ::_exit(why == ENOENT ? exit_status::not_found : exit_status::not_executable);
    }
    if (is_apart()) ::setpgid(pid_, pid_);
    ranks_output_.end = std::move(output.reading);
    ranks_errors_.end = std::move(errors.reading);
    input_.ranks_started();
  }

  void step() {
    std::array<pollfd, 6> all{};
    for (pollfd& each : all) each.fd = -1;
    all[0] = {signals_.get(), POLLIN, 0};
    if (!ranks_output_.out.full()) all[1] = {ranks_output_.end.get(), POLLIN, 0};
    if (!ranks_errors_.out.full()) all[2] = {ranks_errors_.end.get(), POLLIN, 0};
    if (!output_.empty()) all[3] = {output_.descriptor(), POLLOUT, 0};
    if (!errors_.empty()) all[4] = {errors_.descriptor(), POLLOUT, 0};
    bool const reads = input_.active() && input_.wants_input();
    if (reads) all[5] = {STDIN_FILENO, POLLIN, 0};
    ::poll(all.data(), all.size(), poll_limit());
    if (all[1].revents != 0) read(ranks_output_);
    if (all[2].revents != 0) read(ranks_errors_);
    if (input_.active()) input_.work(reads && all[5].revents != 0);
    if (all[0].revents != 0) take_signals();
    flush();
    if (output_.broken()) end_without_output();
    if (looks() && clock::now() >= look_at_) look_at_agents();
    if (end_at_ && clock::now() >= *end_at_) time_is_up();
  }

  void end_without_output() {
    if (output_.failure() == 0) {
      end_now(exit_status::signal_base + SIGPIPE);  // `| head`: nobody listens any more
      return;
    }
    if (!std::exchange(told_lost_output_, true)) tell(lost_output(output_));
    end_now(1);
  }

  [[nodiscard]] bool looks() const {
    return agents_ && (agents_->wanted() || missing_looks_ > 0) && pid_ > 0 && !end_at_chosen_;
  }

  /// Ranks of other hosts cannot see who has ended there, and Hydra minds no status of those that have not come to it.
  void look_for_missing() {
    std::string const hosts = agents_->ended_hosts(pid_);
    missing_looks_ = hosts.empty() ? 0 : missing_looks_ - 1;
    if (hosts.empty() || missing_looks_ > 0) return;
    tell(format(
        "atoll run: all ranks of %s have ended without having come to upcxx::init(), in which the others "
        "wait; the job ends\n",
        hosts.c_str()));
    end_now(1);
  }

  void look_at_agents() {
    look_at_ = clock::now() + look_every;
    if (missing_looks_ > 0) look_for_missing();
    if (!agents_->wanted() || end_at_chosen_) return;
    auto const failure = agents_->look(pid_);
    if (!failure) return;
    tell(format("atoll run: %s; Hydra would wait for it, so the job ends\n", failure->c_str()));
    end_now(1);
  }

  [[nodiscard]] int poll_limit() const {
    // What the ranks have not taken, and a terminal while we are in the background, say nothing.
    long long limit = input_.active() && (!input_.wants_input() || !input_.congested().empty()) ? 100 : -1;
    auto const until = [&limit](clock::time_point at) {
      auto const left = std::chrono::duration_cast<milliseconds>(at - clock::now()).count();
      limit = std::min(limit < 0 ? 1'000'000 : limit, std::max<long long>(left + 1, 0));
    };
    if (end_at_) until(*end_at_);
    if (looks()) until(look_at_);
    return static_cast<int>(std::min<long long>(limit, 1'000'000));
  }

  void read(stream& from) {
    std::array<char, 16384> bytes;
    ::ssize_t const got = ::read(from.end.get(), bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got > 0) {
      from.lines.add({bytes.data(), static_cast<std::size_t>(got)});
      return;
    }
    from.lines.finish();
    from.end.reset();
  }

  void pass_on(stream& from, std::string_view line) {
    from.out.add(line);
    if (&from == &ranks_errors_) look_for_signs(line);
  }

  /// In what comes by standard error: what stands in a program's output, an old log for one, is no news.
  void look_for_signs(std::string_view line) {
    auto const has = [line](std::string_view words) { return line.find(words) != std::string_view::npos; };
    // Hydra tells, and has the other ranks wait for one that will never come.
    if (plan_.by.kind == launcher_kind::hydra && has("execvp error on file "))
      end_in_a_while(exit_status::not_found);
    // What rank 0 says, as nobody has come out of init yet.
    if (agents_ && missing_looks_ == 0 && has("the other ranks have been waited for")) {
      missing_looks_ = 3;
      look_at_ = clock::now();
    }
    // What keepers say when all ranks that are left have been ended. Launchers wait for their daemons there.
    if (!has("atoll: host ") || !has(" is lost: ")) return;
    // mpirun has begun to end the job: being told so once more it ends itself by a signal, in many words.
    killed_ = killed_ || plan_.by.kind == launcher_kind::openmpi;
    end_in_a_while(1);
  }

  void take_signals() {
    signalfd_siginfo what{};
    while (::read(signals_.get(), &what, sizeof what) == ::ssize_t{sizeof what}) {
      int const signal = static_cast<int>(what.ssi_signo);
      bool const by_terminal = what.ssi_code == SI_KERNEL;
      switch (signal) {
        case SIGCHLD:
          reap();
          break;
        case SIGTSTP:
          if (pid_ > 0 && (is_apart() || !by_terminal)) ::kill(pid_, SIGTSTP);
          ::raise(SIGSTOP);
          if (pid_ > 0) ::kill(pid_, SIGCONT);
          break;
        case SIGQUIT:
          if (pid_ > 0 && !end_at_chosen_) ask_ranks();
          break;
        default:
          // The terminal has told a launcher of our group as well.
          if (pid_ > 0 && (is_apart() || !by_terminal)) ::kill(pid_, signal);
          if (end_at_chosen_) end_at_ = clock::now();  // asked twice: no more patience
          given_up_ = pid_ < 0;
          end_in_a_while(exit_status::signal_base + signal);
      }
    }
  }

  /// What ranks are doing is said before they end.
  void ask_ranks() {
    tell("atoll run: got SIGQUIT: what ranks are doing, before all are ended\n");
    end_in_a_while(exit_status::signal_base + SIGQUIT);
    if (ask_keepers(plan_.id) > 0) {
      end_at_ = clock::now() + pictures_take;
      return;
    }
    asker_ = ::fork();
    if (asker_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    int const nothing = ::open("/dev/null", O_RDWR);
    for (int const standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, standard);
    restore_file_limit();
    forget_signals();
    ::execve(plan_.asking[0].c_str(), pointers_to(plan_.asking).data(),
             pointers_to(plan_.environment).data());
    ::_exit(exit_status::not_found);
  }

  void reap() {
    int how = 0;
    if (asker_ > 0 && ::waitpid(asker_, &how, WNOHANG) == asker_) {
      asker_ = -1;
      if (how != 0)
        tell(format("atoll run: nobody can be asked what ranks are doing: `%s ... picture` has failed\n",
                    plan_.asking[0].c_str()));
      end_at_ = clock::now() + (how == 0 ? pictures_take : milliseconds(0));
    }
    if (pid_ < 0 || ::waitpid(pid_, &how, WNOHANG) != pid_) return;
    pid_ = -1;
    if (!end_at_chosen_) status_ = os::exit_status_of(how);
    end_at_.reset();
    // Whoever still holds our pipes is no part of the job.
    for (stream* each : {&ranks_output_, &ranks_errors_}) {
      if (!each->end) continue;
      ::fcntl(each->end.get(), F_SETFL, O_NONBLOCK);
      // It may write on and on.
      auto const until = clock::now() + leftovers_take;
      while (each->end && clock::now() < until) {
        pollfd one{each->end.get(), POLLIN, 0};
        if (::poll(&one, 1, 100) <= 0) break;
        read(*each);
      }
      each->lines.finish();
      each->end.reset();
    }
    // Whatever becomes of its output.
    if (status_ != 0) end_at_chosen_ = true;
  }

  /// The launcher has some time to end the job.
  void end_in_a_while(int status) {
    if (std::exchange(end_at_chosen_, true)) return;
    ended_by_us_ = true;
    status_ = status;
    end_at_ = clock::now() + patience;
  }

  void end_now(int status) {
    if (end_at_chosen_) return;
    end_in_a_while(status);
    end_at_ = clock::now();
  }

  void time_is_up() {
    if (pid_ < 0) {
      end_at_.reset();
      return;
    }
    if (end_at_chosen_) {
      if (asker_ > 0) ::kill(asker_, SIGKILL);
      ::kill(pid_, killed_ ? SIGKILL : SIGTERM);
      killed_ = true;
      end_at_ = clock::now() + patience;
      return;
    }
    tell("atoll run: the time is up (--timeout): ending all ranks\n");
    end_in_a_while(exit_status::timeout);
    end_at_ = clock::now() + pictures_take;
  }

  cluster_plan const& plan_;
  run_options const& options_;
  bool const under_nohup_ = ignores_hangups();
  os::unique_fd signals_;
  ::pid_t pid_ = -1;
  ::pid_t asker_ = -1;  ///< asks what ranks are doing
  input_relay input_;
  sink output_{STDOUT_FILENO};
  sink errors_{STDERR_FILENO};
  sink& messages_ = same_file(STDOUT_FILENO, STDERR_FILENO) ? output_ : errors_;
  stream ranks_output_{*this, output_};
  stream ranks_errors_{*this, messages_};
  int status_ = 0;
  std::optional<hydra_agents> agents_;  ///< of Hydra, until all hosts have answered
  clock::time_point look_at_;
  int missing_looks_ = 0;  ///< for hosts whose ranks have all ended; still to be taken
  std::optional<clock::time_point> end_at_;
  bool end_at_chosen_ = false;  ///< it is being ended, and status_ is final
  bool killed_ = false;         ///< the next signal to the launcher is SIGKILL
  bool ended_by_us_ = false;
  bool told_lost_output_ = false;
  bool given_up_ = false;  ///< nobody shall wait for who reads our output
};

}  // namespace

int run_cluster(cluster_plan const& plan, run_options const& options) { return watch(plan, options).run(); }

}  // namespace atl::tools
