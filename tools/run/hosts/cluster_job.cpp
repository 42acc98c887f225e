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
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/os/unique_fd.hpp"

namespace atl::tools {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{5};  ///< with a launcher that is to end
/// Until keepers have said what ranks are doing, each its own.
constexpr std::chrono::milliseconds pictures_take{1500};

/// Of the job that is being run.
class watch {
 public:
  watch(cluster_plan const& plan, run_options const& options) : plan_(plan), options_(options) {}

  int run() {
    sigset_t ours;
    ::sigemptyset(&ours);
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) ::sigaddset(&ours, signal);
    ::sigprocmask(SIG_BLOCK, &ours, nullptr);
    signals_.reset(::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
    start();
    if (options_.timeout)
      end_at_ = clock::now() + std::chrono::duration_cast<clock::duration>(*options_.timeout);
    while (!over()) step();
    return status_;
  }

 private:
  struct stream {
    os::unique_fd end;
    int to = -1;
    std::string line;
  };

  [[nodiscard]] bool over() const { return pid_ < 0 && !output_.end && !errors_.end; }

  void start() {
    int pipes[2][2];
    for (auto& each : pipes) {
      if (::pipe2(each, O_CLOEXEC) != 0) throw startup_error(format("pipe: %s", std::strerror(errno)));
    }
    std::vector<char*> words;
    for (std::string const& each : plan_.words) words.push_back(const_cast<char*>(each.c_str()));
    words.push_back(nullptr);
    std::vector<char*> environment;
    for (std::string const& each : plan_.environment) environment.push_back(const_cast<char*>(each.c_str()));
    environment.push_back(nullptr);
    ::pid_t const us = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw startup_error(format("cannot start %s: %s", words[0], std::strerror(errno)));
    if (pid_ == 0) {
      // A launcher that is told so ends its ranks.
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != us) ::_exit(1);
      // Of its lines ranks are told only where they are read here.
      if (options_.tag) ::dup2(pipes[0][1], STDOUT_FILENO);
      ::dup2(pipes[1][1], STDERR_FILENO);
      // Hydra has no option for it.
      if (options_.input == input_mode::none && plan_.by.kind == launcher_kind::hydra) {
        int const nothing = ::open("/dev/null", O_RDONLY);
        if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0) ::_exit(1);
      }
      sigset_t none;
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::execve(words[0], words.data(), environment.data());
      ::_exit(exit_status::not_found);
    }
    for (auto const& each : pipes) ::close(each[1]);
    output_ = {os::unique_fd(pipes[0][0]), STDOUT_FILENO, ""};
    errors_ = {os::unique_fd(pipes[1][0]), STDERR_FILENO, ""};
  }

  void step() {
    std::array<pollfd, 3> all{pollfd{signals_.get(), POLLIN, 0}, pollfd{output_.end.get(), POLLIN, 0},
                              pollfd{errors_.end.get(), POLLIN, 0}};
    int limit = -1;
    if (end_at_) {
      auto const left =
          std::chrono::duration_cast<std::chrono::milliseconds>(*end_at_ - clock::now()).count();
      limit = static_cast<int>(std::clamp<long long>(left + 1, 0, 1'000'000));
    }
    ::poll(all.data(), all.size(), limit);
    if (all[1].revents != 0) read(output_);
    if (all[2].revents != 0) read(errors_);
    if (all[0].revents != 0) take_signals();
    if (end_at_ && clock::now() >= *end_at_) time_is_up();
  }

  void read(stream& from) {
    std::array<char, 16384> bytes;
    ::ssize_t const got = ::read(from.end.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
      if (!from.line.empty()) pass_on(from, std::exchange(from.line, {}));
      from.end.reset();
      return;
    }
    std::string_view rest(bytes.data(), static_cast<std::size_t>(got));
    while (!rest.empty()) {
      std::size_t const end = rest.find('\n');
      from.line += rest.substr(0, end);
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
      pass_on(from, std::exchange(from.line, {}) + "\n");
    }
  }

  void pass_on(stream const& from, std::string const& line) {
    std::string const text = options_.tag ? retag(plan_.by.kind, line) : line;
    std::string_view rest = text;
    while (!rest.empty()) {
      ::ssize_t const written = ::write(from.to, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    // Hydra tells, and has the other ranks wait for one that will never come.
    if (plan_.by.kind == launcher_kind::hydra && text.find("execvp error on file ") != std::string::npos)
      end_in_a_while(exit_status::not_found);
    // What keepers say when all ranks that are left have been ended. Launchers wait for their daemons there.
    if (text.find("atoll: host ") != std::string::npos && text.find(" is lost: ") != std::string::npos &&
        !end_at_chosen_)
      end_in_a_while(1);
  }

  void take_signals() {
    signalfd_siginfo what{};
    while (::read(signals_.get(), &what, sizeof what) == ::ssize_t{sizeof what}) {
      int const signal = static_cast<int>(what.ssi_signo);
      if (signal == SIGCHLD) {
        reap();
        continue;
      }
      // The terminal has told the launcher as well.
      if (pid_ > 0 && what.ssi_code != SI_KERNEL) ::kill(pid_, signal == SIGQUIT ? SIGTERM : signal);
      end_in_a_while(exit_status::signal_base + signal);
    }
  }

  void reap() {
    int how = 0;
    if (pid_ < 0 || ::waitpid(pid_, &how, WNOHANG) != pid_) return;
    pid_ = -1;
    if (!end_at_chosen_)
      status_ = WIFEXITED(how) ? WEXITSTATUS(how) : exit_status::signal_base + WTERMSIG(how);
    // Whoever still holds our pipes is no part of the job.
    for (stream* each : {&output_, &errors_}) {
      if (!each->end) continue;
      ::fcntl(each->end.get(), F_SETFL, O_NONBLOCK);
      while (each->end) {
        pollfd one{each->end.get(), POLLIN, 0};
        if (::poll(&one, 1, 100) <= 0) break;
        read(*each);
      }
      each->end.reset();
    }
  }

  /// The launcher has some time to end the job.
  void end_in_a_while(int status) {
    if (std::exchange(end_at_chosen_, true)) return;
    status_ = status;
    end_at_ = clock::now() + patience;
  }

  void time_is_up() {
    if (pid_ < 0) {
      end_at_.reset();
      return;
    }
    if (end_at_chosen_) {
      ::kill(pid_, killed_ ? SIGKILL : SIGTERM);
      killed_ = true;
      end_at_ = clock::now() + patience;
      return;
    }
    std::fprintf(stderr, "atoll run: the time is up (--timeout): ending all ranks\n");
    end_in_a_while(exit_status::timeout);
    end_at_ = clock::now() + pictures_take;
  }

  cluster_plan const& plan_;
  run_options const& options_;
  os::unique_fd signals_;
  ::pid_t pid_ = -1;
  stream output_;
  stream errors_;
  int status_ = 0;
  std::optional<clock::time_point> end_at_;
  bool end_at_chosen_ = false;  ///< it is being ended, and status_ is final
  bool killed_ = false;
};

}  // namespace

int run_cluster(cluster_plan const& plan, run_options const& options) { return watch(plan, options).run(); }

}  // namespace atl::tools
