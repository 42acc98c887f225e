#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

namespace atl::bench {

child::child(std::vector<std::string> const& words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  output_ = ends[0];
  std::vector<char*> arguments;
  for (auto const& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // Not posix_spawn(), which cannot have it end with this process, however that ends.
  pid_ = ::vfork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int const nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(nothing, STDERR_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
}

child::~child() {
  if (output_ >= 0) ::close(output_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool child::running() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

bool child::listen(int limit_ms, std::function<void(std::string const&)> const& take) {
  using clock = std::chrono::steady_clock;
  auto const end = clock::now() + std::chrono::milliseconds(limit_ms);
  std::string line;
  for (;;) {
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now()).count();
    pollfd one{output_, POLLIN, 0};
    if (left <= 0 || ::poll(&one, 1, static_cast<int>(left)) == 0) return false;
    std::array<char, 4096> some;
    ssize_t const got = ::read(output_, some.data(), some.size());
    if (got <= 0) return true;
    for (ssize_t i = 0; i < got; ++i) {
      if (some[i] != '\n') {
        line += some[i];
        continue;
      }
      take(line);
      line.clear();
    }
  }
}

}  // namespace atl::bench
