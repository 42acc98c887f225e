#include "child.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/os/exit_status.hpp"

namespace atl::tools {

int listen(command_line const& command, std::function<void(std::string const&)> const& take) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    std::fprintf(stderr, "atoll bench: cannot create a pipe: %s\n", std::strerror(errno));
    return 127;
  }
  std::fflush(stdout);
  pid_t const child = fork();
  if (child < 0) {
    std::fprintf(stderr, "atoll bench: cannot start a process: %s\n", std::strerror(errno));
    close(ends[0]);
    close(ends[1]);
    return 127;
  }
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    // What the caller has to read is not for launchers, which hand it to a rank.
    int const nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    if (command.quiet) {
      int const nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
      if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
    }
    for (auto const& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (auto const& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    std::fprintf(stderr, "atoll bench: cannot run %s: %s\n", words[0], std::strerror(errno));
    _exit(127);
  }
  close(ends[1]);
  std::FILE* const in = fdopen(ends[0], "r");
  char* line = nullptr;
  std::size_t room = 0;
  for (ssize_t length = 0; (length = getline(&line, &room, in)) > 0;) {
    if (line[length - 1] == '\n') --length;
    take(std::string(line, static_cast<std::size_t>(length)));
  }
  std::free(line);
  std::fclose(in);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return os::exit_status_of(status);
}

}  // namespace atl::tools
